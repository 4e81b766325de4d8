"""Settings of Keras and TensorFlow with which no model runs, named before either is imported."""

from __future__ import annotations

import importlib.util
import json
import os
from pathlib import Path

_BACKENDS = ("tensorflow", "jax", "torch")
_TRUE = ("1", "true")


def check_settings() -> None:
    """Raise ``ValueError`` for a setting of Keras or TensorFlow with which nothing runs. The message names it.

    Looked at are ``KERAS_BACKEND``, ``KERAS_MAX_EPOCHS``, ``KERAS_MAX_STEPS_PER_EPOCH``, ``TF_USE_LEGACY_KERAS`` and
    the file ``keras.json``, in ``KERAS_HOME`` or the home folder.
    """
    if os.environ.get("TF_USE_LEGACY_KERAS", "").lower() in _TRUE:
        raise ValueError("TF_USE_LEGACY_KERAS asks TensorFlow for Keras 2, on which nothing here runs; unset it.")
    for name in ("KERAS_MAX_EPOCHS", "KERAS_MAX_STEPS_PER_EPOCH"):  # a model would be half trained without a word
        if os.environ.get(name):
            raise ValueError(f"{name}={os.environ[name]} makes Keras end every training early; unset it.")
    path = _keras_json()
    config = _read(path)
    variable = os.environ.get("KERAS_BACKEND")
    place = "KERAS_BACKEND" if variable else f"backend in {path}"
    name = str(variable or config.get("backend", "tensorflow"))
    if name not in _BACKENDS:
        raise ValueError(f"{place} is {name!r}. Accepted: {', '.join(_BACKENDS)}.")
    if importlib.util.find_spec(name) is None:
        raise ValueError(f"{place} is {name!r}, which is not installed. Install it, or set it to 'tensorflow'.")


def _keras_json() -> Path:
    """Return the path of Keras' file of settings, as Keras finds it."""
    if "KERAS_HOME" in os.environ:
        return Path(os.environ["KERAS_HOME"]).expanduser() / "keras.json"
    home = os.path.expanduser("~")  # noqa: PTH111 - Path.home() fails where there is none
    return Path(home if os.access(home, os.W_OK) else "/tmp") / ".keras" / "keras.json"


def _read(path: Path) -> dict[str, object]:
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
