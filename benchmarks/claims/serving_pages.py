"""What the pages on the light runtime, its server and batch predictions say of speed, memory and size."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from benchmarks import batch as batch_costs
from benchmarks.claims.rows import Claim, Quoted, number, one, row, rows
from benchmarks.result_files import read, rounded

_PRESET = "dc_bilstm_sst2"


def runtime() -> Iterator[Claim | Quoted]:
    """Yield the claims of docs/runtime.md."""

    def cost(column: str, kind: str) -> Decimal:
        return number("onnx_export", column, model=_PRESET, kind=kind, weights="float32")

    light, saved = ({name: cost(name, kind) for name in _COSTS} for kind in ("onnx", "export"))
    yield Claim(f"from the start of the process to the first answer | {light['start_s']} s | {saved['start_s']} s |")
    for count, size in (("one text", "1"), ("200 texts", "200")):
        ours, theirs = (_milliseconds(found[f"p50_ms_{size}"]) for found in (light, saved))
        yield Claim(f"a call with {count}, median | {ours} ms | {theirs} ms |")
    yield Claim(f"peak memory | {light['peak_mb']:.0f} MB | {saved['peak_mb']:,.0f} MB |")
    yield Claim(f"an export of {light['disk_mb']:.0f} MB instead of {cost('disk_mb', 'bundle'):.0f} MB")
    yield Quoted(f"half of the {light['peak_mb']:.0f} MB are pages of mapped files", "pmap of such a process")
    yield Quoted("to within 0.00001", "tests/test_onnx_export.py")
    presets = [each for each in rows("onnx_export", kind="onnx", weights="int8") if each["dev_texts"]]
    furthest = rounded(max(float(each["largest_difference"]) for each in presets), "0.01")
    same = all(
        each["accuracy"] == row("onnx_export", model=each["model"], kind="bundle")["accuracy"] for each in presets
    )
    yield Claim(
        f"three of them differ from their bundles by at most {furthest} in a probability, and not in accuracy",
        same and len(presets) == 3,
    )
    told = "up to 2 of some 1,000 labels differ, and up to 13 of a tagger's 25,147 tags, which costs it 0.02 points"
    yield Quoted(told, "from_preset beside Predictor, on dev")
    yield Quoted("| 2.3 ms | 1.7 ms | 1.5 ms | 1.3 ms | 1.4 ms | 1.6 ms | 1.8 ms | 3.5 ms |", "an earlier measurement")
    yield Quoted("new in 15.1", "Unicode")


_COSTS = ("start_s", "p50_ms_1", "p50_ms_200", "peak_mb", "disk_mb")


def _milliseconds(time: Decimal) -> str:
    return one(time) if time < 100 else f"{time:.0f}"


def batch() -> Iterator[Claim | Quoted]:
    """Yield the claims of docs/batch.md."""
    for line in batch_costs.table(read(batch_costs.RESULTS).to_dict("records")).splitlines()[2:]:
        yield Claim(line)
    rate = round(number("batch", "texts_per_s", command="predict-batch", processes="2", texts="1000000"))
    per_core = round(rate / 2)
    hours = 10**9 / per_core / 3600
    yield Claim(
        f"two cores label {rate:,} of the million texts per second, start and end included: {per_core:,} per core"
    )
    yield Claim(f"1,000,000,000 / {per_core:,} seconds = {hours:.0f} core-hours", round(hours / 2 / 24) == 4)
    yield Claim(
        "At a price of 0.06 dollars per core-hour, which is an assumption, they cost 12 dollars",
        round(hours * 0.06) == 12,
    )
    yield Quoted("takes 212 MB more in each", "an earlier measurement")
    yield Quoted("| `dc_bilstm_sst2` | 1.29 | 2.28 | 1.61 | 1.79 | 2.18 |", "an earlier measurement")
    yield Quoted("| `gated_skip_tagger_ewt_upos` | 2.19 | 3.80 | 3.22 | 3.98 | 5.11 |", "an earlier measurement")


def server() -> Iterator[Claim | Quoted]:
    """Yield the claims of deploy/runtime/README.md."""
    quiet = {"max_batch": "8", "workers": "1", "threads": "1", "max_wait_ms": "0.0", "texts": "1", "tokens": "30"}
    for clients, requests in (("1", "3822"), ("8", "4000"), ("32", "4000"), ("32", "100000")):
        found = row("runtime_server", clients=clients, requests=requests, **quiet)
        p50, p99 = (round(Decimal(found[name])) for name in ("p50_ms", "p99_ms"))
        yield Claim(
            f"| {clients} | {int(requests):,} | {found['requests_per_second']} | {p50} | {p99} | "
            f"{found['server_cpu_ms_per_request']} | {one(found['texts_per_batch'])} |",
            found["not_200"] == "0",
        )
    held = (f"{Decimal(found[f'rss_{when}_mb']):.0f} MB" for when in ("start", "warm", "end"))
    yield Claim("{} after the start, {} after 100 requests, {} at the end".format(*held))
    for option, value in (("max-batch", n) for n in ("1", "4", "16", "32")):
        yield _setting(f"`--{option} {value}`", ("8", "32"), quiet | {"max_batch": value})
    # The default settings were measured twice on the busy machine; the table has the first of them.
    first = (
        row("runtime_server", **quiet, clients="8", requests="385"),
        row("runtime_server", **quiet, clients="32", requests="515"),
    )
    yield _compared("`--max-batch 8` (default)", ("8", "32"), first)
    for option, column, value in _OTHERS:
        yield _setting(
            f"`--{option} {value}`", ("1", "8"), quiet | {column: f"{value}.0" if "wait" in option else value}
        )
    single, *some = (
        [
            Decimal(row("runtime_server", **quiet | {"max_batch": size}, clients=clients)[_CPU])
            for clients in ("8", "32")
        ]
        for size in ("1", "4")
    )
    some.append([Decimal(found[_CPU]) for found in first])
    saved = [100 * (1 - few / alone) for times in some for few, alone in zip(times, single, strict=True)]
    yield Claim(f"Batches of 4 to 8 take {min(saved):.0f} to {max(saved):.0f} % less processor time per text")
    yield Quoted("FastAPI 0.165, uvicorn 0.54, prometheus-client 0.26 | 176", "du -sm")
    yield Quoted("LitServe 0.2.19 | 201 | 29 | | BentoML 1.4.39 | 245 | 73 | The limit was 200 MB", "du -sm")
    yield Quoted("a request took 1.8 instead of 2.2 ms of processor time", "an earlier measurement")
    yield Quoted("`weights.bin`, 120 MB", "50,000 words of 600 numbers in float32")
    yield Quoted("127.0.0.1, 8000", "the defaults")
    yield Quoted("(Python 3.11, x86-64)", "where it was measured")


_CPU = "server_cpu_ms_per_request"
_OTHERS = (
    *(("max-wait-ms", "max_wait_ms", value) for value in ("2", "5")),
    ("workers", "workers", "2"),
    ("threads", "threads", "2"),
)


def _setting(shown: str, clients: tuple[str, str], settings: dict[str, str]) -> Claim:
    return _compared(shown, clients, tuple(row("runtime_server", **settings, clients=number) for number in clients))


def _compared(shown: str, clients: tuple[str, str], found: tuple[dict[str, Any], ...]) -> Claim:
    times = "; ".join(each[_CPU] for each in found)
    sizes = "; ".join(one(each["texts_per_batch"]) for each in found)
    return Claim(f"| {shown} | {'; '.join(clients)} | {times} | {sizes} |")
