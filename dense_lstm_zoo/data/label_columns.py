"""The columns of a table that hold labels: one label for each text, or several.

Several labels are lists (frames, JSON lines, Parquet), names between separators, or a column of 0 and 1 for each label.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from dense_lstm_zoo.data import labels

Label: TypeAlias = str | tuple[str, ...]
"""The label of a text, or its labels where texts have several. An empty string is a missing one."""

SEPARATOR = "|"  # of several labels in a string, where this package writes them
SETS = (list, tuple, set, frozenset)  # the types of a text's several labels
_TRUE, _FALSE = ("1", "1.0", "true"), ("0", "0.0", "false")


@dataclass(frozen=True)
class LabelColumns:
    """The columns that hold labels, and how.

    Args:
        column: The column of the labels. Its cells are labels, or lists of labels.
        separator: What is between the labels of a cell, such as ``|``. None means that a string is one label.
        indicators: Columns that are labels themselves, with 1 where a text has the label, else 0. If there are any,
            ``column`` is not read.

    Example:
        >>> LabelColumns("topics", separator="|").label(["sport|news"], "line 2")
        ('sport', 'news')
        >>> LabelColumns(indicators=("sport", "news")).label([1, 0], "line 2")
        ('sport',)
    """

    column: Any = "label"
    separator: str | None = None
    indicators: tuple[Any, ...] = ()

    @classmethod
    def of_options(
        cls, column: Hashable, separator: str | None, indicators: Iterable[Any] | None, default: Hashable = "label"
    ) -> LabelColumns:
        """Return what the options ``label_column``, ``label_separator`` and ``label_columns`` say.

        Args:
            column: The column of the labels. ``default`` says that none is named.
            separator: As for the class.
            indicators: The columns that are labels themselves, or None.
            default: The value of ``column`` where none is named.

        Raises:
            TypeError: Columns that are not a list.
            ValueError: An empty separator, fewer than two columns, one of them twice, or options that exclude each
                other.
        """
        if separator is not None and (not isinstance(separator, str) or not separator.strip()):
            raise ValueError(
                "label_separator (--label-separator) must be what is between two labels, such as | or ;; received "
                f"{separator!r:.40}."
            )
        if indicators is None:
            return cls(column, separator)
        if isinstance(indicators, str | bytes | Mapping) or not isinstance(indicators, Iterable):
            raise TypeError(
                f"label_columns must be a list of columns, such as ['toxic', 'insult']; received {indicators!r:.80}."
            )
        names = tuple(indicators)
        if len(names) < 2 or len(set(names)) < len(names):
            raise ValueError(
                "label_columns (--label-columns) must name at least two columns, each once; received "
                f"{', '.join(map(str, names)) or 'none'}."
            )
        if separator is not None or column not in (None, default):
            other = "label_separator (--label-separator)" if separator is not None else "label_column (--label-column)"
            raise ValueError(
                f"label_columns (--label-columns) are labels themselves, and {other} is for one column with all of "
                "them. Leave one of the two out."
            )
        return cls(column, None, names)

    @property
    def names(self) -> tuple[Any, ...]:
        """The columns that are read."""
        return self.indicators or (self.column,)

    @property
    def are_several(self) -> bool:
        """True if they say that texts may have several labels. Cells that are lists say so themselves."""
        return self.separator is not None or bool(self.indicators)

    @property
    def options(self) -> dict[str, Any]:
        """The options that say the same, for a bundle's config."""
        if self.indicators:
            return {"label_columns": list(self.indicators)}
        separator = {} if self.separator is None else {"label_separator": self.separator}
        return {"label_column": self.column, **separator}

    @property
    def label_names(self) -> tuple[str, ...] | None:
        """The labels, if they are columns, else None."""
        return tuple(str(name).strip() for name in self.indicators) or None

    def label(self, cells: Sequence[object], location: str) -> Label:
        """Return the label or the labels of a text.

        Args:
            cells: The cells of ``names``.
            location: Where they are, for errors.

        Raises:
            ValueError: A cell that is no label, or in a column of 0 and 1 anything else.
        """
        if self.indicators:
            return self._indicated(cells, location)
        (cell,) = cells
        if getattr(cell, "ndim", 0):  # an array of NumPy, as Arrow makes of a list
            cell = cell.tolist()  # type: ignore[attr-defined]
        if isinstance(cell, SETS):
            items = sorted(cell, key=str) if isinstance(cell, set | frozenset) else cell
            return tuple(self._item(item, location) for item in items)
        label = self._text(cell, location)
        if self.separator is None or not label:
            return label
        return tuple(part.strip() for part in label.split(self.separator))

    def _text(self, cell: object, location: str) -> str:
        if isinstance(cell, Mapping):
            raise ValueError(
                f"{location}: {self.column!r} must be a string or a number, or a list of them; found {cell!r:.80}."
            )
        return "" if _is_missing(cell) else _written(cell)

    def _item(self, item: object, location: str) -> str:
        if _is_missing(item) or isinstance(item, (Mapping, *SETS)):
            raise ValueError(
                f"{location}: the list in {self.column!r} must hold strings or numbers; found {item!r:.80} in it."
            )
        return str(int(item)) if isinstance(item, float) and item.is_integer() else _written(item)

    def _indicated(self, cells: Sequence[object], location: str) -> Label:
        labels = []
        for name, cell in zip(self.indicators, cells, strict=True):
            if _is_missing(cell) or not str(cell).strip():
                return ""
            if (text := str(cell).strip().lower()) not in (*_TRUE, *_FALSE):
                raise ValueError(f"{location}: {name!r} must be 0 or 1, as a column of labels; found {cell!r:.80}.")
            if text in _TRUE:
                labels.append(str(name).strip())
        return tuple(labels)


def _written(cell: object) -> str:
    """Return a cell as text. Bytes are what they say in UTF-8."""
    return (cell.decode("utf-8", "backslashreplace") if isinstance(cell, bytes) else str(cell)).strip()


def is_several(label: Label) -> bool:
    """Return whether a label is one of a text that may have several."""
    return isinstance(label, tuple)


def names_of(label: Label) -> tuple[str, ...]:
    """Return the names in a label: itself, or those of several."""
    return (label,) if isinstance(label, str) else label


def check_one_kind(labels: Iterable[Label], name: str, row_of: Callable[[Label], str]) -> None:
    """Raise ``ValueError`` if some texts of a table have one label and others a list of labels.

    Args:
        labels: Every label that occurs. A missing one, as beside soft labels, is of either kind.
        name: The name of the table.
        row_of: Returns the first row with a label, such as "line 2".
    """
    labels = [label for label in labels if label != ""]
    if len(set(map(is_several, labels))) > 1:
        one = next(label for label in labels if not is_several(label))
        several = next(filter(is_several, labels))
        raise ValueError(
            f"{name} has texts with one label, such as {one!r:.60} ({row_of(one)}), and texts with a list of labels, "
            f"such as {list(several)!r:.60} ({row_of(several)}). Where texts have several labels, write each text's as "
            "a list, also a single one."
        )


def kind_of(labels: Iterable[Label], columns: LabelColumns) -> bool | None:
    """Return whether the texts of a table may have several labels, or None where only soft labels are there.

    Args:
        labels: Every label that occurs.
        columns: What the options say.
    """
    own = [label for label in labels if label != ""]
    if columns.are_several or any(map(is_several, own)):
        return True
    return False if own else None


def common_kind(kinds: Mapping[str, bool | None]) -> bool:
    """Return whether texts may have several labels.

    Args:
        kinds: For each part what ``kind_of`` returned, by its name, the training texts first.

    Raises:
        ValueError: Texts have one label in some parts and several in others.
    """
    clear = [(name, kind) for name, kind in kinds.items() if kind is not None]
    if not clear:
        return False
    (train, first), *others = clear
    for name, other in others:
        if other != first:
            one, several = (name, train) if first else (train, name)
            raise ValueError(
                f"{one} has one label for each text, and {several} has several. Write them alike: as lists, with "
                "label_separator (--label-separator), or as label_columns (--label-columns)."
            )
    return first


def check_complete(columns: Collection[str] | None, label_names: Collection[str]) -> None:
    """Raise ``ValueError`` if columns that are labels leave out labels that a model gives.

    Texts would count as without them.

    Args:
        columns: What ``label_columns`` says, or None.
        label_names: The labels of the model.
    """
    if columns is not None and (absent := [name for name in label_names if name not in columns]):
        raise ValueError(
            f"label_columns (--label-columns) must name a column for each label of the model; {', '.join(absent):.200} "
            f"{'is' if len(absent) == 1 else 'are'} missing."
        )


def check_separated(labels: Iterable[Label], separator: str | None, name: str) -> None:
    """Raise ``ValueError`` for a separator that separates nothing."""
    if separator is not None and not any(isinstance(label, tuple) and len(label) > 1 for label in labels):
        raise ValueError(
            f"{name}: the label_separator (--label-separator) {separator!r} occurs in no label. Name the one that is "
            "between labels, or leave it out if each text has one label."
        )


def too_few_labels(owner: str, names: Sequence[str]) -> ValueError:
    """Return the error for texts with several labels each, of which there are too few in all."""
    occurring = f"only {names[0]!r}" if names else "none"
    return ValueError(
        f"{owner} has texts with lists of labels, but {occurring} in all of them; training needs at least two."
    )


def unified(columns: LabelColumns, own: Iterable[Label], location: str) -> dict[str, str]:
    """Return what ``labels.unify`` returns for the names in labels. Names of columns stand for themselves."""
    return {} if columns.indicators else labels.unify({name for x in own for name in names_of(x)}, location)


def indices_of(label: Label, names: Mapping[str, str], label_names: Sequence[str]) -> int | tuple[int, ...]:
    """Return the index of a text's label, or of its several labels, in order.

    Args:
        label: As it is written.
        names: What ``labels.unify`` returned.
        label_names: The names of the labels.
    """
    places = [label_names.index(labels.name_of(name, names)) for name in names_of(label)]
    return tuple(sorted(set(places))) if isinstance(label, tuple) else places[0]


def _is_missing(cell: object) -> bool:
    # NaN, which json.loads accepts, often stands for a missing value in a column of numbers.
    return cell is None or type(cell).__name__ in ("NAType", "NaTType") or (isinstance(cell, float) and cell != cell)
