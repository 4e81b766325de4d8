"""``bench`` measures groups of comparisons and returns their rows. ``line`` prints one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from benchmarks.speed.measure import Worker
from benchmarks.speed.runs import GROUPS
from benchmarks.speed.workloads import COLUMNS, Settings
from dense_lstm_zoo import checks

if TYPE_CHECKING:
    import pandas as pd


def bench(
    device: str = "cpu",
    only: Sequence[str] | None = None,
    quick: bool = False,
    *,
    report: Callable[[dict[str, Any]], None] | None = None,
    **settings: Any,
) -> pd.DataFrame:
    """Measure the speed of this package on this machine, side by side with its peers.

    Every comparison gives each side our weights, checks that the outputs agree, warms both up and measures them in
    turn. Ratios are peer / ours: above 1 is faster than the peer. PyTorch is compared where it is installed, or lies in
    the folder ``$DENSE_LSTM_ZOO_TORCH`` (made by ``pip install --target``).

    Args:
        device: ``"cpu"`` (GPUs are hidden from both sides), or ``"gpu"`` for both Keras sides on the GPU, without
            PyTorch.
        only: The groups to measure, from ``GROUPS``. All by default.
        quick: Fewer sizes and repeats: minutes in place of a quarter of an hour, and wider spreads.
        report: Called with each row as soon as it is measured.
        **settings: Fields of ``Settings``, such as ``repeats=5`` or ``kernel="portable"``.

    Returns:
        One row a comparison, with ``COLUMNS``.

    Raises:
        ValueError: An unknown device, group or setting. ``"gpu"`` where TensorFlow sees none.
        RuntimeError: A peer's outputs differ from ours.

    Example:
        ``bench(only=["predict"], quick=True)[["batch", "peer", "ratio"]]``
    """
    checks.one_of("device", device, ["cpu", "gpu"])
    if device == "gpu":
        from dense_lstm_zoo.layers.recurrence import kernels

        if reason := kernels.problem("cudnn"):
            raise ValueError(f"device='gpu' cannot run here: {reason}. Accepted: cpu.")
        settings["torch"] = False
    Worker.sees_gpus = device == "gpu"
    groups = list(GROUPS) if only is None else list(only)
    for group in groups:
        if group not in GROUPS:
            raise checks.unknown_name("benchmark", group, GROUPS)
    for name in settings:
        if name not in Settings.__dataclass_fields__:
            raise checks.unknown_name("setting", name, Settings.__dataclass_fields__)
    resolved_settings = Settings.quick(**settings) if quick else Settings(**settings)

    import pandas as pd

    rows = []
    for group in groups:
        for row in GROUPS[group](resolved_settings):
            rows.append(row)
            if report is not None:
                report(row)
    return pd.DataFrame(rows, columns=list(COLUMNS))


def line(row: dict[str, Any]) -> str:
    """Return a row of ``bench`` as one line of text."""
    unit = "ms" if row["ours_ms"] != "" else "MB"
    ours, peer = (row[f"{side}_{unit.lower()}"] for side in ("ours", "peer"))
    text = f"{row['name']:<22} batch {row['batch'] or '-':<4} ours {ours} {unit}"
    if row["peer"]:
        text += f", {row['peer']} {peer} {unit}: {row['ratio']}x ({row['ratio_low']}-{row['ratio_high']})"
    return text + (f", {row['ours_rate']:,} {row['rate_unit']}" if row["ours_rate"] != "" else "")
