"""Answers of a chief: nothing to strangers, no request that no worker makes, and its errors to its workers."""

import errno
import os
import stat
import threading

import grpc
import pytest

from dense_lstm_zoo.cli import main
from dense_lstm_zoo.search import access, chief, fleet
from dense_lstm_zoo.search import trial as trials
from dense_lstm_zoo.search.durable import UnknownTrialError
from tests.fleet_harness import TOKEN, Serving, make_oracle, without_token
from tests.sweep_harness import leave_result


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    without_token(monkeypatch)


# Requests of each of the service's methods; those that change something would change the first trial.
REQUESTS = {
    "create_trial": {"worker": "stranger"},
    "update_trial": {"trial": "0000", "metrics": {"dev_accuracy": 1.0}},
    "end_trial": {"trial": "0000", "status": "COMPLETED", "message": ""},
}


def refusal(call, method, *content, **fields):
    with pytest.raises(grpc.RpcError) as error:
        call(method, *content, **fields)
    return error.value.code().name


def with_token(token):
    return access.TokenShown(token, 20)


def test_a_stranger_on_the_chiefs_port_is_refused_whatever_it_asks_for(tmp_path):
    oracle = make_oracle(tmp_path / "s")
    oracle.create_trial("worker1")
    state = oracle.get_state()
    serving = Serving(oracle)
    serving.start()
    assert REQUESTS.keys() == set(chief.Service.METHODS)
    for interceptors in (
        [],
        [with_token("x" * len(TOKEN))],
        [with_token("")],
        [with_token(TOKEN), with_token("other")],
    ):
        call = serving.calls(*interceptors)
        assert {refusal(call, method, **fields) for method, fields in REQUESTS.items()} == {"UNAUTHENTICATED"}
    assert oracle.get_state() == state
    assert oracle.trials["0000"].metrics.get_config() == {"metrics": {}}
    assert serving.is_alive()


def test_requests_that_no_worker_makes_are_refused_and_the_chief_goes_on_to_its_end(tmp_path, monkeypatch):
    folder = tmp_path / "s"
    oracle = make_oracle(folder)
    serving = Serving(oracle)
    serving.start()
    call = serving.calls(with_token(TOKEN))
    space = oracle.get_space().get_config()
    for method in ("update_trial", "end_trial"):
        assert refusal(call, method, **{**REQUESTS[method], "trial": "0099"}) == "NOT_FOUND"
    assert refusal(call, "update_space", space=space) == "UNIMPLEMENTED"
    for content in (b"", b"{", b"[]", b"\xff", b"[" * 100_000):
        assert refusal(call, "create_trial", content) == "INVALID_ARGUMENT"
    for worker in (None, 1, "", "x" * 201):
        assert refusal(call, "create_trial", worker=worker) == "INVALID_ARGUMENT"
    assert call("create_trial", worker="workerme")["trial_id"] == "0000"
    scores = ({"dev_accuracy": float("nan")}, {"accuracy": 0.5}, {}, {"dev_accuracy": 0.5, "other": 1.0}, [0.5], None)
    for metrics in (*scores, {"dev_accuracy": "1"}, {"dev_accuracy": True}):
        assert refusal(call, "update_trial", trial="0000", metrics=metrics) == "INVALID_ARGUMENT"
    assert refusal(call, "end_trial", **REQUESTS["end_trial"]) == "INVALID_ARGUMENT"  # it has no score
    for status in ("RUNNING", "STOPPED", "UNKNOWN", None):
        assert refusal(call, "end_trial", trial="0000", status=status, message="") == "INVALID_ARGUMENT"
    # What a worker says of a trial's values does not count.
    call("update_trial", **REQUESTS["update_trial"])
    call("end_trial", **REQUESTS["end_trial"], hyperparameters={"values": {"units": 9}})
    assert oracle.get_space().get_config() == space
    assert oracle.trials["0000"].hyperparameters.values == {"units": 4}
    # And a worker comes, does the rest, and the chief ends.
    monkeypatch.setattr(trials, "start", lambda folder, **_: leave_result(folder))
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
    client = fleet.Client(serving.address, TOKEN, 20)
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
    monkeypatch.setattr(trials, "start", lambda folder, **_: leave_result(folder))
    assert main([*command, serving.address]) == 0
    assert oracle.is_over()


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
    serving.calls()
    with pytest.raises(ValueError, match=r"The oracle cannot listen on .*: the port is taken"):
        chief.serve(make_oracle(tmp_path / "t"), serving.address, 60, TOKEN)
