"""A small HTTP server over ``dense_lstm_zoo_runtime.Predictor``: ``python -m dense_lstm_zoo_runtime.serve --help``.

It is the extra ``serve`` of the distribution. Nothing else in the package imports it or its libraries.
"""

from __future__ import annotations

import importlib.util

from dense_lstm_zoo_runtime import install

_LIBRARIES = ("fastapi", "uvicorn", "httptools", "prometheus_client")


def check_libraries() -> None:
    """Raise ``ValueError`` with the command that installs the extra if one of its libraries is missing."""
    missing = [name for name in _LIBRARIES if importlib.util.find_spec(name) is None]
    if missing:
        raise ValueError(f"The server needs {', '.join(missing)}: {install.SERVE}.")
