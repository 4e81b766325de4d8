"""Word tables: words with vectors of one byte per number, mapped into memory rather than read.

A table is a folder: ``config.json`` (name, sources, terms, sha256), ``words.txt`` (one per line, most frequent first),
``vectors.npy`` (int8, (words, dim)) and ``scales.npy`` (float32, one per row). A row's vector is its bytes times its
scale. A table that is some columns of another one is ``config.json`` alone: ``of`` names the other, ``columns`` the
first column and the one after the last. The tables of the zoo are in the distribution ``dense-lstm-zoo-presets``.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from dense_lstm_zoo_runtime.paths import user_path

if TYPE_CHECKING:
    import numpy as np

_FILES = ("words.txt", "vectors.npy", "scales.npy")
_MOST_WORDS = 10_000_000


@dataclass(frozen=True, eq=False)
class MappedTable:
    """Words and their vectors.

    Attributes:
        name: Its name, such as ``"zoo_600d"``.
        words: Most frequent first.
        values: int8, ``(len(words), dim)``, or float32 with scales of 1 in a table that was not rounded.
        scales: float32, one per word: ``values * scales[:, None]`` are the vectors.
        sha256: The checksum of words, values and scales.
        about: Sources, terms and the command that made it.
    """

    name: str
    words: tuple[str, ...]
    values: np.ndarray
    scales: np.ndarray
    sha256: str
    about: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: str | os.PathLike[str]) -> Self:
        """Read the table in a folder. Its vectors are mapped, not read.

        Raises:
            FileNotFoundError: No such folder.
            ValueError: A file that is missing, a link, damaged, or changed since it was written.
        """
        import numpy as np

        folder = user_path(folder)
        if not folder.is_dir():
            raise FileNotFoundError(f"{folder} is not a folder; a word table is a folder.")
        _check_files(folder, "config.json")
        try:
            about = json.loads((folder / "config.json").read_text(encoding="utf-8"))
            name, expected = str(about.pop("name")), str(about.pop("sha256"))
            if "of" in about:
                return cls._columns(name, expected, about, folder)
            _check_files(folder, *_FILES)
            words = (folder / "words.txt").read_text(encoding="utf-8").split("\n")[:-1]
            values = np.load(folder / "vectors.npy", mmap_mode="r", allow_pickle=False)
            scales = np.load(folder / "scales.npy", mmap_mode="r", allow_pickle=False)
        except (ValueError, KeyError, TypeError, AttributeError, EOFError, OSError) as error:
            raise ValueError(f"{folder} is not a word table, or is damaged: {error}.") from error
        if values.dtype not in (np.int8, np.float32) or scales.dtype != np.float32 or values.ndim != 2:
            raise ValueError(f"{folder} is damaged: its vectors must be int8 (or float32) and its scales float32.")
        if not len(words) == len(values) == len(scales) <= _MOST_WORDS:
            raise ValueError(f"{folder} is damaged: {len(words)} words, {len(values)} vectors, {len(scales)} scales.")
        return _unless_damaged(cls(name, tuple(words), values, scales, expected, about), folder)

    @classmethod
    def _columns(cls, name: str, expected: str, about: dict[str, Any], folder: Path) -> Self:
        """Return the table that ``about`` describes as some columns of a table beside it."""
        other, (first, last) = str(about["of"]), about["columns"]
        if Path(other).name != other or not (folder.parent / other / _FILES[0]).is_file():
            raise ValueError(f"it is part of {other!r:.80}, which is not a table beside it")
        if "of" in json.loads((folder.parent / other / "config.json").read_text(encoding="utf-8")):
            raise ValueError(f"it is part of {other!r:.80}, which is itself part of another")  # or of itself
        table = cls.read(folder.parent / other)
        if not (isinstance(first, int) and isinstance(last, int) and 0 <= first < last <= table.dim):
            raise ValueError(f"columns {first!r:.80} to {last!r:.80} are not in {other}, which has {table.dim}")
        part = cls(name, table.words, table.values[:, first:last], table.scales, expected, about)
        return _unless_damaged(part, folder)

    @property
    def dim(self) -> int:
        """Numbers per word."""
        return int(self.values.shape[1])

    def __len__(self) -> int:
        """Return the number of words."""
        return len(self.words)

    def other_rows(self, words: Collection[str]) -> np.ndarray:
        """Return the rows of the words that are not among ``words``."""
        import numpy as np

        excluded = set(words)
        return np.array([row for row, word in enumerate(self.words) if word not in excluded], np.int32)

    def rows(self, rows: Sequence[int] | np.ndarray) -> np.ndarray:
        """Return the vectors of rows as float32, ``(len(rows), dim)``."""
        import numpy as np

        rows = np.asarray(rows, np.int64)
        return np.multiply(self.values[rows], self.scales[rows, None], dtype=np.float32)


_Table = TypeVar("_Table", bound=MappedTable)


def _check_files(folder: Path, *names: str) -> None:
    for name in names:
        if not (folder / name).is_file() or (folder / name).is_symlink():
            raise ValueError(f"{folder} is not a word table: {name} is missing or a link.")


def _unless_damaged(table: _Table, folder: Path) -> _Table:
    digest = checksum(table.words, table.values, table.scales)
    if digest != table.sha256:
        raise ValueError(
            f"{folder} has been changed or damaged: its sha256 is {digest[:12]}..., "
            f"config.json says {table.sha256[:12]}..."
        )
    return table


def checksum(words: Collection[str], values: np.ndarray, scales: np.ndarray) -> str:
    """Return the sha256 of a table's words, values and scales."""
    import numpy as np

    digest = hashlib.sha256("\n".join(words).encode())
    digest.update(str(values.shape).encode())
    for part in parts(values):
        digest.update(np.ascontiguousarray(part).data)
    digest.update(np.ascontiguousarray(scales).data)
    return digest.hexdigest()


def parts(values: np.ndarray) -> list[np.ndarray]:
    """Return an array in pieces of some thousand rows, for work that would copy all of it."""
    return [values[start : start + 4096] for start in range(0, len(values), 4096)]


def presets_folder() -> Path | None:
    """Return the folder with the zoo's vectors and presets, or None where they are not installed.

    ``$DENSE_LSTM_ZOO_PRESETS`` names another folder. An empty one counts as not installed.
    """
    if folder_name := os.environ.get("DENSE_LSTM_ZOO_PRESETS"):
        return user_path(folder_name) if user_path(folder_name).is_dir() else None
    spec = importlib.util.find_spec("dense_lstm_zoo_presets")
    return Path(spec.origin).parent if spec and spec.origin else None


def installed_tables() -> dict[str, Path]:
    """Return the folders of the installed tables, by name."""
    folder = presets_folder()
    if folder is None or not (folder / "vectors").is_dir():
        return {}
    paths = (path for path in sorted((folder / "vectors").iterdir()) if not path.name.startswith("."))  # half-written
    return {path.name: path for path in paths if (path / "config.json").is_file()}
