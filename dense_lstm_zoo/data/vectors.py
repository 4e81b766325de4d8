"""Word vectors in GloVe's and word2vec's text formats: plain, ``.gz`` or ``.zip``, read in one pass.

A line holds a word and its numbers. Word2vec's text format begins with a line ``count dim``. The published files hold
up to two million words, of which a task needs a tenth: only kept lines are parsed, and only they are checked.
"""

from __future__ import annotations

import codecs
import itertools
import os
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field

import numpy as np

from dense_lstm_zoo import checks
from dense_lstm_zoo.data import vector_text
from dense_lstm_zoo.storage import files, pipes

PROBLEMS = ("malformed", "wrong width", "duplicate", "non-finite", "undecodable")

_BATCH = 512  # lines parsed in one call of NumPy, whose overhead equals two lines


@dataclass(frozen=True)
class Problem:
    """The number of lines skipped for one reason, and where the first five are (the file's first line is 1)."""

    count: int = 0
    lines: tuple[int, ...] = ()


@dataclass(frozen=True)
class VectorReport:
    """The outcome of `read_vectors` on a file. ``print(report)`` shows it in a few lines.

    Attributes:
        lines: Lines read, including the header and skipped lines.
        words: Words kept.
        dim: Numbers per word.
        header: ``(count, dim)`` of a word2vec header, or None.
        problems: A `Problem` for each of `PROBLEMS`. Only lines that would have been kept are checked.
        stopped: Whether reading ended before the file did, because every requested word was found.
        damage: Why the rest of a truncated or damaged file could not be read. Empty if nothing was wrong.
    """

    lines: int
    words: int
    dim: int
    header: tuple[int, int] | None = None
    problems: dict[str, Problem] = field(default_factory=dict)
    stopped: bool = False
    damage: str = ""

    @property
    def truncated(self) -> bool:
        """True if the file is truncated or damaged: words after line ``lines`` are missing."""
        return bool(self.damage)

    @property
    def has_problems(self) -> bool:
        """True if lines were skipped, the rest could not be read, or the header announces another number of words."""
        return self.truncated or self._contradicts_header or any(problem.count for problem in self.problems.values())

    @property
    def _contradicts_header(self) -> bool:
        return not self.stopped and self.header is not None and self.header[0] != self.lines - 1

    def __str__(self) -> str:
        text = [f"{self.lines:,} lines read, {self.words:,} words kept, {self.dim} numbers each."]
        for kind, problem in self.problems.items():
            if problem.count:
                more = ", ..." if problem.count > len(problem.lines) else ""
                text.append(f"Skipped, {kind}: {problem.count:,} (line {', '.join(map(str, problem.lines))}{more}).")
        if self.damage:
            text.append(f"The file is truncated or damaged after line {self.lines:,}: {self.damage}.")
        elif self.stopped:
            text.append("Reading stopped there: every requested word was found.")
        elif self.header and self._contradicts_header:
            text.append(f"The header announces {self.header[0]:,} words, but the file has {self.lines - 1:,}.")
        return "\n".join(text)


@dataclass(frozen=True, eq=False)
class WordVectors:
    """Words, their vectors and a report on the reading.

    Attributes:
        words: In the file's order, which in published files is most frequent first.
        matrix: float32, ``(len(words), dim)``. Row i is the vector of ``words[i]``.
        report: See `VectorReport`.
    """

    words: list[str]
    matrix: np.ndarray
    report: VectorReport

    def index(self) -> dict[str, int]:
        """Return each word's row in ``matrix``."""
        return {word: row for row, word in enumerate(self.words)}


def read_vectors(
    path: str | os.PathLike[str],
    *,
    words: Collection[str] | None = None,
    most_frequent: int | None = 0,
    dim: int | None = None,
) -> WordVectors:
    """Read the vectors of requested words and of the file's most frequent words.

    Fields are separated by spaces or tabs. A word may contain spaces (GloVe 840B has such words), unless its last part
    is a number. Bad lines are skipped and counted in the report, the first of repeated words is kept, and a truncated
    archive gives the words before the damage. Nothing is written to disk.

    Args:
        path: A file in GloVe's or word2vec's text format: plain, gzip, or a zip archive of one file.
        words: Words to keep. Those that the file lacks are absent from the result.
        most_frequent: Also keep this number of distinct valid words from the start of the file. None keeps all.
        dim: Numbers per word, if the file must match it. By default inferred from the first lines.

    Returns:
        `WordVectors`, in the file's order.

    Raises:
        FileNotFoundError: No such file. The message names near matches in the folder.
        ValueError: A folder, an empty or binary file, a zip archive of several files, a file without any valid line or
            with another ``dim``, or arguments that request nothing.

    Example:
        >>> import pathlib, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = pathlib.Path(folder.name, "tiny.txt")
        >>> _ = path.write_text("the 0.5 1\\nof 2 -0.25\\ncat 0 1\\n")
        >>> vectors = read_vectors(path, words={"cat", "dog"}, most_frequent=1)
        >>> vectors.words, vectors.matrix.tolist()
        (['the', 'cat'], [[0.5, 1.0], [0.0, 1.0]])
        >>> print(vectors.report)
        3 lines read, 2 words kept, 2 numbers each.
        >>> folder.cleanup()
    """
    limit = None if most_frequent is None else checks.integer("most_frequent", most_frequent, minimum=0)
    dim = None if dim is None else checks.integer("dim", dim)
    sought = _encoded(words)
    if limit == 0 and not sought:
        raise ValueError("Nothing to read: give words, most_frequent (a number, or None for all) or both.")
    # A word may contain spaces, so a line's first field only rules lines out: that is enough for most of the file.
    starts = {word.partition(b" ")[0] for word in sought}
    path = files.existing_file(path)
    damage: list[str] = []

    with pipes.stream(path) as file, vector_text.uncompressed(path, file) as stream:
        blocks = vector_text.blocks(stream, damage)
        first: list[bytes] = []
        for lines in blocks:
            first += lines
            if len(first) > vector_text.FIRST_LINES:
                break
        if first:
            first[0] = first[0].removeprefix(codecs.BOM_UTF8)
        header, learnt = vector_text.layout(path, first, damage)
        if dim not in (None, learnt):
            raise ValueError(f"{path} has {learnt} numbers per word; received dim={dim}.")

        selection = _Selection(learnt, limit, sought)
        count = 1 if header else 0
        most_frequent_done = stopped = False
        for lines in itertools.chain([first[count:]], blocks):
            for number, line in enumerate(lines, start=count + 1):
                most_frequent_done = most_frequent_done or selection.most_frequent_done()
                if most_frequent_done and line.partition(b" ")[0] not in starts:
                    continue
                selection.add(number, line)
            count += len(lines)
            if selection.everything_found():
                stopped = next(blocks, None) is not None
                break
        selection.flush()

    report = VectorReport(
        lines=count,
        words=len(selection.words),
        dim=learnt,
        header=header,
        problems={kind: Problem(selection.counts[kind], tuple(selection.examples[kind])) for kind in PROBLEMS},
        stopped=stopped,
        damage=damage[0] if damage else "",
    )
    if limit != 0 and not selection.words:
        raise ValueError(f"{path} has no valid line. {vector_text.ACCEPTED}\n{report}")
    selection.matrix.resize((len(selection.words), learnt), refcheck=False)
    return WordVectors(list(selection.words.values()), selection.matrix, report)


class _Selection:
    """The words kept so far, their matrix, and the lines that wait to be parsed together."""

    def __init__(self, dim: int, limit: int | None, sought: set[bytes]) -> None:
        self.dim = dim
        self.limit = limit
        self.sought = sought
        self.words: dict[bytes, str] = {}
        self.matrix = np.empty((0, dim), np.float32)
        self.waiting: dict[bytes, tuple[int, str, bytes]] = {}
        self.counts: Counter[str] = Counter()
        self.examples: dict[str, list[int]] = {kind: [] for kind in PROBLEMS}

    def most_frequent_done(self) -> bool:
        # Until the limit is reached, every valid word is kept, so the kept words are the most frequent ones.
        if self.limit is None:
            return False
        if len(self.words) < self.limit <= len(self.words) + len(self.waiting):
            self.flush()
        return len(self.words) >= self.limit

    def everything_found(self) -> bool:
        if len(self.words) + len(self.waiting) < len(self.sought) or not self.most_frequent_done():
            return False
        self.flush()
        return self.words.keys() >= self.sought

    def add(self, number: int, line: bytes) -> None:
        word, numbers, problem = vector_text.split(line, self.dim)
        if not problem and word not in self.sought and self.most_frequent_done():
            return
        if word in self.waiting:
            self.flush()  # whether the earlier line is valid is known only after parsing
        if not problem and word in self.words:
            problem = "duplicate"
        if not problem:
            try:
                self.waiting[word] = (number, word.decode("utf-8"), numbers)
            except UnicodeDecodeError:
                problem = "undecodable"
        if problem:
            self.skip(number, problem)
        elif len(self.waiting) >= _BATCH:
            self.flush()

    def skip(self, number: int, problem: str) -> None:
        self.counts[problem] += 1
        # Waiting lines are checked later than their successors, so the five lowest are kept, not the first five.
        self.examples[problem] = sorted([*self.examples[problem], number])[:5]

    def flush(self) -> None:
        rows = vector_text.parse([numbers for _, _, numbers in self.waiting.values()], self.dim)
        old = len(self.words)
        if old + len(rows) > len(self.matrix):
            # In place, which does not copy large arrays. With little slack, as the matrix may take gigabytes.
            self.matrix.resize((old + max(len(rows), 1024, old // 16), self.dim), refcheck=False)
        for (key, (number, word, numbers)), row in zip(self.waiting.items(), rows, strict=True):
            if row is None:
                self.skip(number, "malformed" if len(numbers.split()) == self.dim else "wrong width")
            elif not np.isfinite(row).all():
                self.skip(number, "non-finite")
            else:
                self.matrix[len(self.words)] = row
                self.words[key] = word
        self.waiting.clear()


def _encoded(words: Collection[str] | None) -> set[bytes]:
    if words is None:
        return set()
    if isinstance(words, str | bytes) or not isinstance(words, Collection):
        raise ValueError(f"words must be a collection of words, such as a set; received {words!r}.")
    for word in words:
        if not isinstance(word, str):
            raise ValueError(f"words must be strings; received {word!r}.")
    # No valid file contains a lone surrogate. Such a word must not prevent reading the others.
    return {word.encode("utf-8", "surrogatepass") for word in words}
