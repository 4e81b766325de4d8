"""Faults that are not a trial's: full disks, kills, lack of memory, late files. Nothing is lost, all is reported."""

import contextlib
import errno
import json
import os
import shutil
import signal
import sys
import threading
from pathlib import Path

import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo.search import process, trouble
from dense_lstm_zoo.search import trial as trials
from dense_lstm_zoo.search.progress import Progress
from dense_lstm_zoo.storage import files
from dense_lstm_zoo.storage.json_files import DamagedFileError
from tests.sweep_harness import FakeProcess, leave_trials
from tests.sweep_harness import sweep_rows as sweep


@pytest.fixture
def start(monkeypatch):
    return leave_trials(monkeypatch)


def test_a_disk_that_is_full_at_any_write_pauses_the_sweep_and_the_same_call_ends_as_if_nothing_had_been(
    start, tmp_path, monkeypatch
):
    one = {"space": {"units": [4], "dropout": [0.1]}}  # every trial is written alike
    expected = sweep(tmp_path / "whole", **one)
    real, writes_left = files.new_file, [0]

    @contextlib.contextmanager
    def new_file(path, mode="wb"):
        writes_left[0] -= 1
        if writes_left[0] == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        with real(path, mode) as file:
            yield file

    monkeypatch.setattr(files, "new_file", new_file)
    paused = 0
    for write in range(1, 200):
        folder = tmp_path / str(write)
        writes_left[0] = write
        with contextlib.suppress(OSError):
            assert sweep(folder, **one) == expected
            break  # it had fewer writes than the one that was to fail
        paused += 1
        writes_left[0] = -1
        assert sweep(folder, **one) == expected
    assert paused > 12
    writes_left[0] = 12
    with pytest.raises(
        trouble.SweepPausedError, match=r"^the sweep is paused: \[Errno 28\] .* The same command resumes it\."
    ):
        sweep(tmp_path / "said", **one)


def test_a_trial_without_room_is_not_a_failed_one(start, tmp_path):
    start.ends["0001", False] = [FakeProcess(process.PAUSED, "[Errno 28] No space left on device: 'x'")]
    with pytest.raises(trouble.SweepPausedError, match=r"paused: trial 0001: \[Errno 28\] No space .*: 'x'\. The"):
        sweep(tmp_path / "s")
    assert not (tmp_path / "s" / "trials" / "0001" / "result.json").exists()
    rows, _ = sweep(tmp_path / "s")
    assert [row["status"] for row in rows] == ["completed"] * 3
    assert [name for name, test in start.calls if not test] == ["0000", "0001", "0001", "0002"]


def test_a_trial_that_the_system_kills_pauses_the_sweep_and_counts_as_failed_after_three_times(start, tmp_path):
    start.ends["0001", False] = [FakeProcess(-signal.SIGKILL), FakeProcess(1), FakeProcess(-signal.SIGTERM)]
    with pytest.raises(trouble.SweepPausedError, match=r"0001: killed by SIGKILL: likely out of memory \(time 1;"):
        sweep(tmp_path / "s")
    (tmp_path / "s" / "trials" / "0001" / "log.txt").write_text("Traceback\nImportError: no such thing\n\n")
    with pytest.raises(trouble.SweepPausedError, match=r"status 1: ImportError: no such thing \(time 2;"):
        sweep(tmp_path / "s")
    rows, _ = sweep(tmp_path / "s")
    assert [row["status"] for row in rows] == ["completed", "completed", "failed"]
    assert rows[2]["reason"] == "killed by SIGTERM (3 times)"
    # Whoever finds the reason can have it run again.
    shutil.rmtree(tmp_path / "s" / "trials" / "0001")
    rows, _ = sweep(tmp_path / "s")
    assert [row["status"] for row in rows] == ["completed"] * 3


def test_a_trial_that_is_to_run_again_has_its_deaths_counted_anew(start, tmp_path):
    start.ends["0001", False] = [FakeProcess(-signal.SIGKILL) for _ in range(4)]
    for _ in range(2):
        with pytest.raises(trouble.SweepPausedError):
            sweep(tmp_path / "s")
    assert sweep(tmp_path / "s")[0][2]["reason"] == "killed by SIGKILL: likely out of memory (3 times)"
    (tmp_path / "s" / "trials" / "0001" / "result.json").unlink()
    with pytest.raises(trouble.SweepPausedError, match=r"\(time 1;"):
        sweep(tmp_path / "s")


class Running(FakeProcess):
    """A trial that runs until it is terminated."""

    def __init__(self):
        super().__init__(-signal.SIGTERM)
        self._ended = threading.Event()

    def wait(self):
        assert self._ended.wait(60)
        return self.returncode

    def terminate(self):
        self._ended.set()


def test_trials_that_run_at_a_time_leave_what_one_after_the_other_leaves(start, tmp_path):
    three = {"space": {"units": [4, 5, 6, 7, 8], "dropout": [0.1, 0.3]}, "workers": 3}
    rows, test = sweep(tmp_path / "s", **three)
    assert (rows, test) == sweep(tmp_path / "whole", **{**three, "workers": 1})
    assert len(rows) == 10
    assert not list((tmp_path / "s").glob("token*"))


def test_a_pause_ends_the_trials_that_run_beside_it_and_none_counts_as_failed(start, tmp_path):
    beside = Running()
    start.ends["0000", False] = [beside]
    start.ends["0001", False] = [FakeProcess(process.PAUSED, "[Errno 28] No space left on device: 'x'")]
    with pytest.raises(trouble.SweepPausedError, match=r"paused: trial 0001: \[Errno 28\] No space"):
        sweep(tmp_path / "s", workers=2)
    assert beside._ended.is_set()
    assert not list((tmp_path / "s" / "trials").glob("*/deaths.txt"))
    rows, _ = sweep(tmp_path / "s", workers=2)
    assert [row["status"] for row in rows] == ["completed"] * 3


def test_want_of_memory_is_tried_again_at_once_and_then_a_row_of_its_own(start, tmp_path):
    short = [FakeProcess(process.SHORT_OF_MEMORY, "out of memory: OOM when allocating") for _ in range(5)]
    start.ends["0000", False], start.ends["0001", False] = short[:2], short[2:]
    rows, _ = sweep(tmp_path / "s")
    assert {row["trial"]: row["reason"] for row in rows} == {
        "0000": "",
        "0001": "out of memory: OOM when allocating (3 times)",
        "0002": "",
    }


def test_a_crash_is_the_trials_own(start, tmp_path):
    start.ends["0002", False] = [FakeProcess(-signal.SIGSEGV)]
    rows, _ = sweep(tmp_path / "s")
    assert [row["reason"] for row in rows] == ["", "", "it crashed with SIGSEGV"]


def test_a_winner_that_cannot_be_scored_is_scored_the_next_time(start, tmp_path):
    start.ends["0001", True] = [FakeProcess(-signal.SIGKILL), FakeProcess(process.FAILED, "no such label")]
    for reason in ("killed by SIGKILL", "no such label"):
        with pytest.raises(trouble.SweepPausedError, match=f"winner, trial 0001, could not be scored on .*: {reason}"):
            sweep(tmp_path / "s")
    assert sweep(tmp_path / "s")[1]["test_accuracy"]["mean"] == 0.5


def test_a_winner_that_fails_when_it_is_trained_to_its_end_leaves_its_place_to_the_next(start, tmp_path):
    options = {"tuner": "hyperband", "epochs": 3, "space": {"units": [4, 6], "dropout": [0.1]}}
    expected, _ = sweep(tmp_path / "whole", **options)
    again = [name for name, test in start.calls if not test][-1]  # paused after its epochs, then trained to its end
    assert expected[0]["trial"] == again
    start.ends[again, False] = [None, FakeProcess(process.FAILED, "the loss became nan")]
    rows, test = sweep(tmp_path / "s", **options)
    assert (rows[-1]["trial"], rows[-1]["reason"]) == (again, "trained to its end: the loss became nan")
    assert rows[0]["status"] == "completed"
    assert test["test_accuracy"]["mean"] == 0.5


class Falling(FakeProcess):
    """A trial whose score has fallen at its end."""

    def __init__(self, folder):
        super().__init__()
        self._file = folder / "result.json"

    def wait(self):
        result = json.loads(self._file.read_text())
        self._file.write_text(json.dumps({**result, "dev_accuracy": 0.01}))
        return 0


def test_a_winner_whose_score_falls_at_its_end_leaves_its_place_to_the_next(start, tmp_path):
    options = {"tuner": "hyperband", "epochs": 3, "space": {"units": [4, 6], "dropout": [0.1]}}
    expected, _ = sweep(tmp_path / "whole", **options)
    paused = expected[0]["trial"]
    start.ends[paused, False] = [None, Falling(tmp_path / "s" / "trials" / paused)]
    start.calls.clear()
    rows, _ = sweep(tmp_path / "s", **options)
    assert rows[0]["trial"] != paused
    assert [name for name, is_test in start.calls if is_test] == [rows[0]["trial"]]
    assert [path.parent.name for path in (tmp_path / "s").glob("trials/*/runs")] == [rows[0]["trial"]]


def caused_by(cause):
    error = ValueError("the model could not be saved")
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "status", "words"),
    [
        (
            OSError(errno.ENOSPC, "No space left on device", "a.npz"),
            process.PAUSED,
            "[Errno 28] No space left on device:",
        ),
        (
            PermissionError(errno.EACCES, "Permission denied", "runs"),
            process.PAUSED,
            "[Errno 13] Permission denied: 'runs",
        ),
        (OSError("Unable to create file (file write failed: errno = 28)"), process.PAUSED, "Unable to create file"),
        (RuntimeError("can't flush: 'No space left on device'"), process.PAUSED, "RuntimeError: can't flush"),
        (caused_by(OSError(errno.EDQUOT, "Disk quota exceeded")), process.PAUSED, "the model could not be saved"),
        (DamagedFileError("spec.json is damaged: it is empty."), process.PAUSED, "spec.json is damaged"),
        (MemoryError("Unable to allocate 2 TiB"), process.SHORT_OF_MEMORY, "out of memory: Unable to allocate 2 TiB"),
        (ArithmeticError("the loss became nan"), process.FAILED, "the loss became nan"),
        (ValueError("units must be odd"), process.FAILED, "units must be odd"),
    ],
)
def test_a_trials_process_tells_whose_fault_it_is(error, status, words, tmp_path, monkeypatch):
    reader, write = os.pipe()
    monkeypatch.setenv("DENSE_LSTM_ZOO_WORDS_TO", str(write))
    monkeypatch.setattr(process, "end_with_parent", lambda: None)

    def run(folder):
        raise error

    monkeypatch.setattr(trials, "run", run)
    assert trials.main(tmp_path, test=False) == status
    assert os.read(reader, 4096).decode().startswith(words)
    assert list(tmp_path.iterdir()) == []
    os.close(reader)
    os.close(write)


def test_the_result_of_a_trial_that_was_scored_on_the_test_texts_is_final(tmp_path, monkeypatch):
    monkeypatch.setattr(process, "end_with_parent", lambda: None)
    monkeypatch.setattr(trials, "write_hparams", lambda *_: None)
    monkeypatch.setattr(trials, "run", lambda folder: {"dev_accuracy": 0.5})
    (tmp_path / trials.TEST).write_text("{}")
    assert trials.main(tmp_path, test=False) == 0
    assert json.loads((tmp_path / trials.RESULT).read_text()) == {"dev_accuracy": 0.5}
    monkeypatch.setattr(trials, "run", lambda folder: {"dev_accuracy": 0.1})  # only its bundle is gone
    assert trials.main(tmp_path, test=False) == 0
    assert json.loads((tmp_path / trials.RESULT).read_text()) == {"dev_accuracy": 0.5}


def test_a_child_can_say_why_it_ends_with_its_log_on_a_full_disk(tmp_path):
    (tmp_path / "full.log").symlink_to("/dev/full")
    (tmp_path / "child.py").write_text(
        "import sys\nfrom dense_lstm_zoo.search import process\nprocess.say_last('no room')\nsys.exit(process.PAUSED)\n"
    )
    path = os.pathsep.join([str(tmp_path), str(Path(zoo.__file__).parents[1])])
    child = process.Child("child", log=tmp_path / "full.log", environment={"PYTHONPATH": path})
    assert child.wait(timeout=60) == process.PAUSED
    assert child.last_words() == "no room"
    child.close()


@pytest.mark.parametrize(("place", "status"), [(None, 0), ("", 3)])
def test_a_child_imports_from_where_this_process_does(place, status, tmp_path, monkeypatch):
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "own_child.py").write_text("import queue\n")
    (tmp_path / "queue.py").write_text("raise SystemExit(3)\n")  # a module of Python's has this name
    monkeypatch.chdir(tmp_path)
    places = [] if place is None else [place]
    monkeypatch.setattr(sys, "path", [*places, str(tmp_path / "code"), *filter(None, sys.path)])
    child = process.Child("own_child", log=tmp_path / "log.txt")
    assert child.wait(timeout=60) == status
    child.close()


def test_a_result_that_shows_late_is_waited_for_and_one_that_never_does_is_told(start, tmp_path, monkeypatch):
    lines, now = [], [100.0]
    clock = type("Clock", (), {"monotonic": staticmethod(lambda: now[0]), "sleep": staticmethod(lambda s: tick(s))})
    late = tmp_path / "s" / "trials" / "0001" / "result.json"

    def tick(seconds):
        now[0] += seconds
        if now[0] > 160 and aside.exists():
            aside.rename(late)

    sweep(tmp_path / "s")
    aside = late.with_name("not yet visible")
    late.rename(aside)
    monkeypatch.setattr("dense_lstm_zoo.search.progress.time", clock)
    from dense_lstm_zoo.search.plan import Sweep, make_oracle_of
    from dense_lstm_zoo.search.settings import read_settings

    planned = Sweep.from_json(read_settings(tmp_path / "s"))
    oracle = make_oracle_of(planned, None)
    oracle.open(tmp_path / "s" / "oracle")
    progress = Progress(oracle, planned, tmp_path / "s", 1, 2, lines.append)
    progress.trial_ended(oracle.trials["0001"])
    progress.catch_up()  # once a second, while the chief answers workers
    assert len(lines) == 1
    progress.catch_up(wait=True)
    assert lines[1].startswith("trial 0001: ")
    late.unlink()
    progress.trial_ended(oracle.trials["0001"])
    with pytest.raises(trouble.SweepPausedError, match=r"result is not visible in .* after 90 s"):
        progress.catch_up(wait=True)
    assert now[0] < 400


def test_a_winner_of_which_a_run_is_missing_is_trained_to_its_end(start, tmp_path):
    sweep(tmp_path, seeds=2)
    winner = tmp_path / "trials" / "0001"
    result = json.loads((winner / "result.json").read_text())
    (winner / "result.json").write_text(json.dumps({**result, "runs": ["seed1", "seed2"]}))
    (winner / "test.json").unlink()
    start.calls.clear()
    sweep(tmp_path, seeds=2)  # a kill has left one of the two
    assert start.calls == [("0001", False), ("0001", True)]


def test_a_space_that_the_tuner_refuses_claims_no_folder(start, tmp_path, monkeypatch):
    def refuse(*arguments, **options):
        raise ValueError("no such space")

    monkeypatch.setattr("keras_tuner.oracles.BayesianOptimizationOracle.__init__", refuse)
    with pytest.raises(ValueError, match="no such space"):
        sweep(tmp_path / "sweep", tuner="bayesian", space={"units": [4, 6]})
    assert not (tmp_path / "sweep").exists()


def test_values_that_the_first_trial_does_not_have_are_in_the_table(start, tmp_path):
    options = {"space": {"num_dense_layers": [0, 5]}, "budget": "1.44M", "tuner": "grid", "progress": False}
    trials_table = zoo.tune("dc_bilstm", "demo", tmp_path, **options).trials
    assert {"num_dense_layers", "top_units", "dense_units"} <= set(trials_table.columns)
    assert trials_table.set_index("num_dense_layers").loc[5, "dense_units"] > 0
