"""Sweeps of real trials in their own processes, from the command line, and killing them."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo.cli import main

TINY = ["--batch-size", "400", "--epochs", "1", "--embedding-dim", "6"]


@pytest.mark.slow
def test_a_real_sweep_from_the_command_line(tmp_path, capsys):
    command = ["tune", "bilstm", "--dataset", "demo", "--run-dir", str(tmp_path / "s"), *TINY]
    assert main([*command, "--search", "unit=3,4"]) == 2
    assert "Did you mean 'units'" in capsys.readouterr().err
    command += ["--tuner", "grid", "--search", "units=3", "--seeds", "2"]
    assert main(command) == 0
    lines = capsys.readouterr().out.splitlines()
    assert re.match(r"trial 0000: units=3: dev_accuracy 0\.\d+, best 0\.\d+ \(trial 0000\), \d+ s$", lines[0])
    result = json.loads((tmp_path / "s" / "trials" / "0000" / "result.json").read_text())
    bundles = [zoo.load(tmp_path / "s" / "trials" / "0000" / "runs" / f"seed{seed}") for seed in (1, 2)]
    assert result["dev_accuracy"] == pytest.approx(np.mean([b.metrics["dev_accuracy"] for b in bundles]))
    assert not any("test_accuracy" in bundle.metrics for bundle in bundles)  # searched on dev alone
    test = json.loads((tmp_path / "s" / "trials" / "0000" / "test.json").read_text())["test_accuracy"]
    corpus = zoo.load_corpus("demo")
    assert test["runs"] == pytest.approx([bundle.evaluate(corpus.test)["accuracy"] for bundle in bundles])
    assert any(f"test_accuracy {test['mean']:.4f}" in line for line in lines)
    events = b"".join(path.read_bytes() for path in (tmp_path / "s" / "tensorboard" / "0000").iterdir())
    assert all(word in events for word in (b"_hparams_/session_start_info", b"units", b"dev_accuracy"))


@pytest.mark.slow
def test_a_file_of_ones_own_over_folds_and_a_trial_that_needs_all_memory(tmp_path, capsys):
    rows = [f"{word} film,{label}" for word, label in (("good", "pos"), ("bad", "neg")) for _ in range(40)]
    (tmp_path / "mine.csv").write_text("\n".join(["text,label", *rows]) + "\n")
    command = ["tune", "bilstm", "--dataset", "csv", "--train-file", str(tmp_path / "mine.csv"), *TINY, "--folds", "2"]
    command += ["--tuner", "grid", "--search", "units=3,400000", "--run-dir", str(tmp_path / "s")]
    assert main(command) == 0
    table = pd.read_csv(tmp_path / "s" / "results.csv", dtype={"trial": str})
    assert table["status"].tolist() == ["completed", "failed"]
    assert table["units"].tolist() == [3, 400_000]
    assert table["reason"].iloc[1].startswith("out of memory: ")
    runs = sorted((tmp_path / "s" / "trials" / table["trial"].iloc[0] / "runs").iterdir())
    assert [run.name for run in runs] == ["fold01_seed1", "fold02_seed1"]
    scores = [zoo.load(run).metrics["dev_accuracy"] for run in runs]
    assert table["score"].iloc[0] == pytest.approx(np.mean(scores))
    test = json.loads((runs[0].parents[1] / "test.json").read_text())["test_accuracy"]
    assert len(test["runs"]) == 2
    assert "out of memory" in capsys.readouterr().out


@pytest.mark.slow
def test_kill_9_of_a_sweep_loses_no_trial_and_the_running_one_goes_on(tmp_path):
    options = {"space": {"units": [4, 5, 6]}, "tuner": "grid", "batch_size": 20, "epochs": 6, "embedding_dim": 8}
    code = f"import dense_lstm_zoo as zoo; zoo.tune('bilstm', 'demo', {str(tmp_path / 's')!r}, **{options!r})"
    process = subprocess.Popen([sys.executable, "-c", code])
    state = tmp_path / "s" / "trials" / "0001" / "runs" / "seed1.unfinished" / "state.json"
    deadline = time.monotonic() + 300
    while not state.is_file() or len(json.loads(state.read_text())["history"]) < 2:
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.2)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    first = (tmp_path / "s" / "trials" / "0000" / "result.json").read_bytes()
    subprocess.run([sys.executable, "-c", code], check=True, timeout=600)
    assert (tmp_path / "s" / "trials" / "0000" / "result.json").read_bytes() == first
    log = (tmp_path / "s" / "trials" / "0001" / "log.txt").read_text()
    assert "resuming an interrupted run after epoch" in log
    table = pd.read_csv(tmp_path / "s" / "results.csv")
    assert sorted(table["units"]) == [4, 5, 6]
    uninterrupted = zoo.tune("bilstm", "demo", tmp_path / "whole", progress=False, **options)
    columns = ["units", "score"]
    pd.testing.assert_frame_equal(
        table.sort_values("units", ignore_index=True)[columns],
        uninterrupted.trials.sort_values("units", ignore_index=True)[columns],
        check_dtype=False,
    )


GRID = ["--tuner", "grid", "--search", "units=4,5", "--batch-size", "20", "--epochs", "6", "--embedding-dim", "8"]


def tune(folder, *options, **popen):
    command = [sys.executable, "-m", "dense_lstm_zoo", "tune", "bilstm", "--dataset", "demo", "--run-dir", str(folder)]
    return subprocess.Popen([*command, *GRID, *options], stderr=subprocess.PIPE, text=True, **popen)


def pids(pattern, parent):
    output = subprocess.run(["pgrep", "-P", str(parent), "-f", pattern], capture_output=True, text=True).stdout
    return [int(line) for line in output.split()]


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_a_trial_that_the_system_kills_pauses_the_sweep_and_goes_on_with_the_same_command(workers, tmp_path):
    options = ["--workers", str(workers)]
    process = tune(tmp_path / "s", *options)
    state = tmp_path / "s" / "trials" / "0000" / "runs" / "seed1.unfinished" / "state.json"
    deadline = time.monotonic() + 300
    while not state.is_file():
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.1)
    (trial,) = pids("search.trial.*/0000", process.pid)
    os.kill(trial, signal.SIGKILL)
    _, error = process.communicate(timeout=300)
    assert process.returncode == 2
    line = error.strip().split("\n")[-1]
    assert line.startswith("error: the sweep is paused: trial 0000: killed by SIGKILL: likely out of memory (time 1;")
    assert line.endswith("The same command resumes it.")
    assert "Traceback" not in error
    assert not (tmp_path / "s" / "trials" / "0000" / "result.json").exists()
    again = tune(tmp_path / "s", *options)
    _, error = again.communicate(timeout=900)
    assert again.returncode == 0, error
    assert "resuming an interrupted run after epoch" in (tmp_path / "s" / "trials" / "0000" / "log.txt").read_text()
    assert pd.read_csv(tmp_path / "s" / "results.csv")["status"].tolist() == ["completed"] * 2


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_a_full_disk_pauses_the_sweep_and_with_room_again_the_same_command_ends_it(workers, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["unshare", "-m", "sh", "-c"]
    if subprocess.run([*mount, f"mount -t tmpfs -o size=1M none {disk}"], capture_output=True).returncode:
        pytest.skip("a file system of our own cannot be mounted here")
    # The disk has room for one trial, its bundle and a bit of the next, then for all that is wanted.
    command = f"{sys.executable} -m dense_lstm_zoo tune bilstm --dataset demo --run-dir {disk}/s --workers {workers}"
    command = f"{command} {' '.join(GRID)} --keep 2"
    script = f"""
        mount -t tmpfs -o size=300k none {disk}
        {command} 2> {tmp_path}/first.err; echo $? > {tmp_path}/first
        ls {disk}/s/trials > {tmp_path}/begun
        grep -l reason {disk}/s/trials/*/result.json > {tmp_path}/failed
        mount -o remount,size=200M {disk}
        {command} 2> {tmp_path}/second.err; echo $? > {tmp_path}/second
        cp {disk}/s/results.csv {tmp_path}
    """
    subprocess.run([*mount, script], timeout=1200, check=True)
    error = (tmp_path / "first.err").read_text()
    assert (tmp_path / "first").read_text() == "2\n", error
    assert re.search(
        r"^error: the sweep is paused: .*No space left on device.*The same command resumes it\.$", error, re.M
    )
    assert "Traceback" not in error
    assert (tmp_path / "begun").read_text()
    assert (tmp_path / "failed").read_text() == ""
    assert (tmp_path / "second").read_text() == "0\n", (tmp_path / "second.err").read_text()
    table = pd.read_csv(tmp_path / "results.csv")
    assert sorted(table["units"]) == [4, 5]
    assert table["status"].tolist() == ["completed"] * 2
