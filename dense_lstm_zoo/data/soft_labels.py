"""Soft labels: for each text a probability of each label, as a teacher gives them, in the columns of a table."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dense_lstm_zoo import checks
from dense_lstm_zoo.data.frames import is_frame
from dense_lstm_zoo.data.label_columns import LabelColumns
from dense_lstm_zoo.display.notes import say

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

PREFIX = "probability_"  # of the column of each label
NESTED = "probabilities"  # in JSON, an object with the probability of each label
TEACHER = "teacher"  # the column that names who gave the probabilities
LABEL = "label"  # the usual column of the labels, which may be missing beside probabilities. Any other must be there
NO_LABEL = -2  # in place of the index of a label that nobody knows
_TOLERANCE = 0.01  # of a sum: files hold rounded numbers
_MOST_TEACHERS, _LONGEST_NAME = 20, 500  # more are not told
_EXACT = 1e-5  # sums nearer to one are those of float32
_SEVERAL_ADVICE = " If texts may have several labels, say so with label_separator (--label-separator)."


def label_columns(names: Iterable[Any], without: Sequence[Any], location: str, *, says: bool = True) -> dict[str, str]:
    """Return the label of each column of probabilities. Empty without two of them.

    Raises:
        ValueError: A column that is there twice.

    Args:
        names: The columns of a table.
        without: Columns that are something else whatever their names.
        location: The table, for errors, and for a line on standard error about a column that stands alone.
        says: Whether to write that line.

    Example:
        >>> label_columns(["text", "probability_bad", "probability_good"], ["text"], "reviews.csv")
        {'probability_bad': 'bad', 'probability_good': 'good'}
    """
    columns = [
        name
        for name in names
        if isinstance(name, str) and name.strip().startswith(PREFIX) and name.strip() != PREFIX and name not in without
    ]
    if len(columns) == 1:
        if says:
            say(f"{location}: the column {columns[0]!r} is not read; soft labels have a column for each label.")
        return {}
    labels = [column.strip().removeprefix(PREFIX).strip() for column in columns]
    if len(set(labels)) < len(labels):
        twice = next(label for label in labels if labels.count(label) > 1)
        raise ValueError(
            f"{location} has {labels.count(twice)} columns named {f'{PREFIX}{twice}'!r}; rename all but one. Spaces "
            "around a label do not count."
        )
    return dict(zip(columns, labels, strict=True))


def teacher_column(names: Iterable[Any], without: Sequence[Any]) -> Any:
    """Return the column that names who gave the probabilities, or None. The arguments are as for ``label_columns``."""
    own = (name for name in names if isinstance(name, str) and name.strip() == TEACHER)
    return next((name for name in own if name not in without), None)


def may_lack(labels: LabelColumns) -> bool:
    """Return whether a table with probabilities may lack the columns of labels: not one that has a name of its own."""
    return bool(labels.indicators) or labels.column in (None, LABEL)


class SoftRows:
    """The probabilities of texts, collected row by row. A row may have none, and then has a label.

    Example:
        >>> rows = SoftRows()
        >>> rows.append({"bad": "0.25", "good": "0.75"}, "reviews.csv, line 2")
        >>> rows.append({}, "reviews.csv, line 3")
        >>> rows.names, rows.values.tolist()
        (['bad', 'good'], [[0.25, 0.75], [nan, nan]])
    """

    def __init__(self) -> None:
        self._place_of: dict[str, int] = {}
        self._places, self._shares = array("l"), array("d")  # of all rows, one after the other
        self._ends = array("q")
        self._teachers: dict[str, None] = {}

    def append(self, shares: Mapping[str, Any], location: str, teacher: object = None) -> None:
        """Add a row.

        Args:
            shares: The probability of each label, a number or the text of one. Empty for a row without probabilities.
            location: Where the row is, for errors.
            teacher: Who gave them, a string, or anything else for nobody known.

        Raises:
            ValueError: A probability that is not a number.
        """
        for label, share in shares.items():
            self._places.append(self._place_of.setdefault(label, len(self._place_of)))
            self._shares.append(number(share, label, location))
        self._ends.append(len(self._shares))
        if shares and isinstance(teacher, str) and teacher.strip() and len(self._teachers) < _MOST_TEACHERS:
            self._teachers.setdefault(" ".join(teacher.split())[:_LONGEST_NAME])

    def has(self, place: int) -> bool:
        """Return whether the row at a place has probabilities."""
        return self._ends[place] > (self._ends[place - 1] if place else 0)

    @property
    def names(self) -> list[str]:
        """The labels, as they first occur."""
        return list(self._place_of)

    @property
    def teachers(self) -> tuple[str, ...]:
        """Those who gave the probabilities, as far as the rows say."""
        return tuple(self._teachers)

    @property
    def values(self) -> np.ndarray:
        """The probabilities (rows, labels), float64, NaN for rows that have none."""
        import numpy as np

        counts = np.diff(np.asarray(self._ends), prepend=0)
        values = np.where(counts > 0, 0.0, np.nan)[:, None].repeat(len(self._place_of), axis=1)
        values[np.repeat(np.arange(len(counts)), counts), np.asarray(self._places)] = self._shares
        return values


def number(share: object, label: str, location: str) -> float:
    """Return a probability as a number, or raise ``ValueError`` with its label and where it is."""
    try:
        if isinstance(share, bool) or share is None:
            raise ValueError
        return float(share)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{location}: the probability of {label!r} must be a number; found {share!r:.80}.") from None


def present(shares: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the probabilities of a row, or nothing if all its cells are empty or NaN."""
    return {} if all(_is_empty(share) for share in shares.values()) else shares


def _is_empty(share: object) -> bool:
    return share is None or share != share or (isinstance(share, str) and share.strip().lower() in ("", "nan"))


def of_json(row: Mapping[str, Any], without: Sequence[str], location: str) -> dict[str, Any]:
    """Return the probability of each label in an object of JSON: of ``probabilities``, or of ``probability_NAME``.

    Raises:
        ValueError: ``probabilities`` that are not an object.
    """
    nested = row.get(NESTED)
    if nested is None or NESTED in without:
        return {label: row[column] for column, label in label_columns(row, without, location, says=False).items()}
    if not isinstance(nested, dict):
        raise ValueError(
            f"{location}: {NESTED!r} must be an object with the probability of each label; found {nested!r:.80}."
        )
    shares = {str(label).strip(): share for label, share in nested.items()}
    if len(shares) < len(nested) or "" in shares:
        raise ValueError(f"{location}: {NESTED!r} names a label twice, or an empty one; found {[*nested]!r:.80}.")
    return shares


def checked(
    values: npt.ArrayLike, locate: Callable[[int], str], unit: str = "text", *, is_several: bool = False
) -> np.ndarray:
    """Return probabilities as float32 (texts, labels), each row with the sum 1 unless texts may have several labels.

    Args:
        values: The probabilities (texts, labels).
        locate: Returns where a row is, for errors.
        unit: What has a row: a text or a token.
        is_several: Whether texts may have several labels. Each probability is then one by itself, from 0 to 1.

    Raises:
        TypeError: Not a matrix of numbers.
        ValueError: A row with a number that is negative, infinite or NaN, with one above 1, or with another sum than 1.

    Example:
        >>> checked([[0.2, 0.8], [0.4, 0.4]], "row {}".format, is_several=True).shape
        (2, 2)
        >>> checked([[0.2, 1.8]], "row {}".format, is_several=True)
        Traceback (most recent call last):
        ValueError: row 0: the probabilities of a text must not be above 1; received 0.2, 1.8.
    """
    import numpy as np

    if is_frame(values):
        raise TypeError(
            "probabilities must be an array whose columns are in the order of label_names; received a table. Give "
            "table[label_names].to_numpy()."
        )
    try:
        rows = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        rows = np.empty(0)
    if rows.ndim != 2 or rows.shape[1] < 2:
        shape = f"an array of shape {rows.shape}" if rows.size else f"{values!r:.80}"
        raise TypeError(f"probabilities must be numbers (texts, labels) of at least two labels; received {shape}.")
    sums = np.ones(len(rows)) if is_several else rows.sum(axis=1)
    for is_wrong, complaint in (
        (~np.isfinite(rows).all(axis=1), "must be finite numbers"),
        ((rows < 0).any(axis=1), "must not be negative"),
        ((rows > 1 + _EXACT).any(axis=1) & is_several, "must not be above 1"),
        (np.abs(sums - 1) > _TOLERANCE, "must add up to 1"),
    ):
        if is_wrong.any():
            place = int(is_wrong.argmax())
            shares = ", ".join(f"{share:.6g}" for share in rows[place, :8]) + (", ..." if rows.shape[1] > 8 else "")
            advice = _SEVERAL_ADVICE if unit == "text" else ""
            total = f", which add up to {sums[place]:.6g}.{advice}" if "add up" in complaint else "."
            raise ValueError(f"{locate(place)}: the probabilities of a {unit} {complaint}; received {shares}{total}")
    is_rounded = np.abs(sums - 1) > _EXACT
    rows = np.where(is_rounded[:, None], rows / np.where(is_rounded, sums, 1.0)[:, None], rows)
    return rows.clip(max=1.0).astype(np.float32)


def unknown_label(label: str, columns: Iterable[str], location: str) -> ValueError:
    """Return (not raise) the error for a label of which there are no probabilities.

    Args:
        label: The label.
        columns: The labels that have some.
        location: Where it is.
    """
    unknown = checks.unknown_name(f"label for the probabilities of {location}:", label, list(columns))
    return ValueError(
        f"{unknown} Columns that begin with {PREFIX} hold the probability of each label; rename them if they do not."
    )
