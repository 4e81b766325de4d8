"""Long texts: tokens a second and peak memory at 50, 250 and 1,000 words, with as many tokens in every batch.

    python -m benchmarks.speed.long_texts                                      everything, to results/long_texts.csv
    python -m benchmarks.speed.long_texts --networks bilstm --times 50 --peers torch --measures speed

Each row is one side's prediction or training step at one length. The peers are the same network in stock Keras layers
and in PyTorch, each measured in turn with ours after their outputs were compared. See ``benchmarks.speed``. Peak memory
is that of a step in a fresh process, above what the process held before. As every batch has as many tokens, the peak
would be the same at all lengths if nothing grew with a text but its states.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.speed.measure import Worker
from benchmarks.speed.networks import Architecture
from benchmarks.speed.rows import max_difference, measure_in_turn, start_sides, versions
from benchmarks.speed.workloads import Settings
from dense_lstm_zoo import checks, machine
from dense_lstm_zoo.measuring import turns
from tuning import result_files

RESULTS = result_files.ROOT / "results" / "long_texts.csv"
KEY = ["network", "time", "step", "measure", "side"]
TIMES = (50, 250, 1000)
TOKENS = 8000  # of a batch at every length
PEERS = ("keras", "torch")
NETWORKS = {
    "dc_bilstm": Architecture(),  # workload W
    "bilstm": Architecture(num_dense_layers=0, top_units=300),
}
STEPS = ("predict", "train")
SPEED, MEMORY = "tokens/s", "peak MB"

Row = dict[str, Any]


def speed(settings: Settings, peer: str, batch: int, time: int) -> Iterator[Row]:
    """Measure our tokens a second and a peer's, in turn. Ratios are of paired turns, above 1 where ours is faster."""
    with start_sides(settings, ("ours", peer)) as workers:
        for side, worker in workers.items():
            worker.ask("build", side=side, architecture=settings.architecture.to_dict())
        max_difference(workers, "logits", batch=min(batch, 2), time=time)
        for step in STEPS:
            seconds, _ = measure_in_turn(settings, workers, step, batch=batch, time=time)
            for side, values in seconds.items():
                rate, spread = turns.spread([batch * time / x for x in values])
                ratios = turns.compare(seconds["ours"], values) if side == peer else {}
                yield {
                    **{"step": step, "measure": SPEED, "side": side, "value": round(rate), "spread": round(spread)},
                    **{name: round(ratio, 2) for name, ratio in ratios.items()},
                    **{"repeats": len(values), "versions": _words(versions(workers[side]))},
                }


def memory(settings: Settings, peer: str, batch: int, time: int) -> Iterator[Row]:
    """Measure the peak of a step of ours and of a peer's, each in a fresh process. Ratios are theirs to ours."""
    for step in STEPS:
        ours = 0.0
        for side in ("ours", peer):
            with Worker("torch" if side == "torch" else "tensorflow") as worker:
                megabytes = worker.ask(
                    "step_memory",
                    **{"side": side, "architecture": settings.architecture.to_dict(), "method": step},
                    **{"batch": batch, "length": time},
                )
                version_words = _words(versions(worker))
            ours = ours or megabytes
            ratio = {} if side == "ours" else {"ratio": round(megabytes / ours, 2)}
            values = {"step": step, "measure": MEMORY, "side": side, "value": round(megabytes), **ratio}
            yield {**values, "repeats": 1, "versions": version_words}


def _words(values: dict[str, str]) -> str:
    return " ".join(f"{name}={value}" for name, value in values.items())


MEASURES = {"speed": speed, "memory": memory}
COLUMNS = (
    *("network", "time", "batch", "step", "measure", "side", "value", "spread", "ratio", "ratio_low"),
    "ratio_high",
)


def line(row: Row) -> str:
    """Return a row as one line of text."""
    ratio = f"  {row['ratio']}x" if row["ratio"] != "" else ""
    return (
        f"{row['network']:<10} T {row['time']:<5} batch {row['batch']:<4} {row['step']:<8} {row['side']:<6}"
        f"{row['value']:>8,} {row['measure']}{ratio}"
    )


def main(argv: Sequence[str] | None = None, results: Path = RESULTS, tokens: int = TOKENS) -> None:
    """Run what the arguments ask for. Each row is written as soon as it is measured."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.speed.long_texts",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--networks", nargs="+", default=list(NETWORKS), help="default: all")
    parser.add_argument("--times", nargs="+", type=int, default=list(TIMES), metavar="T", help="words of a text")
    parser.add_argument("--peers", nargs="+", default=list(PEERS), choices=PEERS, help="default: both")
    parser.add_argument("--measures", nargs="+", default=list(MEASURES), choices=list(MEASURES), help="default: both")
    parser.add_argument("--repeats", type=int, default=5, metavar="N", help="turns of each side (default: 5)")
    options = parser.parse_args(argv)
    command = shlex.join([*parser.prog.split(), *(sys.argv[1:] if argv is None else argv)])
    for name in options.networks:
        checks.one_of("networks", name, NETWORKS)
    for name in options.networks:
        settings = Settings(
            architecture=NETWORKS[name], repeats=options.repeats, block_seconds=0.2, min_steps=1, command=command
        )
        for time in options.times:
            place = {"network": name, "time": time, "batch": max(1, tokens // time)}
            for peer in options.peers:
                for measure_name in options.measures:
                    for cells in MEASURES[measure_name](settings, peer, place["batch"], time):
                        row = {**dict.fromkeys(COLUMNS, ""), **place, **cells, **_machine(), "command": command}
                        print(line(row), flush=True)
                        result_files.merge(results, [row], KEY)


def _machine() -> Row:
    return {"processor": machine.processor(), "cores": machine.cores(), "load_average": machine.load_average()}


if __name__ == "__main__":
    main()
