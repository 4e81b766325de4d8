"""A chief in a thread, and the oracle of a small sweep."""

import json
import socket
import threading

import grpc

from dense_lstm_zoo.search import access, chief
from dense_lstm_zoo.search.plan import Sweep, make_oracle_of, plan
from dense_lstm_zoo.search.settings import claim
from tests.sweep_harness import make_quick

TOKEN = "a token of a test, not a secret"


def without_token(monkeypatch):
    """Quick sweeps, whose token is not the one of this machine's environment."""
    make_quick(monkeypatch)
    monkeypatch.delenv(access.TOKEN_VARIABLE, raising=False)


def make_sweep(**options) -> Sweep:
    defaults = {"tuner": "grid", "space": {"units": [4, 5, 6]}, "budget": None, "seeds": 1, "folds": None, "seed": 1}
    return plan("bilstm", "demo", **{**defaults, "epochs": 2, "data": None, "recipe": None, **options})


def make_oracle(folder):
    sweep = make_sweep()
    claim(folder, sweep).release()
    oracle = make_oracle_of(sweep, None)
    oracle.open(folder / "oracle")
    return oracle


def free_address():
    """An address on this machine whose port is currently free."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{probe.getsockname()[1]}"


class Serving(threading.Thread):
    """A chief in a thread: its address, and, once it has ended, the error that it ended with."""

    def __init__(self, oracle, token=TOKEN):
        super().__init__(daemon=True)
        self.oracle, self.token, self.address, self.error = oracle, token, free_address(), None

    def run(self):
        try:
            chief.serve(self.oracle, self.address, 60, self.token)
        except Exception as error:
            self.error = error

    def calls(self, *interceptors):
        """A function that calls a method of the chief with fields, or with raw bytes."""
        grpc.channel_ready_future(grpc.insecure_channel(self.address)).result(30)
        channel = grpc.intercept_channel(grpc.insecure_channel(self.address), *interceptors)

        def call(method, content=None, **fields):
            request = json.dumps(fields).encode() if content is None else content
            return json.loads(channel.unary_unary(f"/{chief.SERVICE}/{method}")(request, timeout=20))

        return call
