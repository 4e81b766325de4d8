"""A graph that fails on a text, as a stranger's may, is told in one line. The server answers other requests."""

import os
import subprocess
import sys

import pytest

from dense_lstm_zoo.cli import main as zoo_main
from dense_lstm_zoo_runtime import Predictor, faults, features, graph
from dense_lstm_zoo_runtime.command import main
from dense_lstm_zoo_runtime.serve.__main__ import main as serve
from tests.bundle_harness import bundle
from tests.server_harness import running
from tests.test_runtime_exports import seal


@pytest.fixture
def with_words(tmp_path, monkeypatch):
    """Returns an export that knows more words than its graph, which is not tried when it is loaded."""
    monkeypatch.setattr(features.BatchedGraph, "_try", lambda *_: None)

    def _with_words(*words):
        folder = bundle("bilstm").export(tmp_path / "odd", format="onnx")
        with (folder / "vocabulary.txt").open("a") as file:
            file.writelines(f"{word}\n" for word in words)
        seal(folder)
        return folder

    return _with_words


def test_the_graph_and_its_reason_are_told(with_words):
    folder = with_words("more")
    predictor = Predictor(folder)
    with pytest.raises(RuntimeError, match=r"odd/model\.onnx failed: .*out of data bounds") as raised:
        predictor.predict(["one more"])
    assert "\n" not in str(raised.value)
    assert predictor.predict(["good film"])[0].label


def test_a_lack_of_memory_is_one(with_words, monkeypatch):
    predictor = Predictor(with_words())
    session = predictor._predictor._graph.graph._session
    for reason in ("Status Message: std::bad_alloc", "Failed to allocate memory for requested buffer of size 8\n"):

        def fail(*_, reason=reason):
            raise graph.onnxruntime.capi.onnxruntime_pybind11_state.RuntimeException(reason)

        monkeypatch.setattr(session, "run", fail)
        with pytest.raises(MemoryError, match=r"model\.onnx failed: "):
            predictor.predict(["good film"])


def test_commands_print_one_line(with_words, capsys):
    folder = str(with_words("more"))
    for run, arguments in ((main, [folder]), (zoo_main, ["predict", folder])):
        assert run([*arguments, "one more"]) == 1
        err = capsys.readouterr().err
        assert err.startswith("error: RuntimeError: ")
        assert "model.onnx failed" in err
        assert err.count("\n") == 1


def test_the_server_fails_one_request(with_words):
    with running(Predictor(with_words("more"))) as server:
        answer = server.ask("/v1/predict", {"texts": ["one more"]})
        assert answer.status == 500
        assert answer.error.startswith("The server failed on this request; its log says why.")
        assert server.ask("/v1/predict", {"texts": ["good film"]}).status == 200


def test_the_server_does_not_start_with_a_graph_that_fails(with_words, capsys):
    folder = with_words("")  # the only word of an empty text
    assert serve([str(folder)]) == 2
    err = capsys.readouterr().err
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert "model.onnx failed" in err


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (MemoryError(), ""),
        (MemoryError("Unable to allocate 2 TiB"), "Unable to allocate 2 TiB"),
        (ImportError("lib.so: failed to map segment from shared object"), "lib.so: failed to map segment"),
        (ImportError("lib.so: cannot allocate memory in static TLS block"), "lib.so: cannot allocate memory"),
        (ImportError("Exception caught: std::bad_alloc"), "std::bad_alloc"),
    ],
)
@pytest.mark.parametrize(
    ("limit", "advice"), [(-1, ""), (300_000_000, "300 MB of address space: raise the limit (ulimit -v)")]
)
def test_a_lack_of_memory_says_what_to_do(monkeypatch, capsys, error, reason, limit, advice):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(faults.resource, "getrlimit", lambda kind: (limit, limit))
    monkeypatch.setattr("dense_lstm_zoo_runtime.command._run", fail)
    monkeypatch.setattr("dense_lstm_zoo.describe", fail)
    for run, arguments, least in (
        (main, ["x"], "shorter texts"),
        (zoo_main, ["describe", "x"], "smaller --batch-size"),
    ):
        assert run(arguments) == 1
        err = capsys.readouterr().err
        assert err.startswith("error: out of memory; ")
        assert err.count("\n") == 1
        assert least in err
        assert reason in err
        assert advice in err
        assert bool(advice) == ("ulimit" in err)


def test_a_library_that_is_missing_is_not_called_a_lack_of_memory(monkeypatch):
    def fail(*_):
        raise ImportError("No module named 'onnxruntime'")

    monkeypatch.setattr("dense_lstm_zoo_runtime.command._run", fail)
    with pytest.raises(ImportError, match="onnxruntime"):
        main(["x"])


@pytest.mark.slow  # fresh processes, under a limit of memory
@pytest.mark.parametrize("module", ["dense_lstm_zoo_runtime", "dense_lstm_zoo predict"])
def test_a_limit_of_memory_is_named(module, tmp_path):
    bundle("bilstm").save(tmp_path / "b")
    bundle("bilstm").export(tmp_path / "x", format="onnx")
    kilobytes, source = (150_000, "x") if module == "dense_lstm_zoo_runtime" else (300_000, "b")
    line = f"ulimit -v {kilobytes}; exec {sys.executable} -m {module} {tmp_path / source} 'good film'"
    ended = subprocess.run(
        ["bash", "-c", line], capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )
    assert ended.returncode == 1, ended.stderr
    assert ended.stderr.startswith("error: out of memory; ")
    assert ended.stderr.count("\n") == 1
    assert "raise the limit (ulimit -v)" in ended.stderr
