"""Word tables: words with vectors of one byte per number, mapped into memory rather than read.

A table is a folder: ``config.json`` (name, sources, terms, sha256), ``words.txt`` (one per line, most frequent first),
``vectors.npy`` (int8, (words, dim)) and ``scales.npy`` (float32, one per row). A row's vector is its bytes times its
scale. A table that is some columns of another one is ``config.json`` alone: ``of`` names the other, ``columns`` the
first column and the one after the last. The tables of the zoo are in the distribution ``dense-lstm-zoo-presets``.
"""

from __future__ import annotations

import difflib
import functools
import hashlib
import importlib.util
import json
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dense_lstm_zoo import checks, files

if TYPE_CHECKING:
    import numpy as np

DEFAULT = "zoo_600d"  # the table that ``train`` uses when it is installed
_FILES = ("words.txt", "vectors.npy", "scales.npy")
_MOST_WORDS = 10_000_000


@dataclass(frozen=True, eq=False)
class WordTable:
    """Words and their vectors.

    Attributes:
        name: Its name, such as ``"zoo_600d"``.
        words: Most frequent first.
        values: int8, ``(len(words), dim)``; float32 with scales of 1 in a table that was not rounded.
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

    @property
    def dim(self) -> int:
        """Numbers per word."""
        return int(self.values.shape[1])

    @functools.cached_property
    def index(self) -> dict[str, int]:
        """The row of each word."""
        return {word: row for row, word in enumerate(self.words)}

    def __len__(self) -> int:
        """Return the number of words."""
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        """Return whether the table has a vector for a word."""
        return word in self.index

    def rows(self, rows: Sequence[int] | np.ndarray) -> np.ndarray:
        """Return the vectors of rows as float32, ``(len(rows), dim)``."""
        import numpy as np

        rows = np.asarray(rows, np.int64)
        return self.values[rows].astype(np.float32) * self.scales[rows, None]

    def vectors(self, words: Sequence[str]) -> np.ndarray:
        """Return the vectors of words as float32, ``(len(words), dim)``.

        Raises:
            ValueError: A word that the table does not have, with its nearest spelling.
        """
        return self.rows([self._row(word) for word in words])

    def nearest(self, word: str, k: int = 10) -> list[tuple[str, float]]:
        """Return the ``k`` words with the highest cosine similarity to ``word``, highest first.

        Raises:
            ValueError: The table does not have the word, or ``k`` is not a positive integer.

        Example:
            ``zoo.load_vectors("zoo_600d").nearest("movie", 3)``
        """
        import numpy as np

        k = checks.integer("k", k)
        row = self._row(word)
        norms = self._norms
        dots = np.concatenate(
            [part.astype(np.float32) @ self.values[row].astype(np.float32) for part in _parts(self.values)]
        )
        with np.errstate(invalid="ignore", divide="ignore"):
            cosines = np.where(norms > 0, dots / (norms * norms[row]), -1.0)
        cosines[row] = -np.inf
        best = np.argsort(-cosines, kind="stable")[: min(k, len(self) - 1)]
        return [(self.words[i], float(cosines[i])) for i in best]

    @functools.cached_property
    def _norms(self) -> np.ndarray:
        import numpy as np

        return np.concatenate([np.linalg.norm(part.astype(np.float32), axis=1) for part in _parts(self.values)])

    def _row(self, word: str) -> int:
        if word not in self.index:
            near = difflib.get_close_matches(str(word), self.words, n=3, cutoff=0.7)
            hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
            raise ValueError(f"{self.name} has no word {word!r:.80}; its {len(self):,} words are in lower case.{hint}")
        return self.index[word]

    def write(self, folder: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write the table to a folder, whole or not at all; return the folder."""
        import numpy as np

        path = Path(folder)
        with files.new_folder(path, overwrite) as new:
            (new / "words.txt").write_text("".join(f"{word}\n" for word in self.words), encoding="utf-8", newline="\n")
            np.save(new / "vectors.npy", self.values, allow_pickle=False)
            np.save(new / "scales.npy", self.scales, allow_pickle=False)
            config = {"name": self.name, "sha256": self.sha256, **self.about}
            (new / "config.json").write_text(files.to_json(config), encoding="utf-8")
        return path


def quantised(
    name: str,
    words: Sequence[str],
    matrix: np.ndarray,
    about: Mapping[str, Any] | None = None,
    *,
    rounded: bool = True,
) -> WordTable:
    """Return a table of ``matrix`` (words, dim) rounded to one byte per number, with a scale per row.

    With ``rounded=False`` the numbers stay float32, to measure what rounding costs.

    Raises:
        ValueError: Repeated words, words with white space, or a matrix that is not finite or has another length.

    Example:
        >>> import numpy as np
        >>> table = quantised("tiny", ["a", "b"], np.array([[1.0, -2.0], [0.0, 0.5]]))
        >>> table.vectors(["b"]).tolist()
        [[0.0, 0.5]]
    """
    import numpy as np

    matrix = np.asarray(matrix, np.float32)
    if matrix.ndim != 2 or len(matrix) != len(words) or not np.isfinite(matrix).all():
        raise ValueError(
            f"A word table needs one row of finite numbers per word; received {len(words)} words, shape {matrix.shape}."
        )
    if len(set(words)) < len(words) or any(not word or any(map(str.isspace, word)) for word in words):
        raise ValueError("The words of a table must be distinct and hold no white space.")
    scales = np.abs(matrix).max(axis=1) / 127 if rounded else np.ones(len(matrix))
    scales[scales == 0] = 1
    values = np.rint(matrix / scales[:, None]).astype(np.int8) if rounded else matrix
    scales = scales.astype(np.float32)
    return WordTable(name, tuple(words), values, scales, _checksum(words, values, scales), dict(about or {}))


def read_table(folder: str | os.PathLike[str]) -> WordTable:
    """Read the table in a folder; its vectors are mapped, not read.

    Raises:
        FileNotFoundError: No such folder.
        ValueError: A file that is missing, a link, damaged, or changed since it was written.
    """
    import numpy as np

    folder = Path(folder)
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder} is not a folder; a word table is a folder.")
    _check_files(folder, "config.json")
    try:
        about = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        name, expected = str(about.pop("name")), str(about.pop("sha256"))
        if "of" in about:
            return _columns(name, expected, about, folder)
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
    return _checked(WordTable(name, tuple(words), values, scales, expected, about), folder)


def _check_files(folder: Path, *names: str) -> None:
    for name in names:
        if not (folder / name).is_file() or (folder / name).is_symlink():
            raise ValueError(f"{folder} is not a word table: {name} is missing or a link.")


def _checked(table: WordTable, folder: Path) -> WordTable:
    found = _checksum(table.words, table.values, table.scales)
    if found != table.sha256:
        raise ValueError(
            f"{folder} has been changed or damaged: its sha256 is {found[:12]}..., "
            f"config.json says {table.sha256[:12]}..."
        )
    return table


def _columns(name: str, expected: str, about: dict[str, Any], folder: Path) -> WordTable:
    """Return the table that ``about`` describes as some columns of a table beside it."""
    other, (first, last) = str(about["of"]), about["columns"]
    if Path(other).name != other or not (folder.parent / other / _FILES[0]).is_file():
        raise ValueError(f"it is part of {other!r:.80}, which is not a table beside it")
    whole = read_table(folder.parent / other)
    if not (isinstance(first, int) and isinstance(last, int) and 0 <= first < last <= whole.dim):
        raise ValueError(f"columns {first!r:.80} to {last!r:.80} are not in {other}, which has {whole.dim}")
    part = WordTable(name, whole.words, whole.values[:, first:last], whole.scales, expected, about)
    return _checked(part, folder)


def part_of(whole: WordTable, name: str, first: int, last: int) -> dict[str, Any]:
    """Return the ``config.json`` of a table that is columns ``first`` to ``last - 1`` of another one."""
    sha256 = _checksum(whole.words, whole.values[:, first:last], whole.scales)
    return {"name": name, "sha256": sha256, "of": whole.name, "columns": [first, last]}


def presets_folder() -> Path | None:
    """Return the folder with the zoo's vectors and presets, or None where they are not installed.

    ``$DENSE_LSTM_ZOO_PRESETS`` names another folder; an empty one counts as not installed.
    """
    if given := os.environ.get("DENSE_LSTM_ZOO_PRESETS"):
        return Path(given) if Path(given).is_dir() else None
    spec = importlib.util.find_spec("dense_lstm_zoo_presets")
    return Path(spec.origin).parent if spec and spec.origin else None


def installed_tables() -> dict[str, Path]:
    """Return the folders of the installed tables, by name."""
    folder = presets_folder()
    if folder is None or not (folder / "vectors").is_dir():
        return {}
    return {path.name: path for path in sorted((folder / "vectors").iterdir()) if (path / "config.json").is_file()}


@functools.lru_cache(maxsize=4)
def _read(folder: Path, changed: int) -> WordTable:
    return read_table(folder)


def load_vectors(name: str) -> WordTable:
    """Return an installed word table by name, such as ``"zoo_600d"``.

    Raises:
        ValueError: No such table is installed; the message says how to get the zoo's own.

    Example:
        ``zoo.load_vectors("zoo_600d").nearest("movie")``
    """
    tables = installed_tables()
    if name not in tables:
        if not tables:
            raise ValueError(f"{name!r} is not installed: pip install dense-lstm-zoo-presets (or make install).")
        raise checks.unknown_name("word table", name, tables)
    folder = tables[name]
    return _read(folder, (folder / "config.json").stat().st_mtime_ns)


def _parts(values: np.ndarray) -> list[np.ndarray]:
    return [values[start : start + 4096] for start in range(0, len(values), 4096)]


def _checksum(words: Collection[str], values: np.ndarray, scales: np.ndarray) -> str:
    import numpy as np

    digest = hashlib.sha256("\n".join(words).encode())
    digest.update(str(values.shape).encode())
    for part in _parts(values):
        digest.update(np.ascontiguousarray(part).data)
    digest.update(np.ascontiguousarray(scales).data)
    return digest.hexdigest()
