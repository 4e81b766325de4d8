"""The benchmark of the memory that training keeps."""

import pandas as pd
import pytest

from benchmarks import kept_memory


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("lstmm", "demo", None, 1), "Did you mean 'lstm'"),
        (("lstm", "ptb", None, 1), "is for language_model"),
        (("lstm", "demo", 0, 1), "texts must be"),
        (("lstm", "demo", None, 0), "repeats must be"),
    ],
)
def test_what_is_wrong_is_said_before_any_process_starts(arguments, message, monkeypatch):
    monkeypatch.setattr(kept_memory, "Worker", lambda *_: pytest.fail("a process started"))
    with pytest.raises(ValueError, match=message):
        kept_memory.measure(*arguments)


def test_runs_of_other_numbers_of_texts_stay_beside_each_other(tmp_path, monkeypatch):
    monkeypatch.setattr(kept_memory, "RESULTS", tmp_path / "rows.csv")
    monkeypatch.setattr(
        kept_memory, "measure", lambda *arguments: {"texts": arguments[2] or 4000, "repeats": arguments[3]}
    )
    for words in (["--texts", "20"], [], ["--texts", "20", "--repeats", "9"]):
        monkeypatch.setattr("sys.argv", ["kept_memory", "lstm", "demo", *words])
        kept_memory.main()
    rows = pd.read_csv(tmp_path / "rows.csv")
    assert rows[["texts", "repeats"]].values.tolist() == [[4000, 5], [20, 9]]


@pytest.mark.slow
def test_both_sides_train_the_same_and_are_timed():
    row = kept_memory.measure("bilstm", "demo", 200, repeats=2)
    assert (row["texts"], row["repeats"]) == (200, 2)
    assert min(row["kept_s"], row["returned_s"], row["kept_peak_mb"], row["ratio"]) > 0
