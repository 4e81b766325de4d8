"""A teacher's answers in any of their forms, as probabilities."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dense_lstm_zoo import checks
from dense_lstm_zoo.data import labels as written
from dense_lstm_zoo.data import soft_labels
from dense_lstm_zoo.data.frames import check_frame, is_frame
from dense_lstm_zoo.data.label_columns import SETS
from dense_lstm_zoo.data.tables import LONGEST_LABEL

if TYPE_CHECKING:
    import numpy as np

_FORMS = "a matrix (texts, labels), or for each text a dictionary of probabilities, or a label, or None for no answer"


def probabilities_of(
    answers: Any, labels: Sequence[str], count: int, teacher: str, *, is_several: bool = False
) -> np.ndarray:
    """Return what a function answers as probabilities: float32 (texts, labels), NaN for a text without an answer.

    Args:
        answers: A matrix (texts, labels), a table with a column per label, or a list with an item per text: a
            dictionary of probabilities by label, a label, a list of labels where texts may have several, or None.
        labels: The labels, in the order of the columns.
        count: The number of texts.
        teacher: The teacher's name, for errors.
        is_several: Whether texts may have several labels.

    Raises:
        TypeError: Answers of another form.
        ValueError: Another number of answers, probabilities that are not, or a label that is unknown in a dictionary.

    Example:
        >>> probabilities_of([{"bad": 0.25, "good": 0.75}, "Bad.", "no idea"], ["bad", "good"], 3, "mine").tolist()
        [[0.25, 0.75], [1.0, 0.0], [nan, nan]]
    """
    import numpy as np

    if is_frame(answers):
        answers = _of_frame(answers, labels, teacher)
    if hasattr(answers, "numpy"):  # a tensor
        answers = answers.numpy()
    if isinstance(answers, str | bytes | Mapping) or not hasattr(answers, "__len__"):
        raise TypeError(f"{teacher} must return {_FORMS}; received {type(answers).__name__}.")
    if len(answers) != count:
        raise ValueError(f"{teacher} must answer each text; it returned {len(answers)} answers to {count} texts.")
    if getattr(answers, "ndim", 0) == 2 and answers.shape[1] != len(labels):
        raise ValueError(
            f"{teacher} returned {answers.shape[1]} probabilities per text; there are {len(labels)} labels."
        )
    rows = np.full((count, len(labels)), np.nan)
    find = label_finder(labels)
    for number, answer in enumerate(answers):
        if answer is None:
            continue
        names = [answer] if isinstance(answer, str) else answer
        if isinstance(names, SETS) and all(isinstance(name, str) for name in names):
            if names is answer and not is_several:
                raise TypeError(
                    f"{teacher} must return one label per text; answer {number}, counted from 0, is {answer!r:.80}. If "
                    "texts may have several, say so with label_separator (--label-separator), or give dataset=."
                )
            rows[number] = of_names(names, find, len(labels))
            continue
        location = f"{teacher}, answer {number}, counted from 0"
        if isinstance(answer, Mapping):
            rows[number] = _of_mapping(answer, labels, location)
        elif (shares := _numbers(answer)).shape == (len(labels),):
            rows[number] = shares
        else:
            raise TypeError(f"{teacher} must return {_FORMS}; answer {number}, counted from 0, is {answer!r:.80}.")
        if np.isnan(rows[number]).any():
            raise ValueError(f"{location}: the probabilities hold NaN.")
    return checked_rows(rows, f"{teacher}, answer {{}}, counted from 0".format, is_several=is_several)


def check_names(labels: Any) -> list[str]:
    """Return the names of labels, in the order of a teacher's columns, as a list, without spaces around them.

    Raises:
        TypeError: Anything but a string or a sequence, such as a set, which has no order.
        ValueError: A name that is not a string, or empty, or longer than labels in a table may be.
    """
    if isinstance(labels, str):
        return [labels.strip()]
    if isinstance(labels, bytes | Mapping) or not (isinstance(labels, Sequence) or hasattr(labels, "tolist")):
        raise TypeError(
            f"labels must be a list, in the order of a teacher's columns; received {type(labels).__name__} "
            f"{labels!r:.80}."
        )
    names = list(labels.tolist() if hasattr(labels, "tolist") else labels)
    if not all(isinstance(name, str) and name.strip() for name in names):
        raise ValueError(f"labels must be strings that are not empty; received {labels!r:.80}.")
    names = [name.strip() for name in names]
    if longest := next((name for name in names if len(name) > LONGEST_LABEL), None):
        raise ValueError(
            f"labels must be strings of at most {LONGEST_LABEL:,} characters; received one of {len(longest):,}, which "
            f"begins with {longest[:40]!r}."
        )
    return names


def of_names(names: Iterable[str], find: Callable[[str], int | None], count: int) -> np.ndarray:
    """Return 1 for each label that is named and else 0: (labels,). NaN if a name is not a label, for no answer.

    Args:
        names: The names.
        find: What ``label_finder`` returned.
        count: The number of labels.

    Example:
        >>> of_names(["food", "staff"], label_finder(["food", "price", "staff"]), 3).tolist()
        [1.0, 0.0, 1.0]
    """
    import numpy as np

    row = np.zeros(count)
    for name in names:
        place = find(name)
        if place is None:
            return np.full(count, np.nan)
        row[place] = 1.0
    return row


def checked_rows(rows: np.ndarray, locate: Callable[[int], str], *, is_several: bool) -> np.ndarray:
    """Return probabilities as ``soft_labels.checked`` does, except that rows may be NaN, for no answer."""
    import numpy as np

    answered = np.flatnonzero(~np.isnan(rows).all(axis=1))
    result = np.full(rows.shape, np.nan, np.float32)
    if len(answered):
        result[answered] = soft_labels.checked(
            rows[answered], lambda place: locate(int(answered[place])), is_several=is_several
        )
    return result


def one_hot(place: int, count: int, confidence: float = 1.0) -> list[float]:
    """Return the probabilities of a label that is given with a confidence. The others share the rest.

    Example:
        >>> one_hot(1, 3, 0.5)
        [0.25, 0.5, 0.25]
    """
    return [confidence if i == place else (1 - confidence) / (count - 1) for i in range(count)]


def label_finder(labels: Sequence[str]) -> Callable[[str], int | None]:
    """Return a function from what a teacher writes to the index of the label that it means, or None.

    Case, spaces and punctuation around a label do not count, nor does what stands before a colon.

    Example:
        >>> find = label_finder(["bad", "good"])
        >>> [find(text) for text in ("good", " **Good**.", "Sentiment: bad", "not good")]
        [1, 1, 0, None]
    """
    exact = {written.key(label): i for i, label in enumerate(labels)}
    plain: dict[str, int | None] = {}
    for i, label in enumerate(labels):
        plain[_plain(label)] = None if _plain(label) in plain else i  # two labels that only punctuation tells apart

    def find(text: str) -> int | None:
        if (key := written.key(text.strip())) in exact:
            return exact[key]
        return next((plain[x] for x in (_plain(text), _plain(text.rpartition(":")[2])) if x in plain), None)

    return find


def _plain(text: str) -> str:
    """Return a text in one case, without spaces and punctuation at its ends. The sign of a number is none."""
    characters = text.casefold()
    is_word = [unicodedata.category(character)[0] in "LNS" for character in characters]
    if not any(is_word):
        return characters.strip()
    start, end = is_word.index(True), len(is_word) - is_word[::-1].index(True)
    is_signed = start > 0 and characters[start].isdecimal() and characters[start - 1] in "+-\N{MINUS SIGN}"
    return characters[start - is_signed : end]


def _of_mapping(answer: Mapping[str, Any], labels: Sequence[str], location: str) -> list[float]:
    shares = {written.key(str(name)): soft_labels.number(share, name, location) for name, share in answer.items()}
    _check_labels(answer, labels, location)
    return [shares.get(written.key(label), 0.0) for label in labels]


def _check_labels(names: Iterable[object], labels: Sequence[str], location: str) -> None:
    """Raise ``ValueError`` for an unknown label."""
    keys = {written.key(label) for label in labels}
    for name in names:
        if written.key(str(name)) not in keys:
            raise checks.unknown_name(f"label in {location}:", str(name), labels)


def _numbers(answer: Any) -> np.ndarray:
    """Return an answer as numbers, or an empty array if it holds anything else."""
    import numpy as np

    try:
        return np.asarray(answer, np.float64)
    except (TypeError, ValueError):
        return np.empty(0)


def _of_frame(answers: Any, labels: Sequence[str], teacher: str) -> np.ndarray:
    """Return the probabilities in a table, whose columns are labels, or as many as labels and without names."""
    frame = check_frame(teacher, answers)
    if list(frame.columns) != list(range(len(labels))) or {*map(str, frame.columns)} == {*map(written.key, labels)}:
        _check_labels(frame.columns, labels, teacher)
        columns = {written.key(str(column)): column for column in frame.columns}
        if lacking := [label for label in labels if written.key(label) not in columns]:
            raise ValueError(f"{teacher} returned a table without a column for {', '.join(lacking)}.")
        frame = frame[[columns[written.key(label)] for label in labels]]
    return frame.to_numpy(dtype=object)
