"""dense-lstm-zoo serve: runs, presets and exports over HTTP."""

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import dense_lstm_zoo_runtime
from dense_lstm_zoo.cli import loading, main, serve
from dense_lstm_zoo_runtime import Predictor
from dense_lstm_zoo_runtime import serve as server
from dense_lstm_zoo_runtime.serve import process
from tests.bundle_harness import bundle
from tests.cli_harness import output_of
from tests.server_harness import Running


@pytest.fixture
def served(monkeypatch):
    """The models and settings of each server that would have been started."""
    calls = []
    monkeypatch.setattr(process, "run", lambda models, settings: calls.append((models, settings)))
    return calls


@pytest.fixture(scope="module")
def export(tmp_path_factory):
    return bundle("bilstm").export(tmp_path_factory.mktemp("exports") / "my films", format="onnx")


def answer(model):
    return model.operations["predict"](["the film was good"])


def test_an_export_is_served_under_the_name_of_its_folder(served, export, capsys):
    status, out, _ = output_of(capsys, "serve", export, "--port", "8123", "--threads", "2", "--host", "0.0.0.0")
    ((models, settings),) = served
    assert status == 0
    assert out == "Open http://localhost:8123/ to try my_films. Ctrl-C ends it.\n"
    assert list(models) == ["my_films"]
    assert (settings.port, settings.threads, settings.host) == (8123, 2, "0.0.0.0")
    assert answer(models["my_films"])[0].startswith(b'{"label":')


def test_a_run_with_an_export_of_its_own_needs_no_other(served, saved_bundle, tmp_path, capsys):
    run = shutil.copytree(saved_bundle("bilstm"), tmp_path / "run")
    assert main(["export", str(run), str(run / "onnx"), "--format", "onnx"]) == 0
    capsys.readouterr()
    status, _, err = output_of(capsys, "serve", run)
    assert (status, err) == (0, f"using {run / 'onnx'} (ONNX, float32 weights)\n")
    ((models, _),) = served
    assert list(models) == ["run"]


def test_a_run_without_an_export_is_loaded_where_onnx_runtime_cannot_be(saved_bundle, monkeypatch):
    def fail(name):
        raise ModuleNotFoundError("No module named 'onnxruntime'")

    monkeypatch.setattr(dense_lstm_zoo_runtime, "__getattr__", fail)
    assert loading.load_export(loading.open_folder(saved_bundle("bilstm"))) is None


def test_a_run_without_an_export_is_exported_first_and_leaves_no_files(served, saved_bundle, monkeypatch, capsys):
    folder = saved_bundle("bilstm")
    commands = []

    def run(command, **_):
        commands.append(command[1:])
        status = main(command[4:])
        capsys.readouterr()
        return subprocess.CompletedProcess(command, status)

    monkeypatch.setattr(serve.subprocess, "run", run)
    assert main(["serve", str(folder)]) == 0
    ((module, target),) = [(command[:4], Path(command[5])) for command in commands]
    assert module == ["-P", "-m", "dense_lstm_zoo", "export"]
    assert not target.parent.exists()
    ((models, _),) = served
    assert answer(models["bilstm"]) == answer(models["bilstm"])  # it answers without the files


def test_a_signal_during_the_export_leaves_no_process_and_no_files(saved_bundle, monkeypatch, tmp_path):
    monkeypatch.setattr(serve.tempfile, "tempdir", str(tmp_path))
    run = subprocess.run
    code = "import os, time; print(os.getpid(), flush=True); os.kill(os.getppid(), 15); time.sleep(600)"
    with (tmp_path / "pid").open("w") as pid:
        monkeypatch.setattr(serve.subprocess, "run", lambda *_, **__: run([sys.executable, "-c", code], stdout=pid))
        with pytest.raises(SystemExit) as ended:
            main(["serve", str(saved_bundle("bilstm"))])
    assert ended.value.code == 128 + signal.SIGTERM
    assert [file.name for file in tmp_path.iterdir()] == ["pid"]
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_the_line_before_an_export_says_how_to_keep_one(saved_bundle, monkeypatch, capsys):
    folder = saved_bundle("bilstm")
    monkeypatch.setattr(serve.subprocess, "run", lambda *_, **__: subprocess.CompletedProcess([], 2))
    with pytest.raises(SystemExit) as ended:  # the export has said why
        main(["serve", str(folder)])
    assert ended.value.code == 2
    line = capsys.readouterr().err
    assert line.startswith(f"{folder} has no ONNX export to use: exporting it to a temporary folder.")
    assert line.endswith(f"dense-lstm-zoo export {folder} {folder / 'onnx'} --format onnx\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--port", "65536"], "port must be from 0 to 65535; received 65536"),
        (["--max-queue", "5"], "max_queue must be at least max_texts"),
    ],
)
def test_a_bad_setting_is_refused_before_the_model_is_read(arguments, message, capsys):
    status, _, err = output_of(capsys, "serve", "nowhere", *arguments)
    assert (status, err.count("\n")) == (2, 1)
    assert message in err


def test_what_is_no_model_is_refused_in_one_line(tmp_path, capsys):
    for source, message in (("nowhere", "nowhere is not a folder"), (tmp_path, "has no manifest.json")):
        status, _, err = output_of(capsys, "serve", source)
        assert (status, err.count("\n")) == (2, 1)
        assert message in err


def test_a_missing_extra_is_one_line_with_the_command_that_installs_it(export, monkeypatch, capsys):
    from dense_lstm_zoo_runtime.serve.__main__ import main as serve_alone

    find = server.importlib.util.find_spec
    monkeypatch.setattr(server.importlib.util, "find_spec", lambda name: None if name == "uvicorn" else find(name))
    line = "error: The server needs uvicorn: pip install './dense_lstm_zoo_runtime[serve]' (from a clone).\n"
    assert output_of(capsys, "serve", export)[::2] == (2, line)
    assert serve_alone([f"films={export}"]) == 2
    assert capsys.readouterr().err == line


def test_the_core_of_the_runtime_and_the_help_load_no_library_of_the_server():
    code = (
        "import sys, contextlib; sys.modules.update(dict.fromkeys(['fastapi', 'uvicorn', 'prometheus_client'])); "
        "import dense_lstm_zoo_runtime as r; r.Predictor; from dense_lstm_zoo_runtime.serve.__main__ import main; "
        "main(['--help'])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "exports/trec-onnx" in ran.stdout


@pytest.mark.parametrize(
    ("folder", "name"),
    [("runs/trec", "trec"), ("runs/trec/onnx", "trec"), ("runs/déjà vu!", "d_j__vu_"), ("runs/..-_", "model")],
)
def test_a_model_has_a_name_that_an_address_can_hold(folder, name):
    assert serve._name(Path(folder)) == name


def test_predict_still_says_that_an_export_was_made_from_another_bundle(saved_bundle, export, tmp_path, capsys):
    run = shutil.copytree(saved_bundle("bilstm"), tmp_path / "run")
    shutil.copytree(export, run / "onnx")
    config = (run / "onnx" / "config.json").read_text()
    (run / "onnx" / "config.json").write_text(config.replace('"bundle": "', '"bundle": "0'))
    assert loading.load_export(loading.open_folder(str(run))) is None
    assert "was not made from this bundle and is not used" in capsys.readouterr().err
    assert isinstance(loading.load_export(export), Predictor)


@pytest.mark.slow  # processes
def test_a_run_is_served_by_the_command_as_it_is_typed(saved_bundle, tmp_path):
    (tmp_path / "keras.py").write_text("raise SystemExit('not the module that is meant')")
    command = [sys.executable, "-P", "-m", "dense_lstm_zoo", "serve", str(saved_bundle("bilstm")), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path) as started:
        try:
            lines = iter(started.stderr.readline, "")
            port = next(int(one[1]) for line in lines if (one := re.search(r"running on http://\S+:(\d+)", line)))
            client = Running(port)
            assert client.ask("/v1/predict", {"texts": ["good film"]}).json["predictions"][0]["label"]
            assert client.ask("/v1/explain", {"texts": ["good film"]}).json["explanations"][0]["tokens"]
            assert b"<textarea" in client.ask("/").body
            memory = int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{started.pid}/status").read_text())[1]) / 1024
            assert memory < 500  # TensorFlow is not in the process that stays
            started.terminate()
            assert started.wait(30) in (0, -15)
        finally:
            started.kill()
