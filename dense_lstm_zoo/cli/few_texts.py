"""Answers for a few texts given on the command line: what pays only if it is used again is left out."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence

# Keras imports these if they are installed, for wrappers and plots that no command uses; that takes a third as long as
# the import of TensorFlow itself.
OPTIONAL = ("sklearn", "scipy", "matplotlib")
STEPS = 200  # words to generate; for more, a graph pays
_CHARACTERS = 2_000  # of all texts, likewise


def are_few(texts: Sequence[str]) -> bool:
    """Return whether there are texts, but so few and short that tracing and compiling would not pay.

    Example:
        >>> are_few(["Who was Galileo?"]), are_few([]), are_few(["a long text"] * 1000)
        (True, False, False)
    """
    return bool(texts) and sum(map(len, texts)) <= _CHARACTERS


@contextlib.contextmanager
def hidden(modules: Sequence[str] = OPTIONAL) -> Iterator[None]:
    """Let imports of these modules fail in this block, as if they were not installed. Those imported already stay."""
    absent = [module for module in modules if module not in sys.modules]
    sys.modules.update(dict.fromkeys(absent))  # type: ignore[arg-type]
    try:
        yield
    finally:
        for module in absent:
            del sys.modules[module]


@contextlib.contextmanager
def eagerly() -> Iterator[None]:
    """Run TensorFlow's graph functions op by op in this block, without tracing them, if it is imported."""
    tf = sys.modules.get("tensorflow")
    if tf is None:  # the light runtime answers
        yield
        return
    before = tf.config.functions_run_eagerly()
    tf.config.run_functions_eagerly(True)
    try:
        yield
    finally:
        tf.config.run_functions_eagerly(before)
