"""What trained models cost: right statistics, whole tables, clear errors; the real processes are slow."""

import csv
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import dense_lstm_zoo as zoo
from dense_lstm_zoo import machine
from dense_lstm_zoo.cli import main
from dense_lstm_zoo.measuring import folders, latency, measure, process, rows, served, worker

BUNDLES = Path(__file__).parent / "bundles" / "version_0_1"
EXPECTED = json.loads((BUNDLES / "expected.json").read_text())
STUB = "tests.measure_worker"


class Model:
    """Predicts on a clock of its own: a batch that is new takes ten seconds more."""

    def __init__(self, seconds):
        self.now, self.seconds, self.seen, self.calls = 0.0, iter(seconds), set(), []

    def clock(self):
        return self.now

    def predict(self, texts):
        self.calls.append(tuple(texts))
        self.now += next(self.seconds) if tuple(texts) in self.seen else 10.0
        self.seen.add(tuple(texts))


def test_percentiles_are_of_the_calls_behind_the_warm_up():
    seconds = np.random.default_rng(5).gamma(2.0, 0.01, size=40)
    model, texts = Model(seconds), [f"text {i}" for i in range(100)]
    found = latency.time_calls(model.predict, texts, 3, 40, max_seconds=1e9, clock=model.clock)
    # 33 batches of 3 texts, each predicted once before; then 40 calls, which go round them.
    assert len(model.calls) == 33 + 40
    assert model.calls[:33] == model.calls[33:66]
    assert {len(call) for call in model.calls} == {3}
    cuts = statistics.quantiles(seconds, n=100, method="inclusive")
    assert (found["p50_ms"], found["p99_ms"]) == pytest.approx((1e3 * statistics.median(seconds), 1e3 * cuts[98]))
    assert found["texts_per_s"] == pytest.approx(3 * 40 / sum(seconds))
    assert found["calls"] == 40


def test_percentiles_of_a_hundred_known_calls():
    slowly = [0.0, 0.0] + [i / 1000 for i in range(1, 101)]  # one batch: two more calls warm it up
    model = Model(slowly)
    found = latency.time_calls(model.predict, ["a"], 1, 100, clock=model.clock)
    assert (found["p50_ms"], found["p99_ms"]) == pytest.approx((50.5, 99.01))
    assert found["texts_per_s"] == pytest.approx(100 / 5.05)


def test_a_slow_model_is_measured_a_minute_and_on_warm_batches_alone():
    model, texts = Model([7.0] * 100), [f"text {i}" for i in range(100)]
    found = latency.time_calls(model.predict, texts, 2, 50, max_seconds=60, clock=model.clock)
    warm = model.calls[:6]  # ten seconds each
    assert len(set(warm)) == 6
    assert set(model.calls[6:]) == set(warm)
    assert found["calls"] == 9  # the ninth ends after 63 seconds
    slower = Model([100.0] * 100)
    assert latency.time_calls(slower.predict, texts, 2, 50, max_seconds=60, clock=slower.clock)["calls"] == 3


def test_every_text_is_in_one_batch_and_too_few_are_repeated():
    texts = [str(i) for i in range(450)]
    found = latency.batches(texts, 200, 100)
    assert [text for batch in found for text in batch] == texts[:400]
    assert len(latency.batches(texts, 1, 100)) == 100
    (batch,) = latency.batches(texts[:3], 7, 100)
    assert batch == ["0", "1", "2", "0", "1", "2", "0"]


@pytest.fixture(scope="module")
def exports(tmp_path_factory):
    """An export of each task's bundle."""
    folder = tmp_path_factory.mktemp("exports")
    names = ("dc_bilstm", "dense_lstm_lm", "gated_skip_tagger")
    return {name: zoo.load(BUNDLES / name).export(folder / name / "1") for name in names}


@pytest.mark.parametrize("name", ["dc_bilstm", "dense_lstm_lm", "gated_skip_tagger"])
def test_bundles_and_exports_of_every_task_predict_what_they_predicted(name, exports):
    expected = EXPECTED[name]
    given = expected.get("texts") or expected["sentences"]
    texts = [" ".join(text) if isinstance(text, list) else text for text in given]
    bundle, export = served.load_bundle(str(BUNDLES / name)), served.load_export(str(exports[name]))
    assert (bundle.model, export.model) == (name, "")
    assert bundle.task == export.task == zoo.load(BUNDLES / name).config["task"]
    one_by_one, served_at_once = bundle.predict(texts), export.predict(texts)
    if name == "dc_bilstm":
        labels = [found["label"] for found in expected["predictions"]]
        assert [found.label for found in one_by_one] == labels == [x.decode() for x in served_at_once["label"]]
    elif name == "dense_lstm_lm":
        perplexities = [found["perplexity"] for found in expected["scores"]]
        np.testing.assert_allclose([found.perplexity for found in one_by_one], perplexities, rtol=1e-4)
        np.testing.assert_allclose(served_at_once["perplexity"], perplexities, rtol=1e-4)
    else:
        tags = [tag for found in expected["predictions"] for tag in found["tags"]]
        assert [tag for found in one_by_one for tag in found.tags] == tags
        assert [tag.decode() for tag in served_at_once["tags"]] == tags


def test_a_run_is_measured_from_its_import_to_its_last_call():
    path, texts = str(BUNDLES / "dc_bilstm"), ["a fine film .", "", "half a \ud800 pair"]
    found = worker.measured("bundle", path, texts, [1, 4], 5)
    assert (found["task"], found["model"], found["warnings"]) == ("classification", "dc_bilstm", [])
    times = [found[name] for name in ("import_s", "load_s", "first_ms", "p50_ms_1", "p99_ms_4", "texts_per_s")]
    assert min(times) > 0
    assert found["calls_1"] == found["calls_4"] == 5
    assert all(found[f"p50_ms_{size}"] <= found[f"p99_ms_{size}"] for size in (1, 4))
    # This process is not fresh: it may have held more before.
    assert 0 <= found["added_mb"] < found["peak_mb"]
    assert set(found) - {"warnings"} <= {*rows.COLUMNS, "p50_ms_4", "p99_ms_4", "calls_4"}


def test_an_error_of_the_worker_is_told_in_a_line():
    assert worker._reason(ValueError("no such bundle")) == "no such bundle"
    assert worker._reason(MemoryError()) == "out of memory"
    assert worker._reason(RuntimeError("\n  it broke\nhere")) == "RuntimeError: it broke"


def test_a_saved_model_of_another_maker_is_refused_where_it_is_loaded(tmp_path):
    module = tf.Module()
    module.serve = tf.function(lambda text: {"other": text}, input_signature=[tf.TensorSpec((None,), tf.string)])
    tf.saved_model.save(module, str(tmp_path), {"serving_default": module.serve})
    with pytest.raises(ValueError, match="not an export of this package: its signature serving_default returns other"):
        served.load_export(str(tmp_path))


def ask(path, timeout=20.0, texts=("a",)):
    return process.measure_in_fresh_process(timeout, STUB, path=path, texts=list(texts))


def test_a_fresh_process_does_not_count_the_memory_of_the_one_that_started_it():
    found = ask("answer", texts=["x" * 1000] * 2000)  # more than a pipe holds
    assert found["texts"] == 2000
    assert 5 < found["resident_mb"] <= found["peak_mb"] < 150
    assert machine.peak_mb() > 300  # TensorFlow is in this one
    assert machine.resident_mb() <= machine.peak_mb()


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("error", "^the weights are wrong$"),
        ("crash", "ended with status 1: thing$"),
        ("half", "ended with status 3: it said nothing$"),
        ("killed", "was killed, which systems do when memory runs out"),
    ],
)
def test_a_worker_that_fails_or_dies_is_told_of_at_once(path, message):
    with pytest.raises(process.WorkerError, match=message):
        ask(path)


def test_a_worker_that_takes_too_long_is_stopped():
    with pytest.raises(process.WorkerError, match=r"took longer than 1.5 s and was stopped; .*--timeout"):
        ask("hang", timeout=1.5)


def test_ctrl_c_ends_the_worker(monkeypatch):
    started = []

    def interrupted(process, request):
        started.append(process)
        raise KeyboardInterrupt

    monkeypatch.setattr(process, "_ask", interrupted)
    with pytest.raises(KeyboardInterrupt):
        ask("hang")
    assert started[0].returncode == -signal.SIGKILL


@pytest.fixture
def answers(monkeypatch):
    """Replace the processes: what each folder's would answer, by name; others make the test fail."""
    found: dict = {}

    def answer(timeout, path, **request):
        if isinstance(found[Path(path).name], Exception):
            raise found[Path(path).name]
        return found[Path(path).name]

    monkeypatch.setattr(measure, "measure_in_fresh_process", answer)
    return found


def result(**values):
    times = {f"{name}_{size}": 1234.5678 for size in rows.SIZES for name in ("p50_ms", "p99_ms")}
    calls = {f"calls_{size}": 100 for size in rows.SIZES}
    found = {"task": "classification", "model": "dc_bilstm", "import_s": 5.123, "load_s": 0.456, "first_ms": 1700.7}
    memory = {"texts_per_s": 19531.25, "peak_mb": 957.28, "added_mb": 166.19}
    return {**found, **times, **calls, **memory, "warnings": [], **values}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda f: [], "nothing to measure; name at least one"),
        (lambda f: [f / "runs" / "treck"], r"treck does not exist\. Did you mean .*runs/trec\?"),
        (lambda f: [f / "none" / "trec"], r"none/trec does not exist\.$"),
        (lambda f: [f / "a.txt"], "a.txt is a file; name the folder that train or export wrote"),
        (
            lambda f: [f / "runs"],
            r"runs is neither a bundle .* nor an export .* Did you mean .*runs/mr/1 or .*runs/trec\?",
        ),
        (lambda f: [f / "runs" / "trec", f / "runs" / "trec"], r"trec is named twice; name each folder once"),
        (lambda f: [f / "runs" / "trec", f / "link"], r"link is named twice, also as .*runs/trec"),
        (lambda f: [f / "runs" / "damaged"], r"damaged/vocabulary\.txt was changed or damaged since it was written"),
        (lambda f: [f / "runs" / "unfinished"], r"unfinished is no bundle: it has no manifest\.json"),
        (lambda f: [f / "foreign"], r"foreign is a SavedModel that export did not write: it has no assets\.extra"),
        (lambda f: [f / "half"], r"half is a damaged export: variables/variables\.index is missing"),
    ],
)
def test_a_folder_that_cannot_be_measured_is_told_before_any_work(make, message, tmp_path, answers):
    runs = tmp_path / "runs"
    for name in ("trec", "damaged", "unfinished"):
        shutil.copytree(BUNDLES / "dc_bilstm", runs / name)
    (runs / "unfinished" / "manifest.json").unlink()
    with (runs / "damaged" / "vocabulary.txt").open("a") as file:
        file.write("more\n")
    (tmp_path / "a.txt").write_text("a")
    (tmp_path / "link").symlink_to(runs / "trec")
    for folder in (runs / "mr" / "1", tmp_path / "foreign", tmp_path / "half"):
        (folder / "assets.extra").mkdir(parents=True)
        (folder / "saved_model.pb").write_bytes(b"x")
    (tmp_path / "half" / "assets.extra" / "non_core_ops.txt").write_text("")
    good = [str(BUNDLES / "di_bilstm")] if make(tmp_path) else []  # comes first, and is not measured either
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        zoo.measure([*good, *make(tmp_path)])


def test_numbers_and_texts_are_checked_before_any_work(answers):
    for options, kind, message in (
        ({"repeats": 0}, ValueError, "repeats must be an integer of at least 1; received 0"),
        ({"timeout": 0}, ValueError, "timeout must be a finite number above 0; received 0"),
        ({"texts": []}, ValueError, "must hold a text that is not blank; received 0 texts"),
        ({"texts": ["", " \n"]}, ValueError, "received 2 texts, all blank"),
        ({"texts": "a text"}, TypeError, "texts must be a list of strings; received one string"),
        ({"texts": ["a", None]}, TypeError, r"received None \(NoneType\) as item 1"),
    ):
        with pytest.raises(kind, match=message):
            zoo.measure(BUNDLES / "dc_bilstm", **options)


def test_a_row_has_every_column_and_one_failure_does_not_cost_the_others(answers):
    answers |= {"dc_bilstm": result(), "di_bilstm": process.WorkerError("out of memory")}
    answers |= {"dense_lstm_lm": result(task="language_model", warnings=["another kernel runs"])}
    with pytest.warns(UserWarning, match="dense_lstm_lm: another kernel runs"):
        frame = zoo.measure([BUNDLES / name for name in answers], ["a b", "c d e f"] * 1500, repeats=7)
    assert tuple(frame.columns) == rows.COLUMNS
    assert list(frame["run"]) == list(answers)
    assert list(frame["error"]) == ["", "out of memory", ""]
    first, failed, _ = frame.to_dict("records")
    size = sum(file.stat().st_size for file in (BUNDLES / "dc_bilstm").iterdir()) / 2**20
    assert first["disk_mb"] == round(size, 2) > 0.1
    assert (first["load_s"], first["p99_ms_200"], first["texts_per_s"]) == (0.46, 1234.568, 19531.2)
    assert (first["texts"], first["words_per_text"], first["repeats"]) == (2000, 3, 7)
    assert all(first[name] not in ("", None) for name in rows.COLUMNS if name != "error")
    assert failed["load_s"] == failed["disk_mb"] == ""
    assert "keras=" in first["versions"]
    text = frame.to_csv()
    assert str(Path.home()) not in text
    assert str(BUNDLES.parent) not in text
    assert os.uname().nodename not in text


def run_command(capsys, *arguments):
    try:
        status = main(["measure", *map(str, arguments)])
    except SystemExit as stop:
        status = stop.code
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_the_table_stands_in_line_and_the_csv_file_holds_what_could_be_measured(answers, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(BUNDLES)
    answers |= {"dc_bilstm": result(), "di_bilstm": process.WorkerError("out of\nmemory"), "dense_lstm_lm": result()}
    output = tmp_path / "new" / "costs.csv"
    status, out, err = run_command(capsys, *answers, "--output", output, "--repeats", "7")
    assert status == 1
    assert err == "error: di_bilstm: out of memory\n"
    first, *_, tops, bottoms, one, failed, other = out.splitlines()
    assert first.startswith("1,000 texts of the demo corpus, 15 words on average; ")
    assert len({len(line) for line in (tops, bottoms, one, failed, other)}) == 1
    assert " ".join(tops.split()) == "import load first 1 text 32 texts 200 texts peak model disk"
    assert bottoms.split()[:4] == ["run", "s", "s", "ms"]
    assert one.split()[:4] == ["dc_bilstm", "5.1", "0.46", "1,701"]
    assert one.split()[-4:-1] == ["19,531", "957", "166"]
    assert failed.split()[1:] == ["-"] * 13
    with output.open(newline="") as file:
        found = list(csv.DictReader(file))
    assert [row["run"] for row in found] == ["dc_bilstm", "dense_lstm_lm"]
    assert tuple(found[0]) == rows.COLUMNS[:-1]
    assert float(found[0]["p50_ms_32"]) == 1234.568
    assert (found[0]["repeats"], found[0]["source"], found[0]["calls_1"]) == ("7", "the demo corpus", "100")


def test_without_a_failure_the_status_is_0_and_without_a_success_no_file_is_written(answers, tmp_path, capsys):
    answers["dc_bilstm"] = result()
    output = tmp_path / "costs.csv"
    assert run_command(capsys, BUNDLES / "dc_bilstm")[0] == 0
    answers["dc_bilstm"] = process.WorkerError("out of memory")
    assert run_command(capsys, BUNDLES / "dc_bilstm", "--output", output)[0] == 1
    assert list(tmp_path.iterdir()) == []
    output.write_text("mine")
    status, out, err = run_command(capsys, BUNDLES / "dc_bilstm", "--output", output)
    assert (status, out) == (2, "")
    assert "is there already" in err
    assert run_command(capsys, BUNDLES / "dc_bilstm", "--output", output, "--overwrite")[0] == 1
    assert output.read_text() == "mine"
    answers["dc_bilstm"] = result()
    assert run_command(capsys, BUNDLES / "dc_bilstm", "--output", output, "--overwrite")[0] == 0
    assert output.read_text().startswith("run,kind,task,")


def test_texts_are_read_as_predict_reads_them(answers, tmp_path, capsys, monkeypatch):
    answers["dc_bilstm"] = result()
    seen = []
    monkeypatch.setattr(measure, "measure_in_fresh_process", lambda *_, texts, **__: seen.append(texts) or result())
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
        arguments = [BUNDLES / "dc_bilstm", "--texts", tmp_path / name, *options, "--output", output, "--overwrite"]
        assert run_command(capsys, *arguments)[0] == 0
        assert seen.pop() == texts
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
        ("a.txt", ["--text-column", "said"], "--text-column is for csv, tsv and jsonl; the input is text"),
        (None, ["--text-column", "said"], "say how --texts is written; name its file too"),
        (None, ["--repeats", "0"], "repeats must be an integer of at least 1; received 0"),
    ):
        own = ["--texts", tmp_path / name] if name else []
        status, out, err = run_command(capsys, BUNDLES / "dc_bilstm", *own, *options)
        assert (status, out) == (2, "")
        assert message in err
        assert err.count("\n") == 1
    assert seen == []


def test_results_call_a_folder_what_tells_it_apart_and_nothing_more():
    named = folders.names([Path("runs/a"), Path("/home/me/exports/trec/1"), Path("/home/me/exports/mr/1")])
    assert named == ["runs/a", "trec/1", "mr/1"]
    assert folders.names([Path("/home/me/one/run"), Path("/home/me/two/run")]) == ["one/run", "two/run"]
    assert folders.names([Path("/home/me/runs/trec")]) == ["trec"]


def test_bad_input_is_told_without_tensorflow():
    code = (
        "import sys\nfrom dense_lstm_zoo.cli import main\n"
        "assert main(['measure', 'nowhere']) == 2\nassert 'tensorflow' not in sys.modules\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stderr == "error: nowhere does not exist.\n"


@pytest.mark.slow
def test_fresh_processes_measure_a_bundle_and_its_export(exports, tmp_path):
    output = tmp_path / "costs.csv"
    runs = [str(BUNDLES / "dc_bilstm"), str(exports["dc_bilstm"])]
    broken = tmp_path / "broken"
    shutil.copytree(exports["dc_bilstm"], broken)
    (broken / "saved_model.pb").write_bytes(b"no graph")
    command = [sys.executable, "-m", "dense_lstm_zoo", "measure", runs[0], str(broken), runs[1], "--repeats", "5"]
    run = subprocess.run([*command, "--output", str(output)], capture_output=True, text=True)
    assert run.returncode == 1
    assert run.stderr.startswith("error: broken: ")
    assert run.stderr.count("\n") == 1
    with output.open(newline="") as file:
        bundle, export = csv.DictReader(file)
    assert (bundle["kind"], bundle["task"], bundle["model"]) == ("bundle", "classification", "dc_bilstm")
    assert (export["run"], export["kind"], export["task"], export["model"]) == (
        "dc_bilstm/1",
        "export",
        "classification",
        "",
    )
    for row in (bundle, export):
        assert row["calls_1"] == row["calls_200"] == "5"
        assert min(float(row[name]) for name in ("import_s", "load_s", "first_ms", "p50_ms_1", "texts_per_s")) > 0
        assert 300 < float(row["peak_mb"]) < 3000  # TensorFlow is in it
        assert 1 < float(row["added_mb"]) < float(row["peak_mb"]) - 200
    # A server of the export needs neither Keras nor this package's layers.
    assert float(export["peak_mb"]) < float(bundle["peak_mb"])


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_the_worker_ends_with_the_command(how):
    arguments = [sys.executable, "-m", "dense_lstm_zoo", "measure", str(BUNDLES / "dc_bilstm"), "--repeats", "100000"]
    command = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    children = Path(f"/proc/{command.pid}/task/{command.pid}/children")
    child = _wait_for(lambda: children.read_text().split())[0]
    time.sleep(3)  # into its imports
    command.send_signal(how)  # to the command alone; a terminal's Ctrl-C reaches both
    _, err = command.communicate(timeout=30)
    _wait_for(lambda: not Path(f"/proc/{child}").exists())
    if how == signal.SIGINT:
        assert (command.returncode, err) == (130, "\ninterrupted\n")


def _wait_for(condition):
    for _ in range(300):
        if found := condition():
            return found
        time.sleep(0.1)
    raise AssertionError("it took longer than 30 s")
