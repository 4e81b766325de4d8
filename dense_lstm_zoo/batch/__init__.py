"""Predictions for any number of texts with Apache Beam, on one machine or many (the extra ``beam``).

Example:
    ``rows | Predict("dc_bilstm_sst2")`` adds a label to each row, a dictionary with a text.
"""

from __future__ import annotations

import importlib
import importlib.util
from typing import TYPE_CHECKING, Any

from dense_lstm_zoo_runtime import install

if TYPE_CHECKING:
    from dense_lstm_zoo.batch.handler import ZooModelHandler
    from dense_lstm_zoo.batch.transform import Predict

__all__ = ["Predict", "ZooModelHandler"]
_MODULES = {"Predict": "transform", "ZooModelHandler": "handler"}


def check_beam() -> None:
    """Raise ``ImportError`` if Apache Beam is not installed."""
    if importlib.util.find_spec("apache_beam") is None:
        raise ImportError(f"Batch predictions need Apache Beam: {install.extra('beam')}.")


# Beam takes seconds to import, and is not needed to see what the command line can do.
def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    check_beam()
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
