"""A labelling that can be killed at any moment: what a teacher has answered is kept, and no text is asked twice."""

from __future__ import annotations

import bisect
import hashlib
import itertools
import json
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dense_lstm_zoo import checks
from dense_lstm_zoo.data.progress import Progress
from dense_lstm_zoo.display import notes
from dense_lstm_zoo.storage import files, work_folders
from dense_lstm_zoo.storage.json_files import DamagedFileError, read_object
from dense_lstm_zoo.storage.snapshots import Target
from dense_lstm_zoo.teaching.teachers import Teacher

if TYPE_CHECKING:
    import numpy as np

_SETTINGS, _ANSWERS = "settings.json", "answers.f32"
_ANEW = "overwrite"  # in the settings, of a labelling that began with it: no answer in it is older


def labelling_folder(output: Target) -> Path:
    """Return the folder of the answers to texts, beside the output, until it is written."""
    return files.beside(output.real, ".unfinished")


class Labelling:
    """The answers to texts so far, in a folder beside the output. ``answer`` continues from there.

    A batch is added to the file of answers once it is complete, and the file is flushed to the disk. A kill in between
    leaves part of a batch, which is cut off. Use it as a context manager: it locks the folder.

    Args:
        folder: The folder.
        teacher: The teacher.
        texts: The texts, in their order: strings, or lists of words, which have a row of answers for each word.
        batch_size: Texts that the teacher is asked for at once.
        overwrite: Whether to discard answers that another teacher, or to other texts, gave, and those of a function,
            which is known by its name alone. Of a labelling that began so, the function's answers are kept.

    Raises:
        BlockingIOError: Another process is labelling there.
        FileExistsError: The folder holds files that no labelling has left there.
        ValueError: The folder holds the answers of another teacher, or to other texts.
    """

    def __init__(
        self, folder: Path, teacher: Teacher, texts: Sequence[Any], batch_size: int, *, overwrite: bool = False
    ) -> None:
        self.folder, self._teacher, self._texts, self._batch_size = folder, teacher, texts, batch_size
        rows = (1 if isinstance(text, str) else len(text) for text in texts)
        self._ends = [0, *itertools.accumulate(rows)]  # the number of rows before each text, and of all
        self._lock = work_folders.lock(folder, f"Another process is labelling in {folder}.")
        try:
            self._open(overwrite)
        except BaseException:
            self.__exit__()
            raise

    def __enter__(self) -> Labelling:
        return self

    def __exit__(self, *_: object) -> None:
        if not self._has_answers():
            self.remove()  # nothing to go on from
        self._lock.release()

    def remove(self) -> None:
        """Delete the folder, but for what others put there. Called when the answers are where they belong."""
        work_folders.remove(self.folder, _SETTINGS, re.escape(_ANSWERS))

    @property
    def num_answered(self) -> int:
        """The number of texts that are answered."""
        path = self.folder / _ANSWERS
        size = path.stat().st_size if path.is_file() else 0
        whole = bisect.bisect_right(self._ends, size // (4 * len(self._teacher.labels))) - 1
        return whole if whole >= len(self._texts) else whole - whole % self._batch_size

    def answer(self, progress: bool = True) -> np.ndarray:
        """Ask the teacher for all texts that are not answered yet, and return all answers: float32 (texts, labels).

        Texts that are lists of words have a row for each word: (words, labels), those of all texts one after the other.

        Raises:
            OSError: The answers could not be written, as when the disk is full. Those before are kept.
            ValueError: Answers on the disk that are damaged.
            Exception: What the teacher raises. The answers before it are kept.
        """
        import numpy as np

        width = len(self._teacher.labels)
        path, start, total = self.folder / _ANSWERS, self.num_answered, len(self._texts)
        if start and progress:
            notes.show(f"resuming an interrupted labelling after {start:,} of {total:,} texts")
        line = Progress("labelled", progress, "texts")
        line.start(start, total)
        with path.open("ab") as file:
            file.truncate(4 * width * self._ends[start])  # what a kill left of a batch
        for first in range(start, total, self._batch_size):
            try:
                rows = self._teacher.answer(list(self._texts[first : first + self._batch_size]))
            except BaseException:
                line.clear()
                if progress:
                    notes.show(f"stopped after {first:,} of {total:,} texts; the same call goes on from there")
                raise
            try:
                with path.open("ab") as file:
                    file.write(np.ascontiguousarray(rows, "<f4").tobytes())
                    file.flush()
                    os.fsync(file.fileno())
            except OSError as error:
                line.clear()
                raise OSError(
                    error.errno,
                    f"{path} could not be written: {error.strerror}; the same call goes on after {first:,} of "
                    f"{total:,} texts",
                ) from None
            line.update(min(first + self._batch_size, total))
        line.finish(total)
        rows = np.fromfile(path, "<f4").reshape(-1, width)
        answered = rows[~np.isnan(rows).all(axis=1)]
        if self._teacher.is_several:
            is_whole = ((answered >= 0) & (answered <= 1)).all()
        else:
            is_whole = (np.abs(answered.sum(axis=1) - 1) < 1e-3).all()
        if len(rows) != self._ends[-1] or not is_whole:
            raise ValueError(f"{path} is damaged. Delete {self.folder} to label the texts again.")
        return rows.astype(np.float32)

    def _open(self, overwrite: bool) -> None:
        settings = {
            "teacher": self._teacher.identity,
            "labels": list(self._teacher.labels),
            "texts": digest(self._texts),
            "batch_size": self._batch_size,
            **({"labels_per_text": "several"} if self._teacher.is_several else {}),
        }
        path = self.folder / _SETTINGS
        may_differ = overwrite and self._teacher.is_known_by_name
        if self._has_answers() and path.is_file():
            before = _read_settings(path, overwrite)
            began_anew = before.pop(_ANEW, False) is True
            if before == json.loads(json.dumps(settings)) and (began_anew or not may_differ):
                if may_differ:
                    notes.say(
                        f"{self.folder}: the answers that {self._teacher.name} has given since the interrupted call "
                        "began are kept; delete the folder to ask for them again."
                    )
                return
            if not overwrite:
                raise ValueError(
                    f"{self.folder} holds an interrupted labelling with other settings: "
                    f"{_difference(before, settings)}. Repeat its call to finish it, name another output, or "
                    "overwrite it (overwrite=True, --overwrite)."
                )
        if self._has_answers():
            notes.say(f"{self.folder}: the answers of an interrupted labelling are discarded")
        (self.folder / _ANSWERS).unlink(missing_ok=True)
        files.write_json(path, {**settings, **({_ANEW: True} if overwrite else {})})

    def _has_answers(self) -> bool:
        path = self.folder / _ANSWERS
        return path.is_file() and path.stat().st_size > 0


def _read_settings(path: Path, overwrite: bool) -> dict[str, Any]:
    """Return the settings of a labelling. If it may be overwritten, they may be damaged."""
    try:
        return read_object(path, advice=f"Delete {path.parent} to start over.")
    except DamagedFileError:
        if not overwrite:
            raise
        return {}


def _difference(before: dict[str, Any], now: dict[str, Any]) -> str:
    """Return a description of the settings that differ. A checksum of texts tells a reader nothing."""
    own, others = ({name: value for name, value in each.items() if name != "texts"} for each in (before, now))
    texts = [] if before.get("texts") == now["texts"] else ["the texts are others"]
    return ", ".join([*texts, *([checks.difference(own, others)] if own != others else [])])


def digest(texts: Iterable[Any]) -> str:
    """Return the sha256 of texts, strings or lists of words, in their order."""
    sha256 = hashlib.sha256()
    for text in texts:
        key = text if isinstance(text, str) else json.dumps(text)
        sha256.update(key.encode("utf-8", "surrogatepass") + b"\0")
    return sha256.hexdigest()
