"""deploy/runtime as a process of its own, over a real export: large bodies, many clients, stops, the load test."""

import contextlib
import csv
import json
import re
import signal
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.server_harness import PATIENCE, Running, eventually

FOLDER = Path(__file__).parents[1] / "deploy" / "runtime"
PREDICT = "/v1/predict"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def bundle():
    from tests import bundle_harness

    return bundle_harness.bundle("dc_bilstm")


@pytest.fixture(scope="module")
def export(bundle, tmp_path_factory):
    return bundle.export(tmp_path_factory.mktemp("exports") / "tiny", format="onnx")


SLEEPS = """
import runpy, time
from dense_lstm_zoo_runtime.serve import models
models.load = lambda *_: {"m": models.Model("m", "", "", (), False, {"predict": lambda texts: time.sleep(600)})}
runpy.run_module("dense_lstm_zoo_runtime.serve", run_name="__main__")
"""


@contextlib.contextmanager
def process(export, *arguments, run=("-m", "dense_lstm_zoo_runtime.serve")):
    """Run the server as a process. Yields it, its client and the lines of its ``stderr``."""
    command = [sys.executable, "-W", "error", *run, str(export), "--port=0", *arguments]
    with subprocess.Popen(command, cwd=FOLDER, stderr=subprocess.PIPE, text=True) as started:
        try:
            lines = iter(started.stderr.readline, "")
            port = next(int(match[1]) for line in lines if (match := re.search(r"running on http://\S+:(\d+)", line)))
            log = []
            threading.Thread(target=lambda: log.extend(lines), daemon=True).start()
            yield started, Running(port), log
        finally:
            started.kill()


def resident(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[1]) / 1024


def peak(pid):
    return int(re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[1]) / 1024


def test_a_measurement_that_cannot_begin_keeps_the_earlier_rows(tmp_path):
    (tmp_path / "rows.csv").write_text("earlier\n")
    command = [sys.executable, "measure.py", "--model", str(tmp_path / "none"), "--csv", str(tmp_path / "rows.csv")]
    ran = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True)
    assert ran.returncode == 1
    assert "does not exist" in ran.stderr
    assert (tmp_path / "rows.csv").read_text() == "earlier\n"


def test_answers_are_those_of_the_bundle(bundle, export):
    texts = ["The film was long .", "", "schön 😀 café", "x" * 500, "not bad but very short !"]
    with process(export) as (_, server, log):
        answers = server.ask(PREDICT, {"texts": texts}).json["predictions"]
        vectors = server.ask("/v1/embed", {"texts": texts}).json["vectors"]
    for answer, prediction, vector, wanted_vector in zip(
        answers, bundle.predict(texts), vectors, bundle.embed(texts).tolist(), strict=True
    ):
        assert answer["label"] == prediction.label
        assert answer["probabilities"] == pytest.approx(prediction.probabilities, abs=1e-5)
        assert vector == pytest.approx(wanted_vector, abs=1e-5)
    assert log == []


@pytest.mark.parametrize("declared", [True, False], ids=["with a length", "chunked"])
def test_a_text_of_ten_megabytes_is_refused_without_taking_memory(export, declared):
    body = json.dumps({"texts": ["x" * 10_000_000]}).encode()
    pieces = body if declared else (body[i : i + 65_536] for i in range(0, len(body), 65_536))
    with process(export) as (started, server, _):
        server.ask(PREDICT, {"texts": ["a"]})
        before = peak(started.pid)
        with contextlib.closing(server.connect()) as connection:
            connection.request("POST", PREDICT, pieces, encode_chunked=not declared)
            answer = connection.getresponse()
            assert (answer.status, "at most 1,048,576" in json.load(answer)["error"]) == (413, True)
        assert peak(started.pid) < before + 5
        assert server.ask(PREDICT, {"texts": ["a"]}).status == 200


def test_cut_connections_leave_no_memory_behind(export):
    body = json.dumps({"texts": ["word " * 1000] * 64}).encode()
    head = f"POST {PREDICT} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n".encode()

    def send_part(server, num_bytes):
        with socket.create_connection(("127.0.0.1", server.port), PATIENCE) as client:
            client.sendall(head + body[:num_bytes])

    with process(export) as (started, server, log):
        memory = []
        for _ in range(10):
            for size in (len(body), len(body) // 2) * 40:
                send_part(server, size)
            eventually(lambda: server.metric("zoo_requests_in_progress") == 1)
            memory.append(resident(started.pid))
        assert server.metric("zoo_queue_texts") == 0
        assert memory[-1] < memory[2] + 20  # a round sends 19 MB
        assert server.ask(PREDICT, {"texts": ["a"]}).status == 200
    assert log == []


def test_many_clients_get_their_own_answers(bundle, export):
    texts = [" ".join(["the", "film", "was", "very", "long", "!"][: 1 + i % 6] * (1 + i % 3)) for i in range(48)]
    expected = [prediction.probabilities for prediction in bundle.predict(texts)]

    def ask(server, i):
        with contextlib.closing(server.connect()) as connection:
            for k in range(i, i + 30):
                pair = [texts[k % 48], texts[(k + 1) % 48]]
                connection.request("POST", PREDICT, json.dumps({"texts": pair}).encode())
                predictions = json.load(connection.getresponse())["predictions"]
                for j, prediction in enumerate(predictions):
                    assert prediction["probabilities"] == pytest.approx(expected[(k + j) % 48], abs=1e-5)

    with process(export, "--workers=2") as (_, server, _), ThreadPoolExecutor(16) as clients:
        for future in [clients.submit(ask, server, i) for i in range(16)]:
            future.result(10 * PATIENCE)
        assert server.metric('zoo_texts_total{model="tiny",operation="predict"}') == 16 * 30 * 2


def test_sigterm_answers_what_is_in_progress_and_ends_the_process(export):
    body = {"texts": ["word " * 1500] * 100}
    with process(export, "--timeout=60") as (started, server, log), ThreadPoolExecutor(4) as clients:
        requests = [clients.submit(server.ask, PREDICT, body) for _ in range(4)]
        eventually(lambda: server.metric("zoo_queue_texts") > 100)
        started.send_signal(signal.SIGTERM)
        assert [each.result(PATIENCE).status for each in requests] == [200] * 4
        assert started.wait(PATIENCE) in (0, -signal.SIGTERM)
    assert not [line for line in log if "Traceback" in line or "Error" in line]


@pytest.mark.parametrize("signal_number", [signal.SIGTERM, signal.SIGINT])
def test_a_prediction_that_nobody_waits_for_does_not_keep_the_process(signal_number):
    with process("m", "--timeout=1", run=("-c", SLEEPS)) as (started, server, log):
        assert server.ask(PREDICT, {"texts": ["a"]}).status == 504
        started.send_signal(signal_number)
        assert started.wait(PATIENCE) in (0, -signal_number)
    assert not [line for line in log if "Traceback" in line or "Error" in line]


def test_requests_that_are_not_http_leave_the_server_well(export):
    with process(export) as (_, server, _):
        for content in (b"\x16\x03\x01\x02\x00", b"GET /\r\n\r\n", b"GET / HTTP/1.1\r\nA: " + b"a" * 100_000):
            with socket.create_connection(("127.0.0.1", server.port), PATIENCE) as client:
                client.sendall(content)
                with contextlib.suppress(ConnectionResetError):
                    assert client.recv(12) in (b"HTTP/1.1 400", b"")
        assert server.ask(PREDICT, {"texts": ["a"]}).status == 200


def test_a_model_that_cannot_be_loaded_ends_the_start_with_one_line(tmp_path):
    command = [sys.executable, "-m", "dense_lstm_zoo_runtime.serve", str(tmp_path / "missing")]
    ended = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True)
    assert ended.returncode == 2
    assert ended.stderr.startswith("error: ")
    assert "missing" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_the_load_test_writes_a_row_of_figures(export, tmp_path):
    table = tmp_path / "rows.csv"
    with process(export) as (_, server, _):
        for tokens in ("30", "1-60"):
            arguments = ["--requests=200", "--clients=4", "--warm-up=10", f"--tokens={tokens}", f"--csv={table}"]
            command = [sys.executable, "load.py", f"--url=http://127.0.0.1:{server.port}", *arguments]
            subprocess.run(command, cwd=FOLDER, check=True, capture_output=True)
        assert server.metric('zoo_texts_total{model="tiny",operation="predict"}') == 420
    rows = list(csv.DictReader(table.read_text().splitlines()))
    assert [row["tokens"] for row in rows] == ["30", "1-60"]
    assert {(row["requests"], row["not_200"]) for row in rows} == {("200", "0")}
    assert 0 < float(rows[0]["p50_ms"]) <= float(rows[0]["p99_ms"])
    assert "--requests=200" in rows[0]["command"]
    assert str(tmp_path) not in rows[0]["command"]


def test_the_figures_of_the_page_can_be_measured_again(export, tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = [f"--model={export}", f"--csv={tmp_path / 'rows.csv'}", f"--port={port}", "--only-last", "--requests=50"]
    subprocess.run([sys.executable, "measure.py", *options], cwd=FOLDER, check=True, capture_output=True)
    (row,) = csv.DictReader((tmp_path / "rows.csv").read_text().splitlines())
    assert (row["requests"], row["max_batch"], row["tokens"]) == ("50", "8", "30")


def test_the_server_needs_no_tensorflow(export):
    code = (
        "import sys; sys.modules.update(dict.fromkeys(['tensorflow', 'keras', 'dense_lstm_zoo'])); "
        "from dense_lstm_zoo_runtime.serve import app, models, settings; "
        "loaded = models.load({'tiny': sys.argv[1]}, 1); "
        "app.create_app(loaded, settings.Settings()); print(*loaded['tiny'].operations)"
    )
    ended = subprocess.run([sys.executable, "-c", code, export], cwd=FOLDER, capture_output=True, text=True, check=True)
    assert ended.stdout == "predict embed\n"
