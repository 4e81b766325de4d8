"""The standard streams of the commands."""

import sys

import pytest

from dense_lstm_zoo_runtime import screen


@pytest.mark.parametrize("name", ["stdin", "stdout", "stderr"])
def test_a_stream_that_the_shell_has_closed_is_opened(name, monkeypatch):
    monkeypatch.setattr(sys, name, None)
    screen.open_streams()
    if name == "stdin":
        assert list(sys.stdin.buffer) == []
    else:
        print("lost", file=getattr(sys, name))
        getattr(sys, name).flush()
    getattr(sys, name).close()
