"""deploy/runtime: requests that come together, limits of time and room, clients that leave."""

import contextlib
import json
import socket
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.server_harness import PATIENCE, Classifier, eventually, running

PREDICT = "/v1/predict"


@pytest.fixture
def clients():
    with ThreadPoolExecutor(32) as pool:
        yield pool


@contextlib.contextmanager
def stopped(**settings):
    """A server whose only worker is stopped in its first batch, the text "first". The gate lets it go on."""
    model = Classifier()
    model.gate.clear()
    with running(model, **settings) as server, ThreadPoolExecutor(1) as pool:
        first = pool.submit(server.ask, PREDICT, {"texts": ["first"]})
        try:
            eventually(lambda: model.batches)
            yield server, model
        finally:
            model.gate.set()
        assert first.result(PATIENCE).status in (200, 504)


def waiting(server, texts):
    eventually(lambda: server.metric("zoo_queue_texts") == texts)


def test_requests_that_wait_together_are_predicted_together_and_get_their_own_answers(clients):
    with stopped(max_batch=8) as (server, model):
        bodies = [["a"], ["bb", "ccc"], ["dddd"]]
        requests = []
        for i, texts in enumerate(bodies):
            requests.append(clients.submit(server.ask, PREDICT, {"texts": texts}))
            waiting(server, sum(map(len, bodies[: i + 1])))
        assert server.ask("/healthz").status == 200  # a stopped model stops no one else
        model.gate.set()
        answers = [[p["label"] for p in each.result(PATIENCE).json["predictions"]] for each in requests]
    assert answers == [["odd"], ["even", "odd"], ["even"]]
    assert model.batches == [["first"], ["a", "bb", "ccc", "dddd"]]


def test_no_batch_is_larger_than_the_limit_and_large_requests_are_split(clients):
    with stopped(max_batch=4) as (server, model):
        texts = ["x" * i for i in range(11)]
        large = clients.submit(server.ask, PREDICT, {"texts": texts})
        waiting(server, 11)
        small = clients.submit(server.ask, PREDICT, {"texts": ["s"]})
        waiting(server, 12)
        model.gate.set()
        assert [p["label"] for p in large.result(PATIENCE).json["predictions"]] == ["even", "odd"] * 5 + ["even"]
        assert small.result(PATIENCE).status == 200
    assert model.batches[1:] == [texts[:4], texts[4:8], [*texts[8:], "s"]]


def test_a_text_waits_for_others_no_longer_than_until_the_batch_is_full(clients):
    model = Classifier()
    with running(model, max_batch=2, max_wait_ms=1000 * PATIENCE, timeout=2 * PATIENCE) as server:
        requests = [clients.submit(server.ask, PREDICT, {"texts": [text]}) for text in ("a", "b")]
        assert [each.result(PATIENCE / 2).status for each in requests] == [200, 200]
    assert sorted(map(sorted, model.batches)) == [["a", "b"]]


def test_a_text_without_company_is_answered_once_its_wait_is_over():
    with running(Classifier(), max_batch=2, max_wait_ms=20) as server:
        assert server.ask(PREDICT, {"texts": ["a"]}).status == 200


def test_a_text_that_makes_the_model_fail_fails_only_its_own_request(clients):
    with stopped() as (server, model):
        requests = [clients.submit(server.ask, PREDICT, {"texts": texts}) for texts in (["a"], ["x", "bad"], ["bb"])]
        waiting(server, 4)
        model.gate.set()
        answers = [each.result(PATIENCE) for each in requests]
        assert [answer.status for answer in answers] == [200, 500, 200]
        assert "fault inside" not in answers[1].error  # what went wrong inside is for the log
        assert answers[2].json["predictions"][0]["label"] == "even"
        assert server.ask(PREDICT, {"texts": ["a"]}).status == 200


def test_workers_predict_side_by_side(clients):
    with stopped(workers=2, max_batch=1) as (server, model):
        second = clients.submit(server.ask, PREDICT, {"texts": ["second"]})
        eventually(lambda: len(model.batches) == 2)
        model.gate.set()
        assert second.result(PATIENCE).status == 200


def test_a_full_queue_refuses_with_a_time_to_try_again_and_is_not_ready(clients):
    with stopped(max_queue=3, max_texts=3) as (server, model):
        answered = clients.submit(server.ask, PREDICT, {"texts": ["a", "b"]})
        waiting(server, 2)
        refused = server.ask(PREDICT, {"texts": ["a", "b"]})
        assert (refused.status, refused.headers["retry-after"]) == (503, "1")
        assert "2 texts are waiting" in refused.error
        assert server.ask("/readyz").status == 200
        last = clients.submit(server.ask, PREDICT, {"texts": ["c"]})
        waiting(server, 3)
        assert server.ask("/readyz").status == 503
        assert server.ask("/healthz").status == 200
        assert server.metric('zoo_rejected_total{reason="queue_full"}') == 2
        model.gate.set()
        assert (answered.result(PATIENCE).status, last.result(PATIENCE).status) == (200, 200)
        assert server.ask("/readyz").status == 200


def test_too_many_requests_are_refused_before_their_body_is_read(clients):
    with stopped(max_requests=2) as (server, model):
        second = clients.submit(server.ask, PREDICT, {"texts": ["a"]})
        waiting(server, 1)
        third = server.ask(PREDICT, b"not JSON")
        assert (third.status, third.headers["retry-after"]) == (503, "1")
        assert "2 requests are in progress" in third.error
        assert server.ask("/healthz").status == 200
        model.gate.set()
        assert second.result(PATIENCE).status == 200


def test_an_answer_that_takes_too_long_is_given_up_and_its_texts_leave_the_queue():
    with stopped(timeout=0.3) as (server, model):
        late = server.ask(PREDICT, {"texts": ["late", "later"]})
        assert late.status == 504
        assert "longer than 0.3 s" in late.error
        assert server.metric("zoo_queue_texts") == 0
    assert model.batches == [["first"]]


def test_a_body_that_does_not_come_is_given_up():
    half_request = b'POST /v1/predict HTTP/1.1\r\nHost: x\r\nContent-Length: 17\r\n\r\n{"texts"'
    with running(Classifier(), timeout=0.2) as server, socket.create_connection(("127.0.0.1", server.port)) as slow:
        slow.sendall(half_request)
        answer = slow.makefile("rb").read()
    assert answer.startswith(b"HTTP/1.1 408")
    assert b"after 0.2 s" in answer


@pytest.mark.parametrize("share", [1.0, 0.5], ids=["waiting", "sending"])
def test_a_cut_connection_leaves_no_work_behind(share):
    body = json.dumps({"texts": ["cut", "off"]}).encode()
    head = f"POST {PREDICT} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    with stopped() as (server, model):
        with socket.create_connection(("127.0.0.1", server.port), PATIENCE) as client:
            client.sendall(head + body[: int(len(body) * share)])
            if share == 1:
                waiting(server, 2)
            else:
                eventually(lambda: server.metric("zoo_requests_in_progress") == 3)
        waiting(server, 0)
        eventually(lambda: server.metric("zoo_requests_in_progress") == 2)  # "first", and the one that asks
        assert server.metric('zoo_requests_total{path="/v1/predict",status="499"}') == 1
        model.gate.set()
        assert server.ask(PREDICT, {"texts": ["next"]}).status == 200
    assert model.batches == [["first"], ["next"]]


def test_a_stop_answers_the_requests_in_progress_and_takes_no_new_ones(clients):
    model = Classifier()
    model.gate.clear()
    with running(model, max_batch=1) as server:
        requests = [clients.submit(server.ask, PREDICT, {"texts": [text]}) for text in ("a", "bb")]
        waiting(server, 1)
        clients.submit(lambda: (time.sleep(0.3), model.gate.set()))
    assert [each.result(PATIENCE).status for each in requests] == [200, 200]
    with pytest.raises(ConnectionRefusedError):
        server.ask("/healthz")


def test_a_stop_does_not_wait_for_a_batch_that_nobody_waits_for():
    model = Classifier()
    model.gate.clear()
    with running(model, timeout=0.2) as server:
        assert server.ask(PREDICT, {"texts": ["a"]}).status == 504
        began = time.monotonic()
    assert time.monotonic() - began < PATIENCE / 2  # the batch itself would take ``PATIENCE``
    model.gate.set()
