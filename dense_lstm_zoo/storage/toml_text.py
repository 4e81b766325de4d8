"""Writing plain values as TOML, which Python reads but does not write."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def pair(key: str, value: object) -> str:
    """Return a line with a key and its value: text, a number, a truth value, a list or a mapping of these.

    Raises:
        ValueError: A value that TOML cannot hold, such as None or a name that is not valid Unicode.

    Example:
        >>> print(pair("units", 20), pair("class_weights", {"very rare": 3.0}), sep="\\n")
        units = 20
        class_weights = {"very rare" = 3.0}
    """
    return f"{key if _BARE.fullmatch(key) else _string(key)} = {_value(value)}"


def _value(value: object) -> str:
    if hasattr(value, "item"):  # a number of NumPy's
        value = value.item()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, Mapping):
        return "{" + ", ".join(pair(str(name), item) for name, item in value.items()) + "}"
    raise ValueError(f"TOML cannot hold {value!r:.80}, which is {type(value).__name__}.")


def _string(text: str) -> str:
    text.encode()  # raises for half a surrogate pair
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
