"""The costs of trained models: right statistics, fresh processes and their ends. Those with TensorFlow are slow."""

import csv
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
from dense_lstm_zoo.measuring import latency, process, rows, served, worker

STUB = "tests.measure_worker"


class Model:
    """Predicts on a clock of its own: a batch that is new takes ten seconds more."""

    def __init__(self, seconds):
        self.now, self.seconds, self.warm_batches, self.calls = 0.0, iter(seconds), set(), []

    def clock(self):
        return self.now

    def predict(self, texts):
        self.calls.append(tuple(texts))
        self.now += next(self.seconds) if tuple(texts) in self.warm_batches else 10.0
        self.warm_batches.add(tuple(texts))


def test_percentiles_are_of_the_calls_behind_the_warm_up():
    seconds = np.random.default_rng(5).gamma(2.0, 0.01, size=40)
    model, texts = Model(seconds), [f"text {i}" for i in range(100)]
    costs = latency.time_calls(model.predict, texts, 3, 40, max_seconds=1e9, clock=model.clock)
    # 33 batches of 3 texts, each predicted once before; then 40 calls, which go round them.
    assert len(model.calls) == 33 + 40
    assert model.calls[:33] == model.calls[33:66]
    assert {len(call) for call in model.calls} == {3}
    cuts = statistics.quantiles(seconds, n=100, method="inclusive")
    assert (costs["p50_ms"], costs["p99_ms"]) == pytest.approx((1e3 * statistics.median(seconds), 1e3 * cuts[98]))
    assert costs["texts_per_s"] == pytest.approx(3 * 40 / sum(seconds))
    assert costs["calls"] == 40


def test_percentiles_of_a_hundred_known_calls():
    slowly = [0.0, 0.0] + [i / 1000 for i in range(1, 101)]  # one batch: two more calls warm it up
    model = Model(slowly)
    costs = latency.time_calls(model.predict, ["a"], 1, 100, clock=model.clock)
    assert (costs["p50_ms"], costs["p99_ms"]) == pytest.approx((50.5, 99.01))
    assert costs["texts_per_s"] == pytest.approx(100 / 5.05)


def test_a_slow_model_is_measured_a_minute_and_on_warm_batches_alone():
    model, texts = Model([7.0] * 100), [f"text {i}" for i in range(100)]
    costs = latency.time_calls(model.predict, texts, 2, 50, max_seconds=60, clock=model.clock)
    warm = model.calls[:6]  # ten seconds each
    assert len(set(warm)) == 6
    assert set(model.calls[6:]) == set(warm)
    assert costs["calls"] == 9  # the ninth ends after 63 seconds
    slower = Model([100.0] * 100)
    assert latency.time_calls(slower.predict, texts, 2, 50, max_seconds=60, clock=slower.clock)["calls"] == 3


def test_every_text_is_in_one_batch_and_too_few_are_repeated():
    texts = [str(i) for i in range(450)]
    batches = latency.batches(texts, 200, 100)
    assert [text for batch in batches for text in batch] == texts[:400]
    assert len(latency.batches(texts, 1, 100)) == 100
    (batch,) = latency.batches(texts[:3], 7, 100)
    assert batch == ["0", "1", "2", "0", "1", "2", "0"]


@pytest.fixture(scope="module")
def exports(tmp_path_factory, saved_bundle):
    """An export of each task's bundle."""
    folder = tmp_path_factory.mktemp("exports")
    names = ("dc_bilstm", "dense_lstm_lm", "gated_skip_tagger")
    return {name: zoo.load(saved_bundle(name)).export(folder / name / "1") for name in names}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dc_bilstm", "dense_lstm_lm", "gated_skip_tagger"])
def test_bundles_and_exports_of_every_task_predict_as_the_loaded_model(name, exports, saved_bundle):
    texts, bundle_in_memory = ["the film was n't good .", "it was very long"], zoo.load(saved_bundle(name))
    bundle, export = served.load_bundle(str(saved_bundle(name))), served.load_export(str(exports[name]))
    assert (bundle.model, export.model) == (name, "")
    assert bundle.task == export.task == bundle_in_memory.task.name
    one_by_one, served_at_once = bundle.predict(texts), export.predict(texts)
    if name == "dc_bilstm":
        labels = [prediction.label for prediction in bundle_in_memory.predict(texts)]
        assert [answer.label for answer in one_by_one] == labels == [x.decode() for x in served_at_once["label"]]
    elif name == "dense_lstm_lm":
        perplexities = [score.perplexity for score in bundle_in_memory.score(texts)]
        np.testing.assert_allclose([answer.perplexity for answer in one_by_one], perplexities, rtol=1e-4)
        np.testing.assert_allclose(served_at_once["perplexity"], perplexities, rtol=1e-4)
    else:
        tags = [tag for sentence in bundle_in_memory.predict(texts) for tag in sentence.tags]
        assert [tag for answer in one_by_one for tag in answer.tags] == tags
        rows = zip(served_at_once["tags"], served_at_once["row_lengths"], strict=True)
        assert [tag.decode() for row, length in rows for tag in row[:length]] == tags


@pytest.mark.slow
def test_a_run_is_measured_from_its_import_to_its_last_call(saved_bundle):
    path, texts = str(saved_bundle("dc_bilstm")), ["a fine film .", "", "half a \ud800 pair"]
    costs = worker.measure_run("bundle", path, texts, [1, 4], 5)
    assert (costs["task"], costs["model"], costs["warnings"]) == ("classification", "dc_bilstm", [])
    times = [costs[name] for name in ("import_s", "load_s", "first_ms", "p50_ms_1", "p99_ms_4", "texts_per_s")]
    assert min(times) > 0
    assert costs["calls_1"] == costs["calls_4"] == 5
    assert all(costs[f"p50_ms_{size}"] <= costs[f"p99_ms_{size}"] for size in (1, 4))
    # This process is not fresh: it may have held more before.
    assert 0 <= costs["added_mb"] < costs["peak_mb"]
    assert set(costs) - {"warnings"} <= {*rows.COLUMNS, "p50_ms_4", "p99_ms_4", "calls_4"}


def test_an_error_of_the_worker_is_told_in_a_line():
    assert process.reason(ValueError("no such bundle")) == "no such bundle"
    assert process.reason(MemoryError()) == "out of memory"
    assert process.reason(RuntimeError("\n  it broke\nhere")) == "RuntimeError: it broke"


def test_a_saved_model_of_another_maker_is_refused_where_it_is_loaded(tmp_path):
    module = tf.Module()
    module.serve = tf.function(lambda text: {"other": text}, input_signature=[tf.TensorSpec((None,), tf.string)])
    tf.saved_model.save(module, str(tmp_path), {"serving_default": module.serve})
    with pytest.raises(ValueError, match="not an export of this package: its signature serving_default returns other"):
        served.load_export(str(tmp_path))


def ask(path, timeout=20.0, texts=("a",)):
    return process.measure_in_fresh_process(timeout, STUB, path=path, texts=list(texts))


def test_a_fresh_process_does_not_count_the_memory_of_the_one_that_started_it():
    answer = ask("answer", texts=["x" * 1000] * 2000)  # more than a pipe holds
    assert answer["texts"] == 2000
    assert 5 < answer["resident_mb"] <= answer["peak_mb"] < 150
    assert machine.peak_mb() > 300  # TensorFlow is in this one
    assert machine.resident_mb() <= machine.peak_mb()


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("error", "^the weights are wrong$"),
        ("crash", "ended with status 1: thing$"),
        ("half", "ended with status 3: no output$"),
        ("killed", "was killed, as systems do when memory runs out"),
    ],
)
def test_a_worker_that_fails_or_dies_is_told_of_at_once(path, message):
    with pytest.raises(process.WorkerError, match=message):
        ask(path)


def test_a_worker_that_takes_too_long_is_stopped():
    with pytest.raises(process.WorkerError, match=r"took longer than 1.5 s and was stopped; .*--timeout"):
        ask("hang", timeout=1.5)


def test_ctrl_c_ends_the_worker(monkeypatch):
    workers = []

    def interrupted(worker, request):
        workers.append(worker)
        raise KeyboardInterrupt

    monkeypatch.setattr(process.Worker, "_answer", interrupted)
    with pytest.raises(KeyboardInterrupt):
        ask("hang")
    assert workers[0]._process.returncode == -signal.SIGKILL


@pytest.mark.slow
def test_fresh_processes_measure_a_bundle_and_its_export(exports, saved_bundle, tmp_path):
    output = tmp_path / "costs.csv"
    runs = [str(saved_bundle("dc_bilstm")), str(exports["dc_bilstm"])]
    damaged = tmp_path / "broken"
    shutil.copytree(exports["dc_bilstm"], damaged)
    (damaged / "saved_model.pb").write_bytes(b"no graph")
    command = [sys.executable, "-m", "dense_lstm_zoo", "measure", runs[0], str(damaged), runs[1], "--repeats", "5"]
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


def _hear_ctrl_c():
    """Undo what ``nohup`` does to pytest and its children."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.mark.slow
@pytest.mark.parametrize("signal_number", [signal.SIGINT, signal.SIGKILL])
def test_the_worker_ends_with_the_command(signal_number, saved_bundle):
    arguments = ["measure", str(saved_bundle("dc_bilstm")), "--repeats", "100000"]
    command = [sys.executable, "-m", "dense_lstm_zoo", *arguments]
    command = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=_hear_ctrl_c,
    )
    children = Path(f"/proc/{command.pid}/task/{command.pid}/children")
    child = _wait_for(lambda: children.read_text().split())[0]
    time.sleep(3)  # into its imports
    command.send_signal(signal_number)  # to the command alone; a terminal's Ctrl-C reaches both
    _, err = command.communicate(timeout=120)
    _wait_for(lambda: not Path(f"/proc/{child}").exists())
    if signal_number == signal.SIGINT:
        assert (command.returncode, err) == (130, "\ninterrupted\n")


def _wait_for(condition):
    for _ in range(300):
        if value := condition():
            return value
        time.sleep(0.1)
    raise AssertionError("it took longer than 30 s")
