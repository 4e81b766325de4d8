"""Word tables: looking words up, making and writing tables. ``dense_lstm_zoo_runtime.word_table`` reads them."""

from __future__ import annotations

import difflib
import functools
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dense_lstm_zoo import checks
from dense_lstm_zoo.storage import files
from dense_lstm_zoo_runtime import install
from dense_lstm_zoo_runtime.word_table import MappedTable, checksum, parts
from dense_lstm_zoo_runtime.word_table import installed_tables as installed_tables
from dense_lstm_zoo_runtime.word_table import presets_folder as presets_folder

if TYPE_CHECKING:
    import numpy as np

DEFAULT = "zoo_600d"  # the table that ``train`` uses when it is installed


@dataclass(frozen=True, eq=False)
class WordTable(MappedTable):
    """Words and their vectors.

    Attributes:
        name: Its name, such as ``"zoo_600d"``.
        words: Most frequent first.
        values: int8, ``(len(words), dim)``, or float32 with scales of 1 in a table that was not rounded.
        scales: float32, one per word: ``values * scales[:, None]`` are the vectors.
        sha256: The checksum of words, values and scales.
        about: Sources, terms and the command that made it.
    """

    @functools.cached_property
    def index(self) -> dict[str, int]:
        """The row of each word."""
        return {word: row for row, word in enumerate(self.words)}

    def __contains__(self, word: object) -> bool:
        """Return whether the table has a vector for a word."""
        return word in self.index

    def vectors(self, words: Sequence[str]) -> np.ndarray:
        """Return the vectors of words as float32, ``(len(words), dim)``.

        Raises:
            ValueError: A word that the table does not have, with its nearest spelling.
        """
        return self.rows([self._row(word) for word in words])

    def nearest(self, word: str, k: int = 10) -> list[tuple[str, float]]:
        """Return the ``k`` words with the highest cosine similarity to ``word``, highest first.

        Raises:
            ValueError: The table does not have the word or has a vector of zeros for it, or ``k`` is not a positive
                integer.

        Example:
            ``zoo.load_vectors("zoo_600d").nearest("movie", 3)``
        """
        import numpy as np

        k = checks.integer("k", k)
        row = self._row(word)
        norms = self._norms
        if not norms[row]:
            raise ValueError(f"{self.name} has a vector of zeros for {word!r}, and no word is near that.")
        dots = np.concatenate(
            [part.astype(np.float32) @ self.values[row].astype(np.float32) for part in parts(self.values)]
        )
        cosines = np.divide(dots, norms * norms[row], out=np.full(len(self), -np.inf, np.float32), where=norms > 0)
        cosines[row] = -np.inf
        best = np.argsort(-cosines, kind="stable")[: min(k, int((norms > 0).sum()) - 1)]
        return [(self.words[i], float(cosines[i])) for i in best]

    @functools.cached_property
    def _norms(self) -> np.ndarray:
        import numpy as np

        return np.concatenate([np.linalg.norm(part.astype(np.float32), axis=1) for part in parts(self.values)])

    def _row(self, word: str) -> int:
        if word not in self.index:
            near = difflib.get_close_matches(str(word), self.words, n=3, cutoff=0.7)
            hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
            raise ValueError(f"{self.name} has no word {word!r:.80}; its {len(self):,} words are in lower case.{hint}")
        return self.index[word]

    def write(self, folder: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write the table to a folder, whole or not at all, and return the folder."""
        import numpy as np

        target = files.check_new_folder(folder, "word table" if overwrite else None)
        with files.new_folder(target) as new:
            (new / "words.txt").write_text("".join(f"{word}\n" for word in self.words), encoding="utf-8", newline="\n")
            np.save(new / "vectors.npy", self.values, allow_pickle=False)
            np.save(new / "scales.npy", self.scales, allow_pickle=False)
            config = {"name": self.name, "sha256": self.sha256, **self.about}
            (new / "config.json").write_text(files.to_json(config), encoding="utf-8")
        return target.path


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
    return WordTable(name, tuple(words), values, scales, checksum(words, values, scales), dict(about or {}))


def read_table(folder: str | os.PathLike[str]) -> WordTable:
    """Read the table in a folder. Its vectors are mapped, not read.

    Raises:
        FileNotFoundError: No such folder.
        ValueError: A file that is missing, a link, damaged, or changed since it was written.
    """
    return WordTable.read(folder)


def part_of(table: WordTable, name: str, first: int, last: int) -> dict[str, Any]:
    """Return the ``config.json`` of a table that is columns ``first`` to ``last - 1`` of another one."""
    sha256 = checksum(table.words, table.values[:, first:last], table.scales)
    return {"name": name, "sha256": sha256, "of": table.name, "columns": [first, last]}


@functools.lru_cache(maxsize=4)
def _read_cached(folder: Path, changed: int) -> WordTable:
    return read_table(folder)


def load_vectors(name: str) -> WordTable:
    """Return an installed word table by name, such as ``"zoo_600d"``.

    Raises:
        ValueError: No such table is installed. The message says how to get the zoo's own.

    Example:
        ``zoo.load_vectors("zoo_600d").nearest("movie")``
    """
    tables = installed_tables()
    if name not in tables:
        if not tables:
            raise ValueError(f"{name!r} is not installed: {install.PRESETS}.")
        raise checks.unknown_name("word table", name, tables)
    folder = tables[name]
    return _read_cached(folder, (folder / "config.json").stat().st_mtime_ns)
