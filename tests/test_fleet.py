"""Many workers: addresses, silence, wrong ports; and real processes on loopback that are really killed (slow)."""

import errno
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
import time

import grpc
import pandas as pd
import pytest
from keras_tuner.src import protos

import dense_lstm_zoo as zoo
from dense_lstm_zoo.cli import main
from dense_lstm_zoo.search import access, chief, fleet
from dense_lstm_zoo.search import trial as trials
from dense_lstm_zoo.search.oracles import UnknownTrialError
from dense_lstm_zoo.search.plan import Sweep, make_oracle_of, plan
from dense_lstm_zoo.search.settings import claim
from dense_lstm_zoo.search.worker import TrialRunner
from tests.sweep_harness import leave_result, make_quick

TOKEN = "a token of a test, not a secret"


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    make_quick(monkeypatch)
    monkeypatch.delenv(access.TOKEN_VARIABLE, raising=False)


def make_sweep(**options) -> Sweep:
    defaults = {"tuner": "grid", "space": {"units": [4, 5, 6]}, "budget": None, "seeds": 1, "folds": None, "seed": 1}
    return plan("bilstm", "demo", **{**defaults, "epochs": 2, "data": None, "recipe": None, **options})


def make_oracle(folder):
    sweep = make_sweep()
    claim(folder, sweep).release()
    oracle = make_oracle_of(sweep, None)
    TrialRunner(oracle, sweep, folder).save()
    return oracle


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
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(ValueError, match=r"The oracle cannot listen on 127\.0\.0\.1:.*the port is taken"):
            chief.serve(make_oracle(tmp_path / "s"), address, 60, TOKEN)
    with pytest.raises(ConnectionError, match=r"No oracle answered at 127.0.0.1:\d+ for 1 s"):
        fleet.wait_for_chief(fleet.free_address(), 1)
    command = ["tune", "bilstm", "--dataset", "demo", "--run-dir", str(tmp_path / "n"), "--search", "units=4,5"]
    assert main([*command, "--role", "worker"]) == 2
    assert "--role worker needs the chief's address: --oracle HOST:PORT" in capsys.readouterr().err
    assert not (tmp_path / "n").exists()


class Serving(threading.Thread):
    """A chief in a thread: its address, and, once it has ended, the error that it ended with."""

    def __init__(self, oracle, token=TOKEN):
        super().__init__(daemon=True)
        self.oracle, self.token, self.address, self.error = oracle, token, fleet.free_address(), None

    def run(self):
        try:
            chief.serve(self.oracle, self.address, 60, self.token)
        except Exception as error:
            self.error = error

    def stub(self, *interceptors):
        channel = grpc.intercept_channel(grpc.insecure_channel(self.address), *interceptors)
        grpc.channel_ready_future(grpc.insecure_channel(self.address)).result(30)
        return protos.get_service_grpc().OracleStub(channel)


def every_call(trial_id="0000"):
    """Requests of each of the service's calls; those that change something would change the first trial."""
    service, messages = protos.get_service(), protos.get_proto()
    space = messages.HyperParameters()
    space.space.int_space.add(name="layers", min_value=1, max_value=9)
    trial = messages.Trial(trial_id=trial_id, status=messages.TrialStatus.COMPLETED)
    return {
        "GetSpace": service.GetSpaceRequest(),
        "UpdateSpace": service.UpdateSpaceRequest(hyperparameters=space),
        "CreateTrial": service.CreateTrialRequest(tuner_id="stranger"),
        "UpdateTrial": service.UpdateTrialRequest(trial_id=trial_id, metrics={"dev_accuracy": 1.0}),
        "EndTrial": service.EndTrialRequest(trial=trial),
        "GetTrial": service.GetTrialRequest(trial_id=trial_id),
        "GetBestTrials": service.GetBestTrialsRequest(num_trials=1),
    }


def refusal(stub, call, request):
    with pytest.raises(grpc.RpcError) as error:
        getattr(stub, call)(request, timeout=20)
    return error.value.code().name


def shown(token):
    return access.TokenShown(token, 20)


def test_a_stranger_on_the_chiefs_port_is_refused_whatever_it_asks_for(tmp_path):
    oracle = make_oracle(tmp_path / "s")
    oracle.create_trial("worker1")
    state = oracle.get_state()
    serving = Serving(oracle)
    serving.start()
    requests = every_call()
    assert len(requests) == len(protos.get_service().DESCRIPTOR.services_by_name["Oracle"].methods)
    for interceptors in ([], [shown("x" * len(TOKEN))], [shown("")], [shown(TOKEN), shown("other")]):
        stub = serving.stub(*interceptors)
        assert {refusal(stub, *call) for call in requests.items()} == {"UNAUTHENTICATED"}
    assert oracle.get_state() == state
    assert oracle.trials["0000"].metrics.get_config() == {"metrics": {}}
    assert serving.is_alive()


def test_requests_that_no_worker_makes_are_refused_and_the_chief_goes_on_to_its_end(tmp_path, monkeypatch):
    folder = tmp_path / "s"
    oracle = make_oracle(folder)
    serving = Serving(oracle)
    serving.start()
    stub, service, messages = serving.stub(shown(TOKEN)), protos.get_service(), protos.get_proto()
    space = oracle.get_space().get_config()
    unknown = every_call("0099")
    for call in ("UpdateTrial", "EndTrial", "GetTrial"):
        assert refusal(stub, call, unknown[call]) == "NOT_FOUND"
    assert refusal(stub, "UpdateSpace", unknown["UpdateSpace"]) == "INVALID_ARGUMENT"
    assert refusal(stub, "CreateTrial", service.CreateTrialRequest()) == "INVALID_ARGUMENT"
    assert stub.CreateTrial(service.CreateTrialRequest(tuner_id="workerme")).trial.trial_id == "0000"
    for metrics in ({"dev_accuracy": float("nan")}, {"accuracy": 0.5}, {}, {"dev_accuracy": 0.5, "other": 1.0}):
        request = service.UpdateTrialRequest(trial_id="0000", metrics=metrics)
        assert refusal(stub, "UpdateTrial", request) == "INVALID_ARGUMENT"
    assert refusal(stub, "EndTrial", every_call("0000")["EndTrial"]) == "INVALID_ARGUMENT"  # it has no score
    for status in ("RUNNING", "STOPPED", "UNKNOWN"):
        ended = messages.Trial(trial_id="0000", status=messages.TrialStatus.Value(status))
        assert refusal(stub, "EndTrial", service.EndTrialRequest(trial=ended)) == "INVALID_ARGUMENT"
    # What a worker says of a trial's values does not count.
    stub.UpdateTrial(every_call("0000")["UpdateTrial"])
    ended = messages.Trial(trial_id="0000", status=messages.TrialStatus.COMPLETED)
    ended.hyperparameters.CopyFrom(unknown["UpdateSpace"].hyperparameters)
    stub.EndTrial(service.EndTrialRequest(trial=ended))
    assert oracle.get_space().get_config() == space
    assert oracle.trials["0000"].hyperparameters.values == {"units": 4}
    # And a worker comes, does the rest, and the chief ends.
    monkeypatch.setattr(trials, "start", lambda folder: leave_result(folder))
    sweep = fleet.read_sweep(folder)
    fleet.work(folder, sweep, serving.address, "me", TOKEN, heartbeat=1, patience=20)
    serving.join(timeout=60)
    assert not serving.is_alive()
    assert serving.error is None
    assert [trial.status for trial in oracle.trials.values()] == ["COMPLETED"] * 3
    assert oracle.trials["0000"].score == 1.0


def test_an_error_within_a_call_leaves_the_oracle_unlocked(tmp_path, monkeypatch):
    oracle = make_oracle(tmp_path / "s")
    trial = oracle.create_trial("worker1")
    unknown = type(trial)(trial.hyperparameters, "0099", "COMPLETED")
    with pytest.raises(UnknownTrialError, match="There is no trial '0099'"):
        oracle.end_trial(unknown)
    with pytest.raises(ValueError, match="Objective value missing"):
        oracle.update_trial(trial.trial_id, {})
    with monkeypatch.context() as patch:
        patch.setattr(oracle, "save", no_room)
        for call in (lambda: oracle.create_trial("worker2"), lambda: oracle.requeue_silent(0)):
            with pytest.raises(OSError, match="No space left"):
                call()
    answers = []
    other = threading.Thread(target=lambda: answers.append(oracle.create_trial("worker3")), daemon=True)
    other.start()
    other.join(timeout=20)
    assert len(answers) == 1


def no_room(*_):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_chief_without_room_tells_its_worker_and_ends_with_the_error(tmp_path, monkeypatch):
    oracle = make_oracle(tmp_path / "s")
    serving = Serving(oracle)
    serving.start()
    monkeypatch.setattr(oracle, "save", no_room)
    client = fleet.Client(oracle, serving.address, TOKEN, 20)
    with pytest.raises(ConnectionError, match=r"answered with an error: OSError: \[Errno 28\] No space left on device"):
        client.create_trial("worker1")
    client.close()
    serving.join(timeout=60)
    assert serving.error.errno == errno.ENOSPC


def test_a_worker_with_another_token_ends_with_one_line(tmp_path, capsys, monkeypatch):
    folder = tmp_path / "s"
    command = ["tune", "bilstm", "--dataset", "demo", "--run-dir", str(folder), "--tuner", "grid", "--epochs", "2"]
    command += ["--search", "units=4,5,6", "--role", "worker", "--oracle"]
    oracle = make_oracle(folder)
    serving = Serving(oracle, access.own_token(folder))
    serving.start()
    monkeypatch.setenv(access.TOKEN_VARIABLE, "another token than the chief's")
    assert main([*command, serving.address]) == 2
    error = capsys.readouterr().err
    assert error.startswith(
        f"error: The chief at {serving.address} refused this worker: this sweep's token is missing or"
    )
    assert error.count("\n") == 1
    assert "another token" not in error
    monkeypatch.setenv(access.TOKEN_VARIABLE, "short")
    assert main([*command, serving.address]) == 2
    assert "does not hold a token: it has 5 characters" in capsys.readouterr().err
    # With the folder's own token it is let in.
    monkeypatch.delenv(access.TOKEN_VARIABLE)
    monkeypatch.setattr(trials, "start", lambda folder: leave_result(folder))
    assert main([*command, serving.address]) == 0
    assert oracle.is_idle()


def test_a_token_is_made_once_for_its_owners_eyes_and_may_be_given(tmp_path, monkeypatch):
    mask = os.umask(0)
    try:
        token = access.own_token(tmp_path)
    finally:
        os.umask(mask)
    path = tmp_path / access.TOKEN_FILE
    assert len(token) >= 43  # 256 bits
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [child.name for child in tmp_path.iterdir()] == [access.TOKEN_FILE]
    path.chmod(0o644)
    assert access.own_token(tmp_path) == access.workers_token(tmp_path, 0) == token
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.write_text("")  # a kill while it was written
    assert access.own_token(tmp_path) not in ("", token)
    monkeypatch.setenv(access.TOKEN_VARIABLE, TOKEN)
    assert access.own_token(tmp_path / "other") == access.workers_token(tmp_path / "other", 0) == TOKEN
    assert not (tmp_path / "other").exists()
    monkeypatch.delenv(access.TOKEN_VARIABLE)
    with pytest.raises(FileNotFoundError, match=r"token does not exist: the chief writes it"):
        access.workers_token(tmp_path / "other", 0.1)


def test_two_chiefs_do_not_share_a_port(tmp_path):
    serving = Serving(make_oracle(tmp_path / "s"))
    serving.start()
    serving.stub()
    with pytest.raises(ValueError, match=r"The oracle cannot listen on .*: the port is taken"):
        chief.serve(make_oracle(tmp_path / "t"), serving.address, 60, TOKEN)


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
    found = subprocess.run(["pgrep", "-P", str(pid), "-f", "search.fleet"], capture_output=True, text=True).stdout
    return [int(line) for line in found.split()]


@pytest.mark.slow
def test_kill_9_of_a_worker_and_of_the_chief_lose_nothing(tmp_path):
    folder = tmp_path / "s"
    code = f"import dense_lstm_zoo as zoo; zoo.tune('bilstm', 'demo', {str(folder)!r}, workers=2, **{OPTIONS!r})"
    with (tmp_path / "out.txt").open("w") as output:
        chief = subprocess.Popen([sys.executable, "-c", code], stdout=output)
    wait_until(lambda: epochs_done(folder, "0000") and epochs_done(folder, "0001"), chief)
    os.kill(children(chief.pid)[0], signal.SIGKILL)
    wait_until(lambda: "is restarted" in (tmp_path / "out.txt").read_text(), chief)
    wait_until(lambda: len(list(folder.glob("trials/*/result.json"))) >= 2, chief)
    os.kill(chief.pid, signal.SIGKILL)
    chief.wait()
    kept = {path: path.read_bytes() for path in folder.glob("trials/*/result.json")}
    subprocess.run([sys.executable, "-c", code], check=True, timeout=900)
    assert all(path.read_bytes() == before for path, before in kept.items())
    assert "resuming an interrupted run after epoch" in "".join(
        path.read_text() for path in folder.glob("trials/*/log.txt")
    )
    table = pd.read_csv(folder / "results.csv")
    whole = zoo.tune("bilstm", "demo", tmp_path / "whole", progress=False, **OPTIONS)
    columns = ["units", "score"]
    pd.testing.assert_frame_equal(
        table.sort_values("units", ignore_index=True)[columns],
        whole.trials.sort_values("units", ignore_index=True)[columns],
        check_dtype=False,
    )


@pytest.mark.slow
def test_a_worker_that_never_comes_back_loses_its_trial_and_the_sweep_ends(tmp_path):
    folder, address = tmp_path / "s", fleet.free_address()
    command = [sys.executable, "-m", "dense_lstm_zoo", "tune", "bilstm", "--dataset", "demo", "--run-dir", str(folder)]
    command += ["--tuner", "grid", "--search", "units=4,5,6", "--batch-size", "20", "--epochs", "3"]
    command += ["--embedding-dim", "8", "--oracle", address, "--silence", "20"]
    chief = subprocess.Popen([*command, "--role", "chief"])
    gone, stays = (subprocess.Popen([*command, "--role", "worker", "--worker-id", name]) for name in ("a", "b"))
    wait_until(lambda: epochs_done(folder, "0000") and epochs_done(folder, "0001"), chief)
    gone.kill()
    gone.wait()
    assert chief.wait(timeout=600) == 0
    assert stays.wait(timeout=60) == 0
    table = pd.read_csv(folder / "results.csv")
    assert sorted(table["units"]) == [4, 5, 6]
    assert set(table["status"]) == {"completed"}
