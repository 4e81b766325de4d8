"""The log of a training, and a training that has a limit of time."""

import os
import re
import subprocess
import sys
from types import SimpleNamespace

import pytest

from dense_lstm_zoo.display import notices
from dense_lstm_zoo.training import callbacks
from dense_lstm_zoo.training.callbacks import TimeLimit
from dense_lstm_zoo.training.epoch_log import EpochLog, duration, score
from tests.training_harness import interrupted, train


def table(output: str) -> list[str]:
    """The lines of the log that have columns."""
    return [line for line in output.splitlines() if re.match(r" +(epoch|[0-9]+/[0-9]+) ", line)]


@pytest.mark.parametrize(
    ("task", "unit"), [("classification", " %"), pytest.param("language_model", "", marks=pytest.mark.slow)]
)
def test_each_epoch_has_an_aligned_line_with_its_scores_and_a_star_if_it_is_the_best_so_far(
    tmp_path, capsys, task, unit
):
    bundle = train(tmp_path / "run", task, progress=True)
    header, *lines = table(capsys.readouterr().out)
    assert header.split() == ["epoch", "loss", "train", "dev", "time", "left"]
    assert {line.index("/") for line in lines} == {lines[0].index("/")}
    assert len({len(line) for line in (header, *lines)}) == 1
    sign = 1 if task == "classification" else -1
    best = None
    for line, (_, row) in zip(lines, bundle.history.iterrows(), strict=True):
        dev = row["val_accuracy" if task == "classification" else "val_perplexity"]
        cells = re.split(r"  +", line.strip())
        assert cells[0] == f"{row['epoch']:.0f}/3"
        assert cells[1] == f"{row['loss']:.4f}"
        assert cells[3].removesuffix(" *") == (f"{100 * dev:.1f}{unit}" if unit else f"{dev:.4g}")
        assert ("*" in line) == (best is None or sign * dev > sign * best)
        best = dev if "*" in line else best
    assert lines[-1].endswith(" 0.0 s")


@pytest.mark.slow
def test_a_resumed_run_says_how_far_it_was_and_lists_the_other_epochs(tmp_path, capsys):
    with interrupted(epoch=1, batch=2):
        train(tmp_path / "run", progress=True)
    capsys.readouterr()
    train(tmp_path / "run", progress=True)
    assert [line.split()[0] for line in table(capsys.readouterr().out)] == ["epoch", "2/3", "3/3"]


@pytest.mark.slow
def test_a_script_that_trains_prints_no_notice_of_tensorflow(tmp_path):
    environment = {name: value for name, value in os.environ.items() if name != "TF_CPP_MIN_LOG_LEVEL"}
    script = (
        "import sys, dense_lstm_zoo as zoo\n"
        "zoo.train('bilstm', 'demo', sys.argv[1], units=3, embedding_dim=4, epochs=1, progress=False)"
    )
    process = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "run")],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert (process.stdout, process.stderr) == ("", "")


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [("val_accuracy", 1.0, "100.0 %"), ("val_loss", 0.25, "0.25"), ("val_perplexity", 1.7e308, "1.7e+308")],
)
def test_scores_are_shown_in_their_units(name, value, text):
    assert score(name, value) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0.0 s"), (99.4, "99 s"), (100, "2 min"), (5399, "90 min"), (86_400, "24.0 h")]
)
def test_durations_are_shown_in_their_units(seconds, text):
    assert duration(seconds) == text


@pytest.mark.slow
def test_a_run_whose_time_is_over_ends_with_the_batch_and_saves_its_best_epoch(tmp_path, capsys):
    bundle = train(tmp_path / "run", progress=True, epochs=50, minutes=1e-4)
    assert len(bundle.history) == 1
    assert bundle.metrics["ended_by"] == "the time limit of 0.0001 minutes"
    assert bundle.metrics["test_accuracy"] > 0
    assert "ended by          the time limit of 0.0001 minutes" in capsys.readouterr().out
    assert "minutes" not in bundle.config["training"]


@pytest.mark.slow
def test_an_interrupted_run_counts_the_time_before_and_may_go_on_with_more(tmp_path, monkeypatch):
    with interrupted(epoch=1, batch=2):
        train(tmp_path / "run", minutes=60)
    ends = []

    def note_end(self, minutes, started, *others):
        ends.append(started + 60 * minutes)
        limit(self, minutes, started, *others)

    limit = TimeLimit.__init__
    monkeypatch.setattr(TimeLimit, "__init__", note_end)
    monkeypatch.setattr(callbacks.time, "monotonic", lambda: 1e9)
    bundle = train(tmp_path / "run", minutes=1000)
    assert len(bundle.history) == 3
    assert "ended_by" not in bundle.metrics
    assert 1e9 + 59_000 < ends[0] < 1e9 + 60_000


@pytest.mark.parametrize(("minutes", "left"), [(None, "10 min"), (2, "50 s"), (60, "10 min")])
def test_the_time_left_is_no_more_than_the_limit_leaves(monkeypatch, capsys, minutes, left):
    monkeypatch.setattr(callbacks.time, "monotonic", lambda: 70.0)
    row = {"loss": 0.5, "accuracy": 0.8, "val_accuracy": 0.7, "seconds": 60.0}
    checkpoint = SimpleNamespace(history=[row] * 2, monitor="val_accuracy", best_epoch=1)
    log = EpochLog(checkpoint, None if minutes is None else TimeLimit(minutes, 0.0, 1))
    log.set_params({"epochs": 12, "steps": 3})
    log.on_epoch_begin(1)
    log.on_epoch_end(1)
    assert capsys.readouterr().out.splitlines()[-1].endswith(f" 60 s   {left:>6}")


@pytest.mark.parametrize(("num_batches", "reading"), [(26, 0.0), (16, 100.0)])
def test_the_end_leaves_time_for_the_last_scores(monkeypatch, num_batches, reading):
    slow = [second for second in range(0, 20, 4) for second in (second, second + 4, second + 4)]
    clock = iter([*map(float, slow), 20.0, 21.5, 21.5])
    monkeypatch.setattr(callbacks.time, "monotonic", lambda: next(clock))
    limit = TimeLimit(1, 0.0, num_batches, reading)
    limit.set_model(type("Model", (), {"stop_training": False})())
    for batch in range(5):
        limit.on_train_batch_begin(batch)
        limit.on_train_batch_end(batch)  # slow ones, in which programs are compiled, say nothing of those to score
    assert not limit.model.stop_training
    limit.on_train_batch_begin(5)
    # Of 60 seconds, 21.5 are over. 26 batches of 1.5 seconds each are to be scored, or 16 whose texts take 15 to read.
    limit.on_train_batch_end(5)
    assert limit.model.stop_training
    assert limit.reason == "the time limit of 1 minutes"


@pytest.mark.parametrize("minutes", [0, -3, float("inf"), "3"])
def test_other_limits_are_refused_before_any_work(tmp_path, minutes):
    with pytest.raises((ValueError, TypeError), match="minutes must be"):
        train(tmp_path / "run", minutes=minutes)
    assert not list(tmp_path.iterdir())


def test_notices_are_hidden_and_all_else_that_is_written_meanwhile_comes_after_them(capfd):
    with notices.hidden():
        os.write(2, b"I0000 00:00:17 port.cc:153] oneDNN custom operations are on.\n")
        os.write(2, b"To enable the following instructions: AVX2, rebuild TensorFlow.\n")
        os.write(2, b"W0000 00:00:17 gpu_device.cc:2431] Cannot dlopen some GPU libraries.\n")
        os.write(2, b"a warning of Python's\n")
        assert capfd.readouterr().err == ""
    print("later", file=sys.stderr)
    lines = capfd.readouterr().err.splitlines()
    assert lines == [
        "W0000 00:00:17 gpu_device.cc:2431] Cannot dlopen some GPU libraries.",
        "a warning of Python's",
        "later",
    ]


def test_an_error_meanwhile_brings_the_standard_error_back(capfd):
    def fail():
        with notices.hidden():
            os.write(2, b"undefined symbol\n")
            raise ImportError

    with pytest.raises(ImportError):
        fail()
    os.write(2, b"later\n")
    assert capfd.readouterr().err == "undefined symbol\nlater\n"
