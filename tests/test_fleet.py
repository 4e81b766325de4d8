"""Many workers: addresses, silence, and real processes on loopback that are really killed (slow)."""

import dataclasses
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo import machine
from dense_lstm_zoo.cli import main
from dense_lstm_zoo.search import chief, fleet, worker
from dense_lstm_zoo.search.plan import plan
from dense_lstm_zoo.search.settings import claim
from tests.fleet_harness import TOKEN, free_address, make_oracle, without_token
from tests.sweep_harness import make_quick


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    without_token(monkeypatch)


def end(oracle, trial, score=0.5):
    oracle.update_trial(trial.trial_id, {"dev_accuracy": score})
    trial.status = "COMPLETED"
    oracle.end_trial(trial)


def test_a_silent_workers_trial_goes_to_the_next_and_its_late_result_counts_once(tmp_path):
    oracle = make_oracle(tmp_path / "s")
    lost, other = oracle.create_trial("worker1"), oracle.create_trial("worker2")
    assert oracle.create_trial("worker1").trial_id == lost.trial_id  # a sign of life, and a restart
    assert oracle.requeue_silent(60) == []
    oracle.last_seen["worker1"] -= 100
    assert oracle.requeue_silent(60) == ["worker1"]
    end(oracle, other)
    assert oracle.create_trial("worker2").trial_id == lost.trial_id
    end(oracle, lost)  # worker 1 comes back at last
    assert oracle.end_order.count(lost.trial_id) == 1
    end(oracle, oracle.trials[lost.trial_id])
    assert oracle.end_order.count(lost.trial_id) == 1


def test_nobody_is_sent_home_while_a_trial_may_come_back(tmp_path):
    oracle = make_oracle(tmp_path / "s")
    mine = [oracle.create_trial(f"worker{i}") for i in (1, 2, 3)]
    for trial in mine[1:]:
        end(oracle, trial)
    assert oracle.create_trial("worker2").status == "IDLE"
    oracle.last_seen["worker1"] -= 100
    oracle.requeue_silent(60)
    again = oracle.create_trial("worker2")
    assert again.trial_id == mine[0].trial_id
    end(oracle, again)
    assert oracle.create_trial("worker2").status == "STOPPED"


def test_a_chief_that_comes_back_leaves_its_workers_their_trials(tmp_path):
    before = make_oracle(tmp_path / "s")
    mine = [before.create_trial(f"worker{i}").trial_id for i in (1, 2)]
    after = make_oracle(tmp_path / "s")
    assert [after.create_trial(f"worker{i}").trial_id for i in (2, 1)] == mine[::-1]
    assert after.create_trial("worker3").trial_id not in mine


@pytest.mark.parametrize("address", ["localhost", "", ":", "host:", "host:http", "host:70000", "host:-1", "a b:80"])
def test_addresses_are_checked(address):
    with pytest.raises(ValueError, match="An oracle's address is HOST:PORT"):
        chief.parse_address(address)


def test_without_a_host_only_this_machine_can_reach_the_chief():
    assert chief.parse_address("8000") == chief.parse_address(":8000") == ("127.0.0.1", 8000)
    assert chief.parse_address("[::1]:80") == ("[::1]", 80)
    assert [chief.is_loopback(host) for host in ("127.0.0.1", "localhost", "0.0.0.0", "[::]", "chief")] == [
        True,
        True,
        False,
        False,
        False,
    ]


def test_worker_ids_come_from_the_orchestrator(monkeypatch):
    for variable in ("JOB_COMPLETION_INDEX", "SLURM_ARRAY_TASK_ID"):
        monkeypatch.delenv(variable, raising=False)
    assert fleet.default_worker_id().endswith(f"-{os.getpid()}")
    monkeypatch.setenv("SLURM_ARRAY_TASK_ID", "7")
    assert fleet.default_worker_id() == "7"


def test_a_taken_port_and_an_oracle_that_is_not_there_are_told(tmp_path, capsys):
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        with pytest.raises(ValueError, match=r"The oracle cannot listen on 127\.0\.0\.1:.*the port is taken"):
            chief.serve(make_oracle(tmp_path / "s"), address, 60, TOKEN)
    with pytest.raises(ConnectionError, match=r"No oracle answered at 127.0.0.1:\d+ for 1 s"):
        fleet.wait_for_chief(free_address(), 1)
    command = ["tune", "bilstm", "--dataset", "demo", "--run-dir", str(tmp_path / "n"), "--search", "units=4,5"]
    assert main([*command, "--role", "worker"]) == 2
    assert "--role worker needs the chief's address: --oracle HOST:PORT" in capsys.readouterr().err
    assert not (tmp_path / "n").exists()


OPTIONS = {"space": {"units": [4, 5, 6, 7]}, "tuner": "grid", "batch_size": 20, "epochs": 5, "embedding_dim": 8}


def wait_until(condition, process, seconds=400):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.2)


def epochs_done(folder, trial):
    path = folder / "trials" / trial / "runs" / "seed1.unfinished" / "state.json"
    return len(json.loads(path.read_text())["history"]) if path.is_file() else 0


def children(pid):
    output = subprocess.run(["pgrep", "-P", str(pid), "-f", "search.trial"], capture_output=True, text=True).stdout
    return [int(line) for line in output.split()]


def test_a_worker_takes_the_trials_of_the_sweep_that_is_there_and_no_other(tmp_path, monkeypatch):
    make_quick(monkeypatch)
    monkeypatch.setattr("dense_lstm_zoo.search.fleet.wait_for_chief", lambda *_: None)
    monkeypatch.setattr("dense_lstm_zoo.search.fleet.workers_token", lambda *_: TOKEN)
    sweeps = []
    monkeypatch.setattr("dense_lstm_zoo.search.fleet.work", lambda folder, sweep, *_, **options: sweeps.append(sweep))
    planned = plan("bilstm", "demo", space={"units": [4]}, tuner="grid")
    sweep = dataclasses.replace(planned, data_sha256="1234")  # the chief has read the texts
    claim(tmp_path / "s", sweep).release()
    options = {"space": {"units": [4]}, "tuner": "grid", "oracle": "127.0.0.1:1", "progress": False}
    fleet.join("bilstm", "demo", tmp_path / "s", **options)
    assert [trial_sweep.to_json() for trial_sweep in sweeps] == [sweep.to_json()]
    with pytest.raises(ValueError, match=r"holds another sweep: seed was 1 and is 2\."):
        fleet.join("bilstm", "demo", tmp_path / "s", seed=2, **options)


@pytest.mark.parametrize(("workers", "threads"), [(0, None), (1, None), (2, "4"), (3, "2"), (9, "1")])
def test_trials_that_run_at_a_time_share_the_cores_and_a_chief_may_have_none(monkeypatch, workers, threads):
    monkeypatch.setattr(machine, "cores", lambda: 8)
    monkeypatch.delenv("TF_NUM_INTRAOP_THREADS", raising=False)
    assert worker.share_of_cores(workers).get("TF_NUM_INTRAOP_THREADS") == threads


@pytest.mark.parametrize(
    ("limit", "threads"),
    [("2", None), ("4", "4"), ("16", "4"), ("0", "4"), ("many", "4"), ("2,1", None), (" 2 , 8", None)],
)
def test_a_limit_of_the_users_own_is_not_raised(monkeypatch, limit, threads):
    monkeypatch.setattr(machine, "cores", lambda: 8)
    monkeypatch.setenv("OMP_NUM_THREADS", limit)
    assert worker.share_of_cores(2).get("OMP_NUM_THREADS") == threads


@pytest.mark.slow
def test_kill_9_of_a_sweep_with_two_workers_loses_nothing_and_leaves_no_process(tmp_path):
    folder = tmp_path / "s"
    code = f"import dense_lstm_zoo as zoo; zoo.tune('bilstm', 'demo', {str(folder)!r}, workers=2, **{OPTIONS!r})"
    process = subprocess.Popen([sys.executable, "-c", code])
    wait_until(lambda: epochs_done(folder, "0000") and epochs_done(folder, "0001"), process)
    assert not (folder / "token").exists()
    wait_until(lambda: len(list(folder.glob("trials/*/result.json"))) >= 1 and epochs_done(folder, "0002"), process)
    trials = children(process.pid)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    deadline = time.monotonic() + 30
    while any(Path(f"/proc/{trial}").exists() for trial in trials):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    results = {path: path.read_bytes() for path in folder.glob("trials/*/result.json")}
    subprocess.run([sys.executable, "-c", code], check=True, timeout=900)
    assert all(path.read_bytes() == before for path, before in results.items())
    assert "resuming an interrupted run after epoch" in "".join(
        path.read_text() for path in folder.glob("trials/*/log.txt")
    )
    table = pd.read_csv(folder / "results.csv")
    uninterrupted = zoo.tune("bilstm", "demo", tmp_path / "whole", progress=False, **OPTIONS)
    columns = ["units", "score"]
    pd.testing.assert_frame_equal(
        table.sort_values("units", ignore_index=True)[columns],
        uninterrupted.trials.sort_values("units", ignore_index=True)[columns],
        check_dtype=False,
    )


@pytest.mark.slow
def test_a_worker_that_never_comes_back_loses_its_trial_and_the_sweep_ends(tmp_path):
    folder, address = tmp_path / "s", free_address()
    command = [sys.executable, "-m", "dense_lstm_zoo", "tune", "bilstm", "--dataset", "demo", "--run-dir", str(folder)]
    command += ["--tuner", "grid", "--search", "units=4,5,6", "--batch-size", "20", "--epochs", "3"]
    command += ["--embedding-dim", "8", "--oracle", address, "--silence", "20"]
    chief = subprocess.Popen([*command, "--role", "chief"])
    lost, stays = (subprocess.Popen([*command, "--role", "worker", "--worker-id", name]) for name in ("a", "b"))
    wait_until(lambda: epochs_done(folder, "0000") and epochs_done(folder, "0001"), chief)
    lost.kill()
    lost.wait()
    assert chief.wait(timeout=600) == 0
    assert stays.wait(timeout=60) == 0
    table = pd.read_csv(folder / "results.csv")
    assert sorted(table["units"]) == [4, 5, 6]
    assert set(table["status"]) == {"completed"}
