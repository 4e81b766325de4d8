"""The script that measures batch predictions, and the page that shows what it measured."""

import sys

from benchmarks import batch
from tests import pages
from tuning import result_files

PAGE = (pages.ROOT / "docs" / "batch.md").read_text(encoding="utf-8")


def test_each_way_has_a_row_with_its_rate_and_memory(batch_exports, tmp_path, monkeypatch):
    command_lines = []

    def cost(arguments):
        command_lines.append(arguments)
        return batch.Cost(4.0, 6.0, [100.0, 300.0, 250.0, 260.0])

    monkeypatch.setattr(batch, "cost", cost)
    monkeypatch.setattr(batch, "RESULTS", tmp_path / "batch.csv")
    monkeypatch.setattr(sys, "argv", ["batch", str(batch_exports["bilstm"][0]), "--texts", "80"])
    batch.main()
    rows = result_files.read_rows(tmp_path / "batch.csv").to_dict("records")
    assert [(row["command"], row["processes"]) for row in rows] == [
        ("predict --file", "1"),
        ("predict-batch", "1"),
        ("predict-batch", "2"),
    ]
    for row in rows:
        assert (row["texts_per_s"], row["cpu_ms_per_text"], row["peak_mb"]) == ("20.0", "75.0", "300")
        assert (row["mb_second_quarter"], row["mb_last_quarter"]) == ("300", "260")
    assert "--direct_num_workers=2" in command_lines[2]
    assert not any("direct_num_workers" in argument for argument in command_lines[1])


def test_the_made_texts_are_the_same_each_time_and_lie_in_both_kinds_of_files(tmp_path):
    for folder in (tmp_path / "a", tmp_path / "b"):
        folder.mkdir()
        mean = batch.write(folder, ["one", "two"], 1000)
    assert 17 < mean < 21
    all_lines = (tmp_path / "a" / "all.jsonl").read_text()
    assert all_lines == (tmp_path / "b" / "all.jsonl").read_text()
    assert all_lines == "".join(path.read_text() for path in sorted((tmp_path / "a").glob("part*.jsonl")))


def test_the_page_shows_the_rows_of_the_results():
    rows = result_files.read_rows(batch.RESULTS).to_dict("records")
    assert batch.table(rows) in PAGE
