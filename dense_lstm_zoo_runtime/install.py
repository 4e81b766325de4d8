"""Commands that install parts of the project: from a clone, as none of it is on a package index."""

from __future__ import annotations

_WHERE = "(from a clone)"
RUNTIME = f"pip install ./dense_lstm_zoo_runtime {_WHERE}"
SERVE = f"pip install './dense_lstm_zoo_runtime[serve]' {_WHERE}"
PRESETS = f"pip install ./presets {_WHERE}"


def extra(name: str) -> str:
    """Return how the zoo is installed with one of its extras.

    Example:
        >>> extra("plots")
        "pip install ./dense_lstm_zoo_runtime '.[plots]' (from a clone)"
    """
    return f"pip install ./dense_lstm_zoo_runtime '.[{name}]' {_WHERE}"
