"""Text that is safe in terminals and logs: no control characters."""

from __future__ import annotations

import math
import re
from typing import Any

_SURROGATES = "\ud800-\udfff"
# Control characters, line separators, marks that change the text direction, lone surrogates.
_UNSAFE = "\\x00-\\x1f\\x7f-\\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069" + _SURROGATES
_CONTROL = re.compile(f"[{_UNSAFE}]")
LAYOUT = "\n\t\r\b"  # what lays lines out, and progress bars, on a screen


def escape_controls(text: str, keep: str = "") -> str:
    r"""Return text with control characters, except those in ``keep``, escaped as in Python strings.

    Example:
        >>> print(escape_controls("two\nlines \x1b[31mred"))
        two\nlines \x1b[31mred
    """
    return _CONTROL.sub(lambda match: match[0] if match[0] in keep else ascii(match[0])[1:-1], text)


def escape_json(line: str) -> str:
    """Return a line of JSON with control characters and lone surrogates as JSON escapes, which keep its meaning.

    Example:
        >>> print(escape_json('"\x9b31m"'))
        "\\u009b31m"
    """
    return _CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", line)


def finite(value: Any) -> Any:
    """Return a value with None for each number that JSON cannot hold, such as an infinite perplexity."""
    if isinstance(value, dict):
        return {name: finite(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
