"""Settings of Keras and TensorFlow with which no model runs, named before either is imported."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from dense_lstm_zoo.display.notes import say

_BACKENDS = ("tensorflow", "jax", "torch")
_TRUE = ("1", "true")
_MOST_THREADS = 1024
_OF_MATPLOTLIB = ("MPLBACKEND", "MATPLOTLIBRC", "MPLCONFIGDIR")


def check_settings() -> None:
    """Raise ``ValueError`` for a setting of Keras or TensorFlow with which nothing runs. The message names it.

    Looked at are the variables in ``_VARIABLES``, ``KERAS_BACKEND``, and the file ``keras.json``, in ``KERAS_HOME`` or
    the home folder.
    """
    for variable_name, fault in _VARIABLES.items():
        value = os.environ.get(variable_name)
        if value and (reason := fault(value)):
            raise ValueError(f"{variable_name}={value} {reason}")
    _settle_matplotlib()
    path = _keras_json()
    config = _read_config(path)
    variable = os.environ.get("KERAS_BACKEND")
    place = "KERAS_BACKEND" if variable else f"backend in {path}"
    name = str(variable or config.get("backend", "tensorflow"))
    if name not in _BACKENDS:
        raise ValueError(f"{place} is {name!r}. Accepted: {', '.join(_BACKENDS)}.")
    if importlib.util.find_spec(name) is None:
        raise ValueError(f"{place} is {name!r}, which is not installed. Install it, or set it to 'tensorflow'.")


def _asks_for_keras_2(value: str) -> str:
    return "asks TensorFlow for Keras 2, on which nothing here runs; unset it." if value.lower() in _TRUE else ""


def _ends_early(value: str) -> str:  # a model would be half trained without a word
    return "makes Keras end every training early; unset it."


def _threads(least: int) -> Callable[[str], str]:
    """Return a check of a number of threads, which TensorFlow does not check before it starts them."""

    def fault(value: str) -> str:
        try:
            if least <= int(value) <= _MOST_THREADS:
                return ""
        except ValueError:
            pass
        return f"is not a number of threads from {least} to {_MOST_THREADS:,}; unset it, or set 0 for TensorFlow's own."

    return fault


_PROBE = """
import tensorflow as tf
with tf.device("CPU:0"):
    tf.function(lambda x: x + 1, jit_compile=True)(tf.constant(1.0))
"""


@functools.cache
def _ends_the_process(value: str) -> str:
    """Return why TensorFlow's compiler would end this process for its flags, as tried in another process."""
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "-1", "TF_CPP_MIN_LOG_LEVEL": "3"}
    try:
        command = [sys.executable, "-P", "-c", _PROBE]
        probe = subprocess.run(command, env=environment, capture_output=True, text=True, errors="replace", timeout=120)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    fatal = [line.rpartition("] ")[2] for line in probe.stderr.split("\n") if re.match(r"F\d{4} ", line)]
    if probe.returncode == 0 or not fatal:
        return ""
    return f"ends TensorFlow: {fatal[0]:.200}. Correct it, or unset it."


# What says what is wrong with the value of each variable, or nothing.
_VARIABLES: dict[str, Callable[[str], str]] = {
    "TF_USE_LEGACY_KERAS": _asks_for_keras_2,
    "KERAS_MAX_EPOCHS": _ends_early,
    "KERAS_MAX_STEPS_PER_EPOCH": _ends_early,
    "TF_NUM_INTRAOP_THREADS": _threads(0),
    "TF_NUM_INTEROP_THREADS": _threads(-1),
    "TF_XLA_FLAGS": _ends_the_process,
    "XLA_FLAGS": _ends_the_process,
}


def _settle_matplotlib() -> None:
    """Import matplotlib without the user's settings if it refuses them: Keras imports it, and would fail with it.

    Raises:
        ValueError: It fails without them too, for a file in the current folder.
    """
    home = os.path.expanduser("~")  # noqa: PTH111
    files = ("matplotlibrc", f"{home}/.config/matplotlib/matplotlibrc", f"{home}/.matplotlib/matplotlibrc")
    has_settings = any(os.environ.get(name) for name in _OF_MATPLOTLIB) or any(map(os.path.exists, files))
    if not has_settings or "matplotlib" in sys.modules or importlib.util.find_spec("matplotlib") is None:
        return
    error = _try_matplotlib()
    if error is None:
        return
    reason = " ".join(str(error).split())
    os.environ.pop("MPLBACKEND", None)  # for this process and those that it starts
    os.environ["MATPLOTLIBRC"] = os.devnull
    if _try_matplotlib() is not None:
        raise ValueError(
            f"matplotlib cannot read its settings, which {', '.join(_OF_MATPLOTLIB)} or a file matplotlibrc hold: "
            f"{reason:.200}. Correct them."
        )
    places = f"{', '.join(_OF_MATPLOTLIB)}, matplotlibrc"
    say(f"matplotlib's own settings are used in place of yours ({places}): {reason:.200}")


def _try_matplotlib() -> Exception | None:
    """Import matplotlib, and return the error, after which it can be tried again."""
    try:
        importlib.import_module("matplotlib")
    except Exception as error:  # whatever a file of settings can cause
        for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
            del sys.modules[name]
        return error
    return None


def _keras_json() -> Path:
    """Return the path of Keras' file of settings, as Keras finds it."""
    if "KERAS_HOME" in os.environ:
        return Path(os.environ["KERAS_HOME"]).expanduser() / "keras.json"
    home = os.path.expanduser("~")  # noqa: PTH111 - Path.home() fails where there is none
    return Path(home if os.access(home, os.W_OK) else "/tmp") / ".keras" / "keras.json"


def _read_config(path: Path) -> dict[str, object]:
    """Return the settings in Keras' file. One that is not JSON counts for nothing, as in Keras.

    Raises:
        ValueError: A value that Keras refuses.
    """
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(config, dict):
        raise ValueError(f"{path} does not hold a JSON object; correct it, or remove it for Keras' defaults.")
    accepted = {"floatx": ("float16", "float32", "float64"), "image_data_format": ("channels_last", "channels_first")}
    for name, values in accepted.items():
        if config.get(name, values[0]) not in values:
            raise ValueError(f"{name} in {path} is {config[name]!r}. Accepted: {', '.join(values)}.")
    if not isinstance(config.get("epsilon", 0.0), float):
        raise ValueError(f"epsilon in {path} is {config['epsilon']!r}. Accepted: a number such as 1e-07.")
    return config
