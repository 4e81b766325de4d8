"""deploy/runtime: answers, refusals and metrics of the HTTP server."""

import contextlib
import functools
import http.client
import itertools
import json
import re
import socket
import sys
import time
import types

import pytest

from dense_lstm_zoo_runtime.serve import protocol
from tests.server_harness import PATIENCE, Classifier, LanguageModel, Tagger, eventually, running


@pytest.fixture(scope="module")
def server():
    with running(
        Classifier(), Tagger(), LanguageModel(), max_texts=5, max_chars=20, max_body=400, max_batch=2
    ) as live_server:
        yield live_server


def test_texts_are_answered_in_order_by_the_first_model(server):
    answer = server.ask("/v1/predict", {"texts": ["a", "", "four", "schön 😀", "xx"]})
    assert answer.status == 200
    assert answer.headers["content-type"] == "application/json"
    assert [p["label"] for p in answer.json["predictions"]] == ["odd", "even", "even", "odd", "even"]
    assert answer.json["predictions"][0] == {
        "label": "odd",
        "probability": 0.75,
        "probabilities": {"even": 0.25, "odd": 0.75},
        "known_words": None,
    }
    assert server.ask("/v1/models/m0:predict", {"texts": ["a"]}).json == {
        "predictions": [answer.json["predictions"][0]]
    }


def test_no_texts_have_no_answers(server):
    assert server.ask("/v1/predict", {"texts": []}).json == {"predictions": []}


def test_taggers_take_texts_and_lists_of_tokens(server):
    answer = server.ask("/v1/models/m1:predict", {"texts": ["a b", ["New York", "is"], []]})
    assert [p["tokens"] for p in answer.json["predictions"]] == [["a", "b"], ["New York", "is"], []]
    assert answer.json["predictions"][1]["tags"] == ["X", "X"]


def test_language_models_answer_with_scores_whose_infinity_is_null(server):
    answer = server.ask("/v1/models/m2:predict", {"texts": ["a b"]})
    score = {"log_probability": -1.5, "perplexity": None, "tokens": 3, "unknown_words": 0}
    assert answer.json == {"predictions": [score]}


def test_classifiers_give_the_vectors_of_texts(server):
    assert server.ask("/v1/embed", {"texts": ["abc", ""]}).json == {"vectors": [[3.0, 0.5], [0.0, 0.5]]}
    assert server.ask("/v1/models/m0:embed", {"texts": ["ab"]}).json == {"vectors": [[2.0, 0.5]]}


def test_the_models_are_listed_with_what_they_can_do(server):
    first, second, _ = server.ask("/v1/models").json["models"]
    assert first == {
        "name": "m0",
        "task": "classification",
        "model": "dc_bilstm",
        "labels": ["even", "odd"],
        "operations": ["embed", "explain", "predict"],
    }
    assert second["operations"] == ["predict"]


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_health_can_be_asked_by_get_and_head(server, path):
    assert server.ask(path).status == 200
    head = server.ask(path, method="HEAD")
    assert (head.status, head.body) == (200, b"")


def test_the_description_names_every_path_and_answer(server):
    described = server.ask("/openapi.json").json["paths"]
    assert {"/v1/predict", "/v1/models/{name}:embed", "/v1/models", "/healthz", "/metrics"} < set(described)
    operation = described["/v1/models/{name}:predict"]["post"]
    assert {"200", "400", "404", "408", "413", "422", "503", "504"} <= set(operation["responses"])
    schema = operation["requestBody"]["content"]["application/json"]["schema"]
    assert schema["required"] == ["texts"]


@pytest.mark.parametrize(
    ("body", "status", "parts"),
    [
        (b'{"texts": ["a"', 400, ["not valid JSON", "line 1 column 14"]),
        (b"", 400, ["not valid JSON"]),
        (b'{"texts": ["\xff"]}', 400, ["not valid JSON"]),
        (b'{"texts": ["a", "b \\ud83d"]}', 422, ["texts[1] holds half of a character"]),
        (b'{"texts": "\\ud83d", "a": }', 400, ["not valid JSON"]),
        (b'{"texts": [NaN]}', 400, ["not valid JSON"]),
        (b"[" * 390, 400, ["not valid JSON", "recursion"]),
        (b'{"texts": ["a"], "texts": ["b"]}', 400, ["not valid JSON", "'texts'", "twice"]),
        (b'{"texts": ["a"], "\\u0074exts": ["b"]}', 400, ["not valid JSON", "'texts'", "twice"]),
        (b'["a"]', 422, ["must be an object", "['a'] (list)"]),
        (b'{"text": ["a"]}', 422, ["must be an object", "['text']"]),
        (b'{"texts": ["a"], "k": 1}', 422, ["one list", "['texts', 'k']"]),
        (b'{"texts": "a"}', 422, ["one list", "'a' (str)"]),
        (b'{"texts": ["a", 5]}', 422, ["texts[1] must be a string; received 5 (int)"]),
        (b'{"texts": [null]}', 422, ["texts[0] must be a string; received None (NoneType)"]),
        (b'{"texts": [["a"]]}', 422, ["texts[0] must be a string; received ['a'] (list)"]),
        (b'{"texts": ["a","a","a","a","a","a"]}', 413, ["has 6 texts", "at most 5"]),
        (b'{"texts": ["a", "123456789012345678901"]}', 413, ["texts[1] has 21 characters", "at most 20"]),
        (b'{"texts": ["' + b"a" * 400 + b'"]}', 413, ["has 415 bytes", "at most 400"]),
    ],
    ids=lambda value: value[:24].decode(errors="replace") if isinstance(value, bytes) else None,
)
def test_a_bad_body_is_refused_with_one_clear_error(server, body, status, parts):
    answer = server.ask("/v1/predict", body)
    assert answer.status == status
    for part in parts:
        assert part in answer.error
    assert server.ask("/v1/predict", {"texts": ["a"]}).status == 200


@pytest.mark.parametrize(
    ("sentence", "status", "part"),
    [(["a", 1], 422, "a string or a list of strings"), ([""] * 21, 413, "21 characters"), (["x" * 20], 413, "21")],
    ids=["number", "empty tokens", "long token"],
)
def test_a_bad_list_of_tokens_is_refused(server, sentence, status, part):
    answer = server.ask("/v1/models/m1:predict", {"texts": ["fine", sentence]})
    assert answer.status == status
    assert part in answer.error
    assert "texts[1]" in answer.error


@pytest.mark.parametrize("first", ["Content-Length", "Transfer-Encoding"])
def test_a_request_with_two_lengths_is_refused_and_its_connection_closed(server, first):
    lines = {"Content-Length": "Content-Length: 15", "Transfer-Encoding": "Transfer-Encoding: chunked"}
    head = ["POST /v1/predict HTTP/1.1", "Host: x", lines.pop(first), *lines.values()]
    body = "f\r\n" + '{"texts":["a"]}' + "\r\n0\r\n\r\n"
    smuggled = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
    with socket.create_connection(("127.0.0.1", server.port), PATIENCE) as connection:
        connection.sendall("\r\n".join([*head, "", body + smuggled]).encode())
        answer = response(connection).decode()
    assert answer.startswith("HTTP/1.1 400")
    assert "Send HTTP/1.1, with one length of the body," in json.loads(answer.rpartition("\r\n\r\n")[2])["error"]
    assert "connection: close" in answer.lower()
    assert answer.count("HTTP/1.1 ") == 1


@pytest.mark.parametrize("is_whole", [True, False], ids=["at once", "body later"])
def test_a_request_that_asks_for_another_protocol_is_answered_in_this_one(server, is_whole):
    wish = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA\r\n"
    head, _, body = raw_request("abc").partition(b"\r\n\r\n")
    with socket.create_connection(("127.0.0.1", server.port), PATIENCE) as connection:
        connection.sendall(head + b"\r\n" + wish + b"\r\n" + (body if is_whole else b""))
        if not is_whole:
            time.sleep(0.1)
            connection.sendall(body)
        connection.sendall(raw_request("bb"))
        connection.shutdown(socket.SHUT_WR)
        answer = response(connection)
    assert re.findall(rb'"label":"(\w+)"', answer) == [b"odd", b"even"]
    last = wish.replace(b"Upgrade,", b"Upgrade, close,")
    with socket.create_connection(("127.0.0.1", server.port), PATIENCE) as connection:
        connection.sendall(head + b"\r\n" + last + b"\r\n" + body + raw_request("bb"))  # which is not answered
        answer = response(connection)
    assert (answer[:12], re.findall(rb'"label":"(\w+)"', answer)) == (b"HTTP/1.1 200", [b"odd"])
    many = (b"GET /healthz HTTP/1.1\r\nHost: x\r\n" + wish + b"\r\n") * 1500  # in one piece, as it may arrive
    with socket.create_connection(("127.0.0.1", server.port), PATIENCE) as connection:
        connection.sendall(many)
        connection.shutdown(socket.SHUT_WR)
        assert response(connection).count(b"HTTP/1.1 200") == 1500
    with socket.create_connection(("127.0.0.1", server.port), PATIENCE) as connection:
        connection.sendall(b"CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n")
        assert response(connection).startswith(b"HTTP/1.1 400")


def test_a_client_that_reads_nothing_is_cut_off(monkeypatch):
    monkeypatch.setattr(protocol, "_PATIENCE", 0.2)
    body = json.dumps({"texts": ["a"] * 20_000}).encode()
    request = b"POST /v1/predict HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    limits = dict.fromkeys(("max_texts", "max_queue", "max_batch"), 20_000)
    with running(Classifier(), **limits) as server, socket.socket() as silent:
        silent.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        silent.connect(("127.0.0.1", server.port))
        with contextlib.suppress(ConnectionError):
            silent.sendall(request * 10)  # answers of 20 MB, more than the system keeps for it
        eventually(lambda: server.metric('zoo_requests_total{path="/v1/predict"') > 0)
        eventually(lambda: server.metric("zoo_requests_in_progress") == 1)  # this one
        assert server.ask("/v1/predict", {"texts": ["abc"]}).status == 200


def test_a_client_that_reads_slowly_is_not_cut_off():
    with socket.socket() as unconnected:  # the system holds nothing for it
        connection, later, aborts = looked_at(unconnected, iter([900, 600, 599, 0, 50, 50]))
        connection._check_reading()
        while later:
            later.pop()()
        assert not aborts  # it has read all
        connection._check_reading()
        later.pop()()
        assert aborts == ["now"]


@pytest.mark.skipif(sys.platform != "linux", reason="needs a system that says what it holds")
def test_a_client_that_reads_what_the_system_holds_for_it_is_not_cut_off():
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.socket() as client:
        client.connect(listener.getsockname())
        with listener.accept()[0] as server_end:
            server_end.setblocking(False)
            size = 0
            with contextlib.suppress(BlockingIOError):
                while True:
                    size += server_end.send(bytes(65_536))
            connection, later, aborts = looked_at(server_end, itertools.repeat(900))  # nothing moves up
            connection._check_reading()
            while size:
                size -= len(client.recv(65_536))
            later.pop()()
            assert not aborts
            while later:  # all is read: as soon as the last bytes are acknowledged, nothing is taken any more
                later.pop()()
            assert aborts == ["now"]


def looked_at(end, waiting):
    """A connection without a loop of events, the looks at it that are to come, and its aborts.

    Args:
        end: The server's end.
        waiting: How many bytes asyncio holds at each look.
    """
    later, aborts = [], []
    connection = protocol.HalfClosing.__new__(protocol.HalfClosing)
    connection.transport = types.SimpleNamespace(
        get_write_buffer_size=lambda: next(waiting),
        get_extra_info={"socket": end}.get,
        abort=lambda: aborts.append("now"),
    )
    handle = types.SimpleNamespace(cancel=lambda: None)
    connection.loop = types.SimpleNamespace(
        call_later=lambda _, *call: later.append(functools.partial(*call)) or handle
    )
    return connection, later, aborts


@pytest.mark.parametrize("lines", [1, 100], ids=["one line", "many"])
@pytest.mark.parametrize("is_whole", [True, False], ids=["whole", "endless"])
def test_headers_beyond_64_kib_are_refused_and_those_below_are_not(server, lines, is_whole):
    def answer_to(size):
        headers = "".join(f"X-{i}: {'a' * (size // lines)}\r\n" for i in range(lines))
        with socket.create_connection(("127.0.0.1", server.port), PATIENCE) as connection:
            end = "Connection: close\r\n\r\n" if is_whole or size < 65_536 else ""
            with contextlib.suppress(ConnectionError):  # the rest of what is refused is not read
                connection.sendall(f"GET /healthz HTTP/1.1\r\nHost: x\r\n{headers}{end}".encode())
            return response(connection).decode()

    assert answer_to(40_000).startswith("HTTP/1.1 200")
    for size in (100_000, 2_000_000):  # one is read at once
        with contextlib.suppress(ConnectionResetError):
            assert answer_to(size).startswith("HTTP/1.1 400")
    assert server.ask("/healthz").status == 200


def response(connection):
    """Everything that comes until the server closes the connection."""
    return b"".join(iter(lambda: connection.recv(65_536), b""))


def raw_request(text, version="1.1"):
    body = json.dumps({"texts": [text]})
    return f"POST /v1/predict HTTP/{version}\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_a_client_that_has_finished_sending_gets_its_answer(server, version):
    with socket.create_connection(("127.0.0.1", server.port), PATIENCE) as connection:
        connection.sendall(raw_request("abc", version))
        connection.shutdown(socket.SHUT_WR)
        answer = response(connection)
    assert answer.count(b"HTTP/1.1 200") == 1
    assert json.loads(answer.rpartition(b"\r\n\r\n")[2])["predictions"][0]["label"] == "odd"
    assert answer.count(b"HTTP/1.1 100") <= (version == "1.1")  # a client of HTTP/1.0 knows no interim answers


def test_a_client_that_has_finished_sending_gets_a_slow_answer_and_one_that_left_does_not_wait():
    model = Classifier()
    with running(model, max_batch=1) as server:
        model.gate.clear()
        with socket.create_connection(("127.0.0.1", server.port), PATIENCE) as connection:
            connection.sendall(raw_request("abc"))
            connection.shutdown(socket.SHUT_WR)
            eventually(lambda: len(model.batches) == 1)
            with socket.create_connection(("127.0.0.1", server.port), PATIENCE) as leaving:
                leaving.sendall(raw_request("leaves"))
                eventually(lambda: server.metric("zoo_queue_texts") == 1)
            eventually(lambda: server.metric("zoo_queue_texts") == 0)
            time.sleep(0.3)  # the first client is looked at several times, and not given up
            model.gate.set()
            reader = http.client.HTTPResponse(connection)  # which discards a 100, as every client must
            reader.begin()
            assert (reader.status, json.load(reader)["predictions"][0]["label"]) == (200, "odd")
    assert model.batches == [["abc"]]


def test_requests_sent_together_are_all_answered_after_the_client_has_finished(server):
    with socket.create_connection(("127.0.0.1", server.port), PATIENCE) as connection:
        connection.sendall(raw_request("a") + raw_request("bb") + raw_request("c"))
        connection.shutdown(socket.SHUT_WR)
        answer = response(connection)
    assert re.findall(rb'"label":"(\w+)"', answer) == [b"odd", b"even", b"odd"]


def test_a_request_that_ends_early_is_not_answered_and_leaves_nothing_behind(server):
    with socket.create_connection(("127.0.0.1", server.port), PATIENCE) as connection:
        connection.sendall(raw_request("a") + raw_request("bb")[:-4])
        connection.shutdown(socket.SHUT_WR)
        assert response(connection).count(b"HTTP/1.1 200") == 1
    eventually(lambda: server.metric("zoo_requests_in_progress") == 1)


@pytest.mark.parametrize("trailers", ["X: a\r\n" * 100_000, "X: " + "a" * 2_000_000], ids=["many", "endless"])
def test_trailers_after_a_body_are_limited_too(server, trailers):
    head = "POST /v1/predict HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    body = "".join(f"1\r\n{character}\r\n" for character in '{"texts":["abc"]}')
    with socket.create_connection(("127.0.0.1", server.port), PATIENCE) as connection:
        connection.sendall(f"{head}{body}0\r\nX: a\r\n\r\n".encode())
        assert b'"label":"odd"' in connection.recv(65_536)  # a few are no harm, nor are small chunks
        with contextlib.suppress(ConnectionError):
            connection.sendall(f"{head}{body}0\r\n{trailers}".encode())
        with contextlib.suppress(ConnectionResetError):
            assert b"headers are too long" in response(connection)
    eventually(lambda: server.metric("zoo_requests_in_progress") == 1)


def test_a_client_that_leaves_with_several_requests_open_leaves_no_work_behind():
    model = Classifier()
    with running(model, max_batch=1) as server:
        model.gate.clear()
        with socket.create_connection(("127.0.0.1", server.port), PATIENCE) as first:
            first.sendall(raw_request("first"))
            eventually(lambda: len(model.batches) == 1)
            with socket.create_connection(("127.0.0.1", server.port), PATIENCE) as leaving:
                leaving.sendall(raw_request("a") + raw_request("bb"))
                eventually(lambda: server.metric("zoo_queue_texts") == 1)
            eventually(lambda: server.metric("zoo_queue_texts") == 0)
            model.gate.set()
    assert model.batches == [["first"]]


def test_the_description_has_the_version_of_the_package(server):
    import dense_lstm_zoo_runtime

    assert server.ask("/openapi.json").json["info"]["version"] == dense_lstm_zoo_runtime.__version__


def test_a_wrong_method_is_told_the_right_one(server):
    answer = server.ask("/v1/predict", method="GET")
    assert (answer.status, answer.headers["allow"]) == (405, "POST")
    assert answer.error == "/v1/predict does not accept GET; use POST."
    assert server.ask("/v1/models", b"{}", "DELETE").headers["allow"] == "GET"


def test_an_unknown_path_model_or_operation_is_told_the_known_ones(server):
    path = server.ask("/v1/predikt", {"texts": []})
    assert (path.status, "Did you mean '/v1/predict'" in path.error) == (404, True)
    slash = server.ask("/v1/predict/", {"texts": []})
    assert (slash.status, "Did you mean '/v1/predict'" in slash.error) == (404, True)
    model = server.ask("/v1/models/m7:predict", {"texts": []})
    assert (model.status, "Accepted: m0, m1, m2." in model.error) == (404, True)
    operation = server.ask("/v1/models/m1:embed", {"texts": []})
    assert (operation.status, "tagging model 'm1'" in operation.error) == (404, True)


def test_a_body_without_a_length_is_limited_too(server):
    with contextlib.closing(server.connect()) as connection:
        connection.request("POST", "/v1/predict", iter([b"[" + b" " * 300, b" " * 300]), encode_chunked=True)
        assert connection.getresponse().status == 413


def test_a_client_that_asks_first_need_not_send_a_large_body(server):
    with socket.create_connection(("127.0.0.1", server.port), PATIENCE) as connection:
        connection.sendall(
            b"POST /v1/predict HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 500\r\n\r\n"
        )
        assert connection.recv(12) == b"HTTP/1.1 413"


def test_a_connection_is_used_again_after_answers_and_refusals(server):
    with contextlib.closing(server.connect()) as connection:
        statuses = []
        for body in (b'{"texts": ["a"]}', b"{", b'{"texts": [1]}', b'{"texts": ["b"]}'):
            connection.request("POST", "/v1/predict", body)
            connection.auto_open = 0  # a second connection would be an error
            answer = connection.getresponse()
            statuses.append((answer.status, len(answer.read()) > 0))
    assert [status for status, _ in statuses] == [200, 400, 422, 200]


def test_the_metrics_count_requests_texts_batches_and_refusals():
    with running(Classifier(), max_batch=2) as server:
        server.ask("/v1/predict", {"texts": ["a", "b", "c"]})
        server.ask("/v1/predict", b"{")
        server.ask("/v1/models/m0:embed", {"texts": ["a"]})
        server.ask("/made/up")
        assert server.metric('zoo_requests_total{path="/v1/predict",status="200"}') == 1
        assert server.metric('zoo_requests_total{path="/v1/predict",status="400"}') == 1
        assert server.metric('zoo_requests_total{path="/v1/models/{name}:embed",status="200"}') == 1
        assert server.metric('zoo_requests_total{path="other",status="404"}') == 1
        assert server.metric('zoo_texts_total{model="m0",operation="predict"}') == 3
        assert server.metric('zoo_batch_texts_count{model="m0",operation="predict"}') == 2
        assert server.metric('zoo_batch_texts_bucket{le="1.0",model="m0",operation="predict"}') == 1
        assert server.metric('zoo_request_seconds_count{path="/v1/predict"}') == 2
        assert server.metric('zoo_rejected_total{reason="not_json"}') == 1
        assert server.metric("zoo_queue_texts") == 0
        assert server.metric("zoo_requests_in_progress") == 1  # the one that asks
        assert server.metric("process_resident_memory_bytes") > 1e6
