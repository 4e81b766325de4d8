"""zoo.measure and dense-lstm-zoo measure: whole tables and files, and clear errors before any work."""

import csv
import os
import shutil
import sys
from pathlib import Path

import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo.cli import main
from dense_lstm_zoo.measuring import folders, measure, process, rows


@pytest.fixture
def answers(monkeypatch):
    """Replace the processes by the answer of each folder's, by name. Others make the test fail."""
    by_name: dict = {}

    def answer(timeout, path, **request):
        if isinstance(by_name[Path(path).name], Exception):
            raise by_name[Path(path).name]
        return by_name[Path(path).name]

    monkeypatch.setattr(measure, "measure_in_fresh_process", answer)
    return by_name


def result(**values):
    times = {f"{name}_{size}": 1234.5678 for size in rows.SIZES for name in ("p50_ms", "p99_ms")}
    calls = {f"calls_{size}": 100 for size in rows.SIZES}
    costs = {"task": "classification", "model": "dc_bilstm", "start_s": 7.309}
    costs |= {"import_s": 5.123, "load_s": 0.456, "first_ms": 1700.7}
    memory = {"texts_per_s": 19531.25, "peak_mb": 957.28, "added_mb": 166.19}
    return {**costs, **times, **calls, **memory, "warnings": [], **values}


@pytest.fixture(scope="module")
def places(tmp_path_factory, saved_bundle):
    """A folder of bundles, of which some are damaged, and of what is none. No test changes it."""
    folder = tmp_path_factory.mktemp("measured")
    runs = folder / "runs"
    for name in ("trec", "damaged", "unfinished"):
        shutil.copytree(saved_bundle("dc_bilstm"), runs / name)
    (runs / "unfinished" / "manifest.json").unlink()
    with (runs / "damaged" / "vocabulary.txt").open("a") as file:
        file.write("more\n")
    (folder / "a.txt").write_text("a")
    (folder / "link").symlink_to(runs / "trec")
    for export in (runs / "mr" / "1", folder / "foreign", folder / "half"):
        (export / "assets.extra").mkdir(parents=True)
        (export / "saved_model.pb").write_bytes(b"x")
    (folder / "half" / "assets.extra" / "non_core_ops.txt").write_text("")
    return folder


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda f: [], "nothing to measure; give at least one"),
        (lambda f: [f / "runs" / "treck"], r"treck does not exist\. Did you mean .*runs/trec\?"),
        (lambda f: [f / "none" / "trec"], r"none/trec does not exist\.$"),
        (lambda f: [f / "a.txt"], "a.txt is a file; give the folder that train or export wrote"),
        (
            lambda f: [f / "runs"],
            r"runs is neither a bundle .* nor an export .* Did you mean .*runs/mr/1 or .*runs/trec\?",
        ),
        (lambda f: [f / "runs" / "trec", f / "runs" / "trec"], r"trec is given twice; give each folder once"),
        (lambda f: [f / "runs" / "trec", f / "link"], r"link is given twice, also as .*runs/trec"),
        (
            lambda f: [f / "runs" / "damaged"],
            r"damaged/vocabulary\.txt has been changed or damaged since it was written",
        ),
        (lambda f: [f / "runs" / "unfinished"], r"unfinished is not a bundle: it has no manifest\.json"),
        (lambda f: [f / "foreign"], r"foreign is a SavedModel that export did not write: it has no assets\.extra"),
        (lambda f: [f / "half"], r"half is a damaged export: variables/variables\.index is missing"),
    ],
)
def test_a_folder_that_cannot_be_measured_is_told_before_any_work(make, message, places, answers, saved_bundle):
    good = [str(saved_bundle("di_bilstm"))] if make(places) else []  # comes first, and is not measured either
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        zoo.measure([*good, *make(places)])


def test_numbers_and_texts_are_checked_before_any_work(answers, saved_bundle):
    for options, kind, message in (
        ({"repeats": 0}, ValueError, "repeats must be an integer of at least 1; received 0"),
        ({"timeout": 0}, ValueError, "timeout must be a finite number above 0; received 0"),
        ({"texts": []}, ValueError, "must include one that is not blank; received 0 texts"),
        ({"texts": ["", " \n"]}, ValueError, "received 2 texts, all blank"),
        ({"texts": "a text"}, TypeError, "texts must be a list of strings; received one string"),
        ({"texts": ["a", None]}, TypeError, r"received None \(NoneType\) as item 1"),
    ):
        with pytest.raises(kind, match=message):
            zoo.measure(saved_bundle("dc_bilstm"), **options)


def test_the_file_of_the_texts_is_not_overwritten_with_what_they_cost(tmp_path, capsys):
    texts = tmp_path / "texts.csv"
    texts.write_text("text\nfine\n")
    assert main(["measure", "runs/none", "--texts", str(texts), "--output", str(texts), "--overwrite"]) == 2
    assert "is one of the files that are read; name another one" in capsys.readouterr().err
    assert texts.read_text() == "text\nfine\n"


def test_a_row_has_every_column_and_one_failure_does_not_cost_the_others(answers, saved_bundle):
    answers |= {"dc_bilstm": result(), "di_bilstm": process.WorkerError("out of memory")}
    answers |= {"dense_lstm_lm": result(task="language_model", warnings=["another kernel runs"])}
    with pytest.warns(UserWarning, match="dense_lstm_lm: another kernel runs"):
        frame = zoo.measure([saved_bundle(name) for name in answers], ["a b", "c d e f"] * 1500, repeats=7)
    assert tuple(frame.columns) == rows.COLUMNS
    assert list(frame["run"]) == list(answers)
    assert list(frame["error"]) == ["", "out of memory", ""]
    first, failure, _ = frame.to_dict("records")
    size = sum(file.stat().st_size for file in (saved_bundle("dc_bilstm")).iterdir()) / 2**20
    assert first["disk_mb"] == round(size, 2) > 0
    assert (first["load_s"], first["p99_ms_200"], first["texts_per_s"]) == (0.46, 1234.568, 19531.2)
    assert (first["texts"], first["words_per_text"], first["repeats"]) == (2000, 3, 7)
    assert all(first[name] not in ("", None) for name in rows.COLUMNS if name != "error")
    assert failure["load_s"] == failure["disk_mb"] == ""
    assert "keras=" in first["versions"]
    text = frame.to_csv()
    assert str(Path.home()) not in text
    assert str(saved_bundle("dc_bilstm").parent) not in text
    assert os.uname().nodename not in text


def run_command(capsys, *arguments):
    try:
        status = main(["measure", *map(str, arguments)])
    except SystemExit as stop:
        status = stop.code
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_python_takes_the_names_of_presets_too(answers, presets, saved_bundle):
    shutil.copytree(saved_bundle("dc_bilstm"), presets / "models" / "mine_trec")
    answers["mine_trec"] = result()
    assert zoo.measure(["mine_trec"], ["a b"])[["run", "kind", "error"]].values.tolist() == [
        ["mine_trec", "bundle", ""]
    ]
    with pytest.raises(ValueError, match="Did you mean 'mine_trec'"):
        zoo.measure("mine_trek")


def test_the_table_stands_in_line_and_the_csv_file_holds_what_could_be_measured(
    answers, tmp_path, capsys, monkeypatch, saved_bundle
):
    for name in ("dc_bilstm", "di_bilstm", "dense_lstm_lm"):
        monkeypatch.chdir(saved_bundle(name).parent)
    monkeypatch.setattr("dense_lstm_zoo.machine.cores", lambda: 1)
    answers |= {"dc_bilstm": result(), "di_bilstm": process.WorkerError("out of\nmemory"), "dense_lstm_lm": result()}
    output = tmp_path / "new" / "costs.csv"
    status, out, err = run_command(capsys, *answers, "--output", output, "--repeats", "7")
    assert status == 1
    assert err == "error: di_bilstm: out of memory\n"
    first, *_, tops, bottoms, row_of_bundle, failure, other = out.splitlines()
    assert first.startswith("1,000 texts of the demo corpus, 15 words on average; ")
    assert ", 1 core, load average " in first
    assert len({len(line) for line in (tops, bottoms, row_of_bundle, failure, other)}) == 1
    assert " ".join(tops.split()) == "start import load first 1 text 32 texts 200 texts peak model disk"
    assert bottoms.split()[:5] == ["run", "s", "s", "s", "ms"]
    assert row_of_bundle.split()[:5] == ["dc_bilstm", "7.31", "5.1", "0.46", "1,701"]
    assert row_of_bundle.split()[-4:-1] == ["19,531", "957", "166"]
    assert failure.split()[1:] == ["-"] * 14
    with output.open(newline="") as file:
        rows_of_file = list(csv.DictReader(file))
    assert [row["run"] for row in rows_of_file] == ["dc_bilstm", "dense_lstm_lm"]
    assert tuple(rows_of_file[0]) == rows.COLUMNS[:-1]
    assert float(rows_of_file[0]["p50_ms_32"]) == 1234.568
    assert (rows_of_file[0]["repeats"], rows_of_file[0]["source"], rows_of_file[0]["calls_1"]) == (
        "7",
        "the demo corpus",
        "100",
    )


def test_the_file_is_written_though_the_reader_of_the_lines_has_left(answers, tmp_path, monkeypatch, saved_bundle):
    answers["dc_bilstm"] = result()
    reading, writing = os.pipe()
    ends = [reading]

    def line(row, names):
        while ends:
            os.close(ends.pop())
        return "a line"

    monkeypatch.setattr(rows, "line", line)
    with os.fdopen(writing, "w") as stdout:
        monkeypatch.setattr(sys, "stdout", stdout)
        assert main(["measure", str(saved_bundle("dc_bilstm")), "--output", str(tmp_path / "costs.csv")]) == 0
    assert (tmp_path / "costs.csv").is_file()


def test_without_a_failure_the_status_is_0_and_without_a_success_no_file_is_written(
    answers, tmp_path, capsys, saved_bundle
):
    answers["dc_bilstm"] = result()
    output = tmp_path / "costs.csv"
    assert run_command(capsys, saved_bundle("dc_bilstm"))[0] == 0
    answers["dc_bilstm"] = process.WorkerError("out of memory")
    assert run_command(capsys, saved_bundle("dc_bilstm"), "--output", output)[0] == 1
    assert list(tmp_path.iterdir()) == []
    output.write_text("mine")
    status, out, err = run_command(capsys, saved_bundle("dc_bilstm"), "--output", output)
    assert (status, out) == (2, "")
    assert "already exists" in err
    assert run_command(capsys, saved_bundle("dc_bilstm"), "--output", output, "--overwrite")[0] == 1
    assert output.read_text() == "mine"
    answers["dc_bilstm"] = result()
    assert run_command(capsys, saved_bundle("dc_bilstm"), "--output", output, "--overwrite")[0] == 0
    assert output.read_text().startswith("run,kind,task,")


def test_texts_are_read_as_predict_reads_them(answers, tmp_path, capsys, monkeypatch, saved_bundle):
    answers["dc_bilstm"] = result()
    requests = []
    monkeypatch.setattr(measure, "measure_in_fresh_process", lambda *_, texts, **__: requests.append(texts) or result())
    output = tmp_path / "costs.csv"
    (tmp_path / "a.txt").write_bytes(b"one two\n\ncaf\xe9\n")
    (tmp_path / "b.csv").write_text('text,said\nx,"one, two"\ny,three\n')
    (tmp_path / "c.jsonl").write_text('{"text": "one"}\n' * 2500)
    for name, options, texts in (
        ("a.txt", ["--encoding", "latin-1"], ["one two", "", "caf\u00e9"]),
        ("b.csv", ["--text-column", "said"], ["one, two", "three"]),
        ("c.jsonl", [], ["one"] * 2000),
        ("b.csv", ["--input-format", "text"], ["text,said", 'x,"one, two"', "y,three"]),
    ):
        arguments = [saved_bundle("dc_bilstm"), "--texts", tmp_path / name, *options, "--output", output, "--overwrite"]
        assert run_command(capsys, *arguments)[0] == 0
        assert requests.pop() == texts
        with output.open(newline="") as file:
            (row,) = csv.DictReader(file)
        assert (row["source"], row["texts"]) == (name, str(len(texts)))
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "blank.txt").write_text("\n  \n")
    for name, options, message in (
        ("empty.txt", [], "empty.txt holds no texts; there is nothing to predict"),
        ("blank.txt", [], "blank.txt holds only blank texts"),
        ("a.tx", [], "a.tx does not exist. Did you mean 'a.txt'"),
        ("b.csv", ["--text-column", "siad"], "'siad'. Did you mean 'said'"),
        ("a.txt", ["--text-column", "said"], "--text-column is for csv, tsv, jsonl, parquet and xlsx"),
        (None, ["--text-column", "said"], "describe the file of --texts; give --texts too"),
        (None, ["--repeats", "0"], "repeats must be an integer of at least 1; received 0"),
    ):
        own = ["--texts", tmp_path / name] if name else []
        status, out, err = run_command(capsys, saved_bundle("dc_bilstm"), *own, *options)
        assert (status, out) == (2, "")
        assert message in err
        assert err.count("\n") == 1
    assert requests == []


def test_results_call_a_folder_what_tells_it_apart_and_nothing_more():
    names = folders.names([Path("runs/a"), Path("/home/me/exports/trec/1"), Path("/home/me/exports/mr/1")])
    assert names == ["runs/a", "trec/1", "mr/1"]
    assert folders.names([Path("/home/me/one/run"), Path("/home/me/two/run")]) == ["one/run", "two/run"]
    assert folders.names([Path("/home/me/runs/trec")]) == ["trec"]
