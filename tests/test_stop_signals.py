"""A signal that ends a training run comes after a save."""

import os
import signal

import keras
import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo.training import stop_signals
from dense_lstm_zoo.training.stop_signals import StopSignals
from tests.saving_harness import same_weights


class Ended(BaseException):
    """The end of the process, in a test."""


@pytest.fixture
def ends(monkeypatch):
    def end(number):
        raise Ended(number)

    monkeypatch.setattr(stop_signals.signal, "raise_signal", end)


class Kill(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        os.kill(os.getpid(), signal.SIGTERM)


@pytest.mark.slow
def test_a_run_that_is_terminated_in_its_first_epoch_resumes_from_there(tmp_path, ends, capsys):
    split = zoo.Split(["good film", "bad film"] * 20, [1, 0] * 20)
    corpus = zoo.Corpus("tiny", ("neg", "pos"), split, split, None)
    options = {"units": 2, "embedding_dim": 3, "batch_size": 10, "epochs": 1}
    with pytest.raises(Ended):
        zoo.train("bilstm", corpus, tmp_path / "run", callbacks=[Kill()], progress=False, **options)
    assert (tmp_path / "run.unfinished" / "state.json").is_file()
    bundle = zoo.train("bilstm", corpus, tmp_path / "run", **options)
    assert "resuming an interrupted run after batch 1 of epoch 1" in capsys.readouterr().out
    uninterrupted = zoo.train("bilstm", corpus, tmp_path / "whole", progress=False, **options)
    assert same_weights(bundle, uninterrupted)


def test_signals_that_a_program_handles_or_ignores_are_left_alone():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with StopSignals():
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
            assert signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_second_signal_ends_at_once(ends):
    with StopSignals():
        os.kill(os.getpid(), signal.SIGTERM)
        with pytest.raises(Ended):
            os.kill(os.getpid(), signal.SIGTERM)
