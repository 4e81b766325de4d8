"""This package's own JSON files, whose errors name a damaged one; and JSON of numbers that it cannot hold."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from dense_lstm_zoo.storage import pipes
from dense_lstm_zoo_runtime.screen import finite as finite

Kind = type | tuple[type, ...]


class DamagedFileError(ValueError):
    """A file that is not as it was written. The message names it."""


def read_object(path: Path, fields: Mapping[str, Kind] | None = None, *, advice: str = "") -> dict[str, Any]:
    """Return the JSON object in a file.

    Args:
        path: The file.
        fields: The required keys, each with the type of its value, or a tuple of types.
        advice: What to do about a damaged file, for the end of the message.

    Raises:
        DamagedFileError: The file is not UTF-8, not JSON, not an object, or a field is missing or has another type.
        FileNotFoundError: There is no such file.
    """
    if path.exists() and not path.is_file():
        raise damaged(path, f"{pipes.kind(path.stat().st_mode)} is in its place", advice)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError as error:
        raise damaged(path, f"byte {error.start} is not UTF-8", advice) from None
    except RecursionError:
        raise damaged(path, "it is nested too deeply", advice) from None
    except ValueError as error:
        reason = f"not JSON: {error}" if path.stat().st_size else "it is empty"
        raise damaged(path, reason, advice) from None
    if not isinstance(content, dict):
        raise damaged(path, f"it holds {_kind(content)}, not an object", advice)
    check_fields(path, content, fields or {}, advice=advice)
    return content


def check_fields(path: Path, content: Mapping[str, Any], fields: Mapping[str, Kind], *, advice: str = "") -> None:
    """Raise ``DamagedFileError`` if a field of the content of ``path`` is missing or has another type."""
    for name, kind in fields.items():
        if name not in content:
            raise damaged(path, f"{name!r} is missing", advice)
        kinds = kind if isinstance(kind, tuple) else (kind,)
        if not isinstance(content[name], kinds) or (isinstance(content[name], bool) and bool not in kinds):
            raise damaged(path, f"{name!r} is {_kind(content[name])}", advice)


def damaged(path: Path, reason: str, advice: str = "") -> DamagedFileError:
    """Return (not raise) the error for a damaged file."""
    return DamagedFileError(f"{path} is damaged: {reason}.{' ' if advice else ''}{advice}")


def _kind(value: object) -> str:
    """Return JSON's name for a value."""
    names = {dict: "an object", list: "an array", str: "a string", bool: "a truth value", type(None): "null"}
    return names.get(type(value), f"the number {value}")


def to_line(value: object, default: Callable[[Any], Any] | None = None) -> str:
    """Return a value as JSON on one line, with null for each number that JSON cannot hold.

    Args:
        value: The value.
        default: Returns what is written for an object of a type that JSON lacks.
    """
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, default=default)
    except ValueError:  # rare, so that only then the value is copied
        return json.dumps(finite(value), ensure_ascii=False, allow_nan=False, default=default)
