"""Long texts cost as much per token as short ones: nothing but the states of a text grows with its length."""

from pathlib import Path

import pandas as pd
import pytest

from benchmarks.speed import long_texts
from benchmarks.speed.measure import Worker
from benchmarks.speed.networks import Architecture

# Deep, as what a training step keeps grows with depth, and narrow at the top, where a prediction needs most.
SMALL = Architecture(num_dense_layers=12, dense_units=8, top_units=16, features=40)
TOKENS = 48_000


def peak(method, time, batch):
    """The MB of a step in a fresh process, above what the process held before."""
    with Worker("tensorflow") as worker:
        step = {"side": "ours", "architecture": SMALL.to_dict(), "method": method, "batch": batch, "length": time}
        return worker.ask("step_memory", **step)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="peak memory is measured on Linux")
@pytest.mark.parametrize("method", ["predict", "train"])
def test_memory_depends_on_the_tokens_of_a_batch_and_not_on_how_long_its_texts_are(method):
    short, long = (peak(method, time, TOKENS // time) for time in (48, 1536))
    assert long < 1.25 * short + 10
    if method == "predict":  # it keeps nothing for a backward pass
        assert long < 0.5 * peak("train", 1536, TOKENS // 1536)


@pytest.mark.slow
def test_the_table_has_a_row_for_each_side_step_and_measure(tmp_path, monkeypatch):
    monkeypatch.setattr(long_texts, "NETWORKS", {"small": Architecture(1, 3, 4, 5)})
    table = tmp_path / "long.csv"
    for _ in range(2):  # a second run replaces the rows of the first
        long_texts.main(["--times", "6", "--peers", "keras", "--repeats", "2"], table, tokens=12)
    rows = pd.read_csv(table)
    assert rows["measure"].value_counts().to_dict() == {"tokens/s": 4, "peak MB": 4}
    assert set(zip(rows["side"], rows["step"], strict=True)) == {
        (side, step) for side in ("ours", "keras") for step in ("predict", "train")
    }
    assert (rows["batch"] == 2).all()
    speeds = rows[rows["measure"] == "tokens/s"]
    assert (speeds["value"] > 0).all()
    assert speeds["ratio"].notna().tolist() == (speeds["side"] == "keras").tolist()
