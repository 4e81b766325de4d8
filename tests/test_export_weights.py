"""The rows of exports with weights in each precision, in turns."""

import pandas as pd
import pytest

from benchmarks import export_weights, onnx_export, tables
from tests import bundle_harness


def test_a_row_for_each_precision_with_what_differs_and_ratios_to_float32(monkeypatch, tmp_path):
    bundle = bundle_harness.bundle("bilstm")
    monkeypatch.setattr(export_weights, "trained", lambda name: (bundle, ["a good film", "bad"], []))
    rows = export_weights.rows("preset", tmp_path, 2)
    assert [row["weights"] for row in rows] == list(onnx_export.WEIGHTS)
    assert rows[0]["answers_that_differ"] == 0
    assert rows[0]["ratio_1"] == rows[0]["ratio_200"] == 1
    assert all(row["answers"] == 2 and row["cpu_ms_1"] > 0 and row["disk_mb"] > 0 for row in rows)
    (tmp_path / "results").mkdir()
    path = tmp_path / "results" / "export_weights.csv"
    pd.DataFrame(rows).assign(command="c", versions="v").to_csv(path, index=False)
    monkeypatch.setattr(tables, "ROOT", tmp_path)
    assert tables.export_weights().count("| `preset` |") == 3


def test_no_turns_are_refused(tmp_path):
    with pytest.raises(ValueError, match="repeats"):
        export_weights.rows("W", tmp_path, 0)
