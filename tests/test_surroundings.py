"""Variables of the environment that libraries read: left over, or set for something else."""

import os
import signal
import socket
import threading

import pytest

from dense_lstm_zoo.search import fleet
from dense_lstm_zoo.search.surroundings import without_tuner_variables
from tests.fleet_harness import Serving, make_oracle, without_token

PROXIES = ("http_proxy", "https_proxy", "grpc_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "all_proxy")


@pytest.fixture
def proxy(monkeypatch):
    """A proxy that answers nobody, in every variable that could name one; its list of calls."""
    calls = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def listen():
            try:
                while True:
                    connection, _ = server.accept()
                    calls.append(connection.recv(100))
                    connection.close()
            except OSError:
                return

        threading.Thread(target=listen, daemon=True).start()
        for name in PROXIES:
            monkeypatch.setenv(name, f"http://127.0.0.1:{server.getsockname()[1]}")
        for name in ("no_proxy", "NO_PROXY", "no_grpc_proxy"):
            monkeypatch.delenv(name, raising=False)
        yield calls
        server.shutdown(socket.SHUT_RDWR)


def test_workers_reach_a_chief_past_any_proxy(proxy, tmp_path, monkeypatch):
    without_token(monkeypatch)
    serving = Serving(make_oracle(tmp_path))
    serving.start()
    fleet.wait_for_chief(serving.address, patience=10)
    client = fleet.Client(serving.oracle, serving.address, serving.token, patience=10)
    assert client.create_trial("worker1").status == "RUNNING"
    client.close()
    assert proxy == []


def test_beams_workers_reach_this_machine_past_any_proxy(proxy, monkeypatch):
    grpc = pytest.importorskip("grpc")
    pytest.importorskip("apache_beam")
    from concurrent import futures

    from dense_lstm_zoo.batch import beam_options

    monkeypatch.setenv("no_proxy", "intranet.example")
    server = grpc.server(futures.ThreadPoolExecutor(1))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    for host in ("localhost", "127.0.0.1"):
        with beam_options.without_proxy(), grpc.insecure_channel(f"{host}:{port}") as channel:
            grpc.channel_ready_future(channel).result(timeout=10)
            assert os.environ[beam_options._NO_PROXY].startswith("intranet.example,")
    assert beam_options._NO_PROXY not in os.environ
    assert proxy == []
    server.stop(None).wait()


def test_keras_tuners_variables_are_ignored_with_one_line_and_come_back(monkeypatch):
    variables = {"KERASTUNER_TUNER_ID": "chief", "KERASTUNER_ORACLE_IP": "127.0.0.1", "KERASTUNER_ORACLE_PORT": "8765"}
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    lines = []
    with without_tuner_variables(lines.append):
        assert not variables.keys() & os.environ.keys()
    assert {name: os.environ[name] for name in variables} == variables
    assert len(lines) == 1
    assert all(name in lines[0] for name in variables)


def test_a_fork_of_a_process_that_used_tensorflow_is_refused_and_does_not_hang(run):
    bundle, _ = run
    texts = ["good"]
    bundle.predict(texts)  # TensorFlow has run in this process
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        try:
            bundle.predict(texts)
        except RuntimeError as error:
            os.write(writer, str(error).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as answer:
        assert 'get_context("spawn")' in answer.read()
    assert os.waitpid(child, 0)[1] == 0
    bundle.predict(texts)


def test_a_sweep_needs_nothing_of_keras_tuners_variables(monkeypatch, tmp_path):
    from dense_lstm_zoo.search import sweep

    monkeypatch.setenv("KERASTUNER_TUNER_ID", "tuner0")
    monkeypatch.setenv("KERASTUNER_ORACLE_IP", "127.0.0.1")
    seen = []
    monkeypatch.setattr(sweep, "_search", lambda *_: seen.append("KERASTUNER_ORACLE_IP" in os.environ))
    monkeypatch.setattr(sweep, "finish", lambda *_: "done")
    from tests.fleet_harness import make_sweep

    assert sweep.run(make_sweep(), tmp_path / "sweep", False, say=lambda text: None) == "done"
    assert seen == [False]
