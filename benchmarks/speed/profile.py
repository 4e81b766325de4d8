"""A training step's time by kind of work: ``python -m benchmarks.speed.profile``, which writes results/profile.csv.

TensorFlow's profiler times every op and every call inside an XLA program, on each thread. A row holds the thread time
of one kind of work in a step. Kinds do not add up to the step: cores work side by side, and a product that uses all of
them counts once. The row of the whole step has its rate, as a share of that of a large float32 product on this machine.
"""

from __future__ import annotations

import argparse
import collections
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"

from benchmarks.speed.comparisons import COMPARISONS, make_side
from benchmarks.speed.runs import PEAK_SIZE
from benchmarks.speed.worker import matmul_gflops
from dense_lstm_zoo import machine
from dense_lstm_zoo.measuring.turns import spread
from tuning import result_files

RESULTS = Path(__file__).parents[2] / "results" / "profile.csv"
KEY = ["network", "batch", "work"]

# The first kind whose names an op's name begins with; calls inside XLA programs have names in lower case.
KINDS = {
    "products": ("_MklMatMul", "_MklNativeFusedMatMul", "_MklFusedMatMul", "BatchMatMul"),
    "products in the loop": ("MatMul", "dot"),
    "optimiser": ("ResourceApply", "Assign", "Sqrt", "Square", "ResourceScatter", "L2Loss"),
    "embedding": ("ResourceGather", "GatherV2", "UnsortedSegmentSum", "Unique"),
    "waiting": ("Run", "TFE_", "BlockUntilReady", "ParallelFor", "EagerCopyToDevice", "multi_step", "FunctionRun"),
    "dispatch": ("Process", "Start", "Done", "Execute", "while", "Executor", "call"),
}


def kind_of(name: str) -> str:
    """Return the kind of work of a profiled op.

    Example:
        >>> kind_of("gradients/MatMul:_MklMatMul"), kind_of("add_tanh_fusion.3"), kind_of("x:ConcatV2")
        ('products', 'pointwise in the loop', 'pointwise and copies')
    """
    op = name.split(":")[-1].split("#")[0]
    for kind, starts in KINDS.items():
        if op.startswith(starts):
            return kind
    return "pointwise in the loop" if op[:1].islower() else "pointwise and copies"


def thread_seconds(folder: str) -> dict[str, float]:
    """Return the seconds of each kind of work in a profile, without those of ops that it called."""
    from tensorflow.tsl.profiler.protobuf import xplane_pb2

    space = xplane_pb2.XSpace()
    space.ParseFromString(next(Path(folder).rglob("*.xplane.pb")).read_bytes())
    seconds: dict[str, float] = collections.defaultdict(float)
    for plane in space.planes:
        for line in plane.lines if "CPU" in plane.name else ():
            open_ops: list[tuple[int, str]] = []  # those that go on: their end and kind
            for event in sorted(line.events, key=lambda e: (e.offset_ps, -e.duration_ps)):
                while open_ops and open_ops[-1][0] <= event.offset_ps:
                    open_ops.pop()
                kind = kind_of(plane.event_metadata[event.metadata_id].name)
                seconds[kind] += event.duration_ps / 1e12
                if open_ops:
                    seconds[open_ops[-1][1]] -= event.duration_ps / 1e12
                open_ops.append((event.offset_ps + event.duration_ps, kind))
    return dict(seconds)


def profile(network: str, batch: int, length: int, repeats: int = 5) -> Iterator[dict[str, Any]]:
    """Yield a row for each kind of work in a training step of our side of a comparison."""
    import tensorflow as tf

    architecture = COMPARISONS[network].architecture()
    side: Any = make_side(network, "ours", architecture.to_dict())
    getattr(side, "prepare", lambda: None)()
    first = side.first_step(batch, length)
    steps = max(3, round(0.5 / side.train(batch, length, 3)))
    step, step_spread = spread([side.train(batch, length, steps) for _ in range(repeats)])
    with tempfile.TemporaryDirectory() as folder:
        tf.profiler.experimental.start(folder)
        side._fit(batch, length, steps)
        tf.profiler.experimental.stop()
        kinds = {kind: seconds / steps for kind, seconds in thread_seconds(folder).items()}
    kinds.pop("waiting", None)
    common: dict[str, Any] = {"network": network, "batch": batch}
    share = architecture.gigaflops("train", batch, length) / step / matmul_gflops(PEAK_SIZE, 10)
    times = {"ms": round(1e3 * step, 2), "spread_ms": round(1e3 * step_spread, 2)}
    yield common | {"work": "whole step", **times, "share_of_peak": round(share, 3)}
    for kind, seconds in sorted(kinds.items(), key=lambda item: -item[1]):
        share = seconds / sum(kinds.values())
        yield common | {"work": kind, "ms": round(1e3 * seconds, 2), "share_of_threads": round(share, 3)}
    yield common | {"work": "first step: tracing and compiling", "ms": round(1e3 * first)}


def main() -> None:
    """Profile what the arguments ask for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed.profile", description=__doc__)
    parser.add_argument("--batches", type=int, nargs="+", default=[200, 32, 1], help="of W (default: 200 32 1)")
    options = parser.parse_args()
    versions = " ".join(f"{name}={version}" for name, version in machine.versions().items())
    for network, batch, length in [*(("classifier", b, 30) for b in options.batches), ("language_model", 20, 35)]:
        for row in profile(network, batch, length):
            print(row, flush=True)
            extra = {"processor": machine.processor(), "cores": machine.cores(), "versions": versions}
            result_files.merge(RESULTS, [row | extra | {"command": "python -m benchmarks.speed.profile"}], KEY)


if __name__ == "__main__":
    main()
