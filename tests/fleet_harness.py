"""A chief in a thread, and the oracle of a small sweep."""

import threading

import grpc
from keras_tuner.src import protos

from dense_lstm_zoo.search import access, chief, fleet
from dense_lstm_zoo.search.plan import Sweep, make_oracle_of, plan
from dense_lstm_zoo.search.settings import claim
from dense_lstm_zoo.search.worker import TrialRunner
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
    TrialRunner(oracle, sweep, folder).save()
    return oracle


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
