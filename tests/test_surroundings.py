"""Variables of the environment that libraries read: left over, or set for something else."""

import ast
import importlib
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import pytest

from dense_lstm_zoo import settings
from dense_lstm_zoo.backend import check_tensorflow
from dense_lstm_zoo.search import fleet
from dense_lstm_zoo.search.surroundings import without_tuner_variables
from dense_lstm_zoo_runtime import shadows
from tests.fleet_harness import Serving, make_oracle, without_token

PROXIES = ("http_proxy", "https_proxy", "grpc_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "all_proxy")


@pytest.fixture
def proxy(monkeypatch):
    """A proxy that answers nobody, in every variable that could name one, and its list of calls."""
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
    client = fleet.Client(serving.address, serving.token, patience=10)
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
    left_over = []
    monkeypatch.setattr(sweep, "_search", lambda *_: left_over.append("KERASTUNER_ORACLE_IP" in os.environ))
    monkeypatch.setattr(sweep, "finish", lambda *_: "done")
    from tests.fleet_harness import make_sweep

    assert sweep.run(make_sweep(), tmp_path / "sweep", False, say=lambda text: None) == "done"
    assert left_over == [False]


@pytest.fixture
def keras_home(monkeypatch, tmp_path):
    """An empty folder for Keras' settings, without any in the environment, and the path of the file in it."""
    for name in ("KERAS_BACKEND", "KERAS_MAX_EPOCHS", "KERAS_MAX_STEPS_PER_EPOCH", "TF_USE_LEGACY_KERAS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    return tmp_path / "keras.json"


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("TF_USE_LEGACY_KERAS", "1", "TF_USE_LEGACY_KERAS=1 asks TensorFlow for Keras 2"),
        ("TF_USE_LEGACY_KERAS", "True", "unset it"),
        ("KERAS_BACKEND", "numpy", "KERAS_BACKEND is 'numpy'. Accepted: tensorflow, jax, torch."),
        ("KERAS_BACKEND", "tensorfow", "KERAS_BACKEND is 'tensorfow'"),
        ("KERAS_MAX_EPOCHS", "1", "KERAS_MAX_EPOCHS=1 makes Keras end every training early"),
        ("KERAS_MAX_STEPS_PER_EPOCH", "x", "KERAS_MAX_STEPS_PER_EPOCH=x makes Keras"),
        ("TF_NUM_INTRAOP_THREADS", "-5", "TF_NUM_INTRAOP_THREADS=-5 is not a number of threads from 0 to 1,024"),
        ("TF_NUM_INTRAOP_THREADS", "many", "TF_NUM_INTRAOP_THREADS=many is not a number of threads"),
        ("TF_NUM_INTEROP_THREADS", "2.5", "TF_NUM_INTEROP_THREADS=2.5 is not a number of threads from -1"),
        ("TF_NUM_INTEROP_THREADS", "1000000", "TF_NUM_INTEROP_THREADS=1000000 is not a number of threads"),
    ],
)
def test_a_variable_with_which_keras_cannot_run_is_named(keras_home, monkeypatch, name, value, message):
    monkeypatch.setenv(name, value)
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        check_tensorflow()
    assert name in str(caught.value)


def test_a_backend_that_is_not_installed_is_named_with_its_place(keras_home, monkeypatch):
    monkeypatch.setattr(settings.importlib.util, "find_spec", lambda name: None)
    keras_home.write_text('{"backend": "torch"}')
    with pytest.raises(ValueError, match=re.escape(f"backend in {keras_home} is 'torch', which is not installed")):
        check_tensorflow()
    monkeypatch.setenv("KERAS_BACKEND", "jax")  # which wins over the file
    with pytest.raises(ValueError, match="KERAS_BACKEND is 'jax', which is not installed"):
        check_tensorflow()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "does not hold a JSON object"),
        ('{"floatx": "bfloat16"}', "Accepted: float16, float32, float64."),
        ('{"epsilon": 1}', "Accepted: a number such as 1e-07."),
        ('{"image_data_format": "last"}', "Accepted: channels_last, channels_first."),
    ],
)
def test_a_damaged_file_of_kerass_settings_is_named(keras_home, text, message):
    keras_home.write_text(text)
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        check_tensorflow()
    assert str(keras_home) in str(caught.value)


@pytest.mark.parametrize("text", ["", "{", '{"floatx": "float32", "backend": "tensorflow", "epsilon": 1e-07}'])
def test_settings_that_keras_takes_are_taken(keras_home, text):
    keras_home.write_text(text)
    check_tensorflow()


@pytest.mark.parametrize("name", ["TF_XLA_FLAGS", "XLA_FLAGS"])
def test_flags_with_which_tensorflows_compiler_ends_the_process_are_named(monkeypatch, name):
    stderr = "I0000 1.2 3 a.cc:1] fine\nF0000 1.2 3 flags.cc:4] Unknown flag in it: --garbage\n"
    results = {"--garbage": (1, stderr), "--good": (0, ""), "--other": (1, "ImportError: no tensorflow\n")}

    def run(command, *, env, **_):
        status, text = results[env[name]]
        return subprocess.CompletedProcess(command, status, "", text)

    monkeypatch.setattr(settings.subprocess, "run", run)
    settings._ends_the_process.cache_clear()
    for good in ("", "--good", "--other"):
        monkeypatch.setenv(name, good)
        settings.check_settings()
    monkeypatch.setenv(name, "--garbage")
    with pytest.raises(
        ValueError, match=f"{name}=--garbage ends TensorFlow: Unknown flag in it: --garbage. Correct it"
    ):
        settings.check_settings()
    settings._ends_the_process.cache_clear()


@pytest.mark.parametrize("value", ["0", "1", "64"])
def test_numbers_of_threads_are_taken(keras_home, monkeypatch, value):
    for name in ("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS"):
        monkeypatch.setenv(name, value)
    check_tensorflow()


@pytest.fixture
def folder_first(tmp_path, monkeypatch):
    """A folder of a user's files, which Python looks into first."""
    folder = tmp_path / "mine"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    return folder


@pytest.mark.parametrize("name", ["keras", "tensorflow", "numpy", "random", "json", "tokenize", "typing"])
@pytest.mark.parametrize("is_package", [False, True])
def test_a_users_file_that_hides_a_library_is_named(folder_first, name, is_package):
    file = folder_first / name / "__init__.py" if is_package else folder_first / f"{name}.py"
    file.parent.mkdir(exist_ok=True)
    file.write_text("x = 1")
    importlib.invalidate_caches()
    assert shadows.hiding().startswith(f"{file} hides the ")
    assert f"'{name}': rename that file, or run in another folder." in shadows.hiding()
    with pytest.raises(ImportError, match="rename that file"):
        shadows.refuse()


def test_files_that_hide_nothing_are_left_alone(folder_first):
    for name in ("mine.py", "test.py", "profile.py", "numpy.txt", "train.py"):
        (folder_first / name).write_text("")
    (folder_first / "keras").mkdir()  # a folder of data, which hides no package
    importlib.invalidate_caches()
    assert shadows.hiding() == ""
    shadows.refuse()


@pytest.mark.parametrize("companion", ["numpy-2.0.dist-info/RECORD", "dense_lstm_zoo_runtime/__init__.py"])
def test_libraries_that_were_installed_beside_a_program_hide_nothing(folder_first, companion):
    for name in ("numpy/__init__.py", companion):
        (folder_first / name).parent.mkdir()
        (folder_first / name).write_text("numpy/__init__.py,sha256=x,9\n")
    importlib.invalidate_caches()
    assert shadows.hiding() == ""
    for name in ("keras", "json"):  # the user's own
        (folder_first / f"{name}.py").write_text("")
        importlib.invalidate_caches()
        assert shadows.hiding().startswith(f"{folder_first / name}.py hides the ")
        (folder_first / f"{name}.py").unlink()


def test_every_library_that_the_package_imports_is_looked_for():
    root = Path(shadows.__file__).parents[1]
    names = set()
    for path in [*(root / "dense_lstm_zoo").rglob("*.py"), *(root / "dense_lstm_zoo_runtime").rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names |= {name.name.partition(".")[0] for name in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                names.add(node.module.partition(".")[0])
    names -= {*sys.builtin_module_names, "__future__", "_frozen_importlib_external", "tensorflow_serving"}
    names = {name for name in names if not name.startswith("dense_lstm_zoo")}
    assert names <= shadows.LIBRARIES | shadows.STANDARD


@pytest.mark.slow  # fresh processes
@pytest.mark.parametrize("module", ["dense_lstm_zoo", "dense_lstm_zoo_runtime"])
@pytest.mark.parametrize("name", ["typing", "numpy"])
def test_a_command_in_a_folder_with_such_a_file_ends_in_one_line(tmp_path, module, name):
    (tmp_path / f"{name}.py").write_text("x = 1")
    command = [sys.executable, "-m", module, "--help"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 2
    assert run.stderr == f"error: {run.stderr[7:]}"
    assert run.stderr.count("\n") == 1
    assert f"{name}.py hides the " in run.stderr


def test_a_warning_that_is_an_error_does_not_cost_the_model(tmp_path, monkeypatch, capsys):
    from dense_lstm_zoo.display import plots
    from tests.bundle_harness import bundle

    def fail(*_, **__):
        raise ValueError("matplotlibrc is damaged")

    monkeypatch.setattr(plots, "learning_curve", fail)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        bundle("bilstm").save(tmp_path / "b")
    assert "lacks learning_curve.png (ValueError: matplotlibrc is damaged)" in capsys.readouterr().err
    assert (tmp_path / "b" / "model.weights.h5").is_file()


def test_a_command_that_a_warning_ends_names_the_setting(monkeypatch, capsys):
    from dense_lstm_zoo.cli import main

    def fail(*_):
        raise DeprecationWarning("a library's own\nsecond line")

    monkeypatch.setattr("dense_lstm_zoo.describe", fail)
    assert main(["describe", "lstm"]) == 1
    err = capsys.readouterr().err
    assert err.startswith(
        "error: DeprecationWarning: a library's own (a warning, which PYTHONWARNINGS or -W makes an error"
    )
    assert err.count("\n") == 1


@pytest.mark.slow  # fresh processes
@pytest.mark.parametrize(
    "setting",
    [
        "TF_USE_LEGACY_KERAS=1",
        "KERAS_BACKEND=numpy",
        "KERAS_MAX_EPOCHS=1",
        "TF_NUM_INTRAOP_THREADS=-5",
        "TF_XLA_FLAGS=--garbage",
        "XLA_FLAGS=--garbage",
    ],
)
def test_a_command_ends_in_one_line_that_names_the_setting(tmp_path, setting):
    name, value = setting.split("=")
    command = [
        sys.executable,
        "-m",
        "dense_lstm_zoo",
        "train",
        "bilstm",
        "--dataset",
        "demo",
        "--run-dir",
        tmp_path / "r",
    ]
    run = subprocess.run(command, env={**os.environ, name: value}, capture_output=True, text=True)
    assert run.returncode == 2
    assert run.stderr.startswith("error: ")
    assert run.stderr.count("\n") == 1
    assert name in run.stderr


@pytest.mark.slow  # fresh processes
@pytest.mark.parametrize("setting", ["MPLBACKEND", "MATPLOTLIBRC"])
def test_settings_that_matplotlib_refuses_cost_only_themselves(tmp_path, setting):
    (tmp_path / "matplotlibrc").write_bytes(b"font.size: \xff")
    value = "garbage" if setting == "MPLBACKEND" else str(tmp_path / "matplotlibrc")
    code = (
        "import os\n"
        "from dense_lstm_zoo import settings\n"
        "settings.check_settings()\n"
        "import matplotlib.pyplot\n"
        "assert 'MPLBACKEND' not in os.environ\n"
        "assert os.environ['MATPLOTLIBRC'] == os.devnull\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, setting: value}, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    last = run.stderr.splitlines()[-1]  # matplotlib warns of a file that it cannot decode itself
    assert last.startswith("matplotlib's own settings are used in place of yours (MPLBACKEND, MATPLOTLIBRC")
    assert "Traceback" not in run.stderr
