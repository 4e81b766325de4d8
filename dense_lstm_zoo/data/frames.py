"""Tables in memory, of any library, by their interfaces: no library is imported that the user has not imported."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dense_lstm_zoo import checks
from dense_lstm_zoo.display.notes import say
from dense_lstm_zoo_runtime import install

if TYPE_CHECKING:
    import pandas as pd

# The parts of a corpus, with the names that files and tables of them have.
PART_NAMES = {"train": ("train",), "dev": ("dev", "valid", "validation"), "test": ("test",)}
_KINDS = "pandas, polars, pyarrow, Hugging Face datasets, or others that have to_pandas or __arrow_c_stream__"


def is_frame(table: object) -> bool:
    """Return whether a value is a table: of pandas, polars, pyarrow, Hugging Face, or of a library with their methods.

    A single column is not a table.

    Example:
        >>> import pandas as pd
        >>> is_frame(pd.DataFrame({"text": ["fine"]})), is_frame(pd.Series(["fine"])), is_frame({"text": ["fine"]})
        (True, False, False)
    """
    kind = type(table)
    has_columns = any(hasattr(kind, name) for name in ("columns", "column_names", "schema"))
    is_pandas = kind.__name__ == "DataFrame" and hasattr(kind, "iloc")
    is_arrow = any(callable(getattr(kind, name, None)) for name in ("to_pandas", "__arrow_c_stream__"))
    return has_columns and (is_pandas or is_arrow)


def parts_of(dataset: object) -> dict[str, Any] | None:
    """Return the tables of a dataset by part: ``train``, ``dev`` and ``test``. None for anything but tables.

    A table alone is the training part. In a mapping of tables, such as a ``DatasetDict``, ``validation`` and ``valid``
    are ``dev``. Tables with other names are left out, which a line on standard error says.

    Raises:
        ValueError: Two tables for the same part, or a mapping without a table for any.

    Example:
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"text": ["fine"]})
        >>> list(parts_of({"train": frame, "validation": frame}))
        ['train', 'dev']
    """
    if is_frame(dataset):
        return {"train": dataset}
    if not isinstance(dataset, Mapping) or not dataset or not all(map(is_frame, dataset.values())):
        return None
    parts: dict[str, Any] = {}
    for part, names in PART_NAMES.items():
        tables = {name: dataset[name] for name in names if name in dataset}
        if len(tables) > 1:
            raise ValueError(f"The dataset holds {' and '.join(map(repr, tables))}, both for {part}; leave one out.")
        if tables:
            (parts[part],) = tables.values()
    accepted = [name for names in PART_NAMES.values() for name in names]
    others = [str(name) for name in dataset if name not in accepted]
    if not parts:
        raise ValueError(
            f"The dataset holds {', '.join(others):.200}, none of which is a part. Accepted: {', '.join(accepted)}."
        )
    if others:
        say(f"the dataset's parts {', '.join(others):.200} are left out; a corpus has {', '.join(accepted)}.")
    return parts


def column_names(table: object) -> list[str]:
    """Return the names of a table's columns, as strings. Empty for a stream that does not know them."""
    owners = ((table, "column_names"), (table, "columns"), (getattr(table, "schema", None), "names"))
    lists: list[Any] = [getattr(owner, name, None) for owner, name in owners]
    return [str(name) for name in next((names for names in lists if names is not None), ())]


def check_frame(argument: str, table: object) -> pd.DataFrame:
    """Return a table as pandas' DataFrame. Integers that stand for named classes become the names.

    Raises:
        TypeError: Anything but a table.
        ImportError: Only Arrow can read the table, and pyarrow is not installed.
        ValueError: A class that has no name.
    """
    import pandas as pd

    if isinstance(table, pd.DataFrame):
        return table
    if not is_frame(table):
        advice = ". Call its collect() first" if hasattr(type(table), "collect") else ""
        raise TypeError(
            f"{argument} must be a pandas DataFrame; received {type(table).__name__}{advice}. Accepted: tables of "
            f"{_KINDS}."
        )
    frame = _converted(argument, table)
    for column, names in _class_names(table).items():
        if column in frame.columns:
            labels = [
                named_class(f"{argument}, row {row}, counted from 0", column, value, names)
                for row, value in enumerate(frame[column].tolist())
            ]
            frame = frame.assign(**{column: labels})
    return frame


def _converted(argument: str, table: Any) -> pd.DataFrame:
    import pandas as pd

    if not callable(getattr(table, "to_pandas", None)):
        try:
            import pyarrow
        except ImportError:
            raise ImportError(
                f"{argument} is a {type(table).__name__}, which Arrow reads: {install.extra('parquet')}."
            ) from None
        return pyarrow.table(table).to_pandas()
    try:
        return table.to_pandas()
    except ImportError:  # that of polars needs pyarrow
        return pd.DataFrame({name: table[name].to_list() for name in column_names(table)}, dtype=object)


def _class_names(table: object) -> dict[str, list[str]]:
    """Return the names of classes by column: of the ``ClassLabel`` features of Hugging Face, also in an Arrow table."""
    features = getattr(table, "features", None)
    if isinstance(features, Mapping):
        labels: dict[str, Any] = {name: getattr(feature, "feature", feature) for name, feature in features.items()}
        return {name: list(x.names) for name, x in labels.items() if type(x).__name__ == "ClassLabel"}
    metadata = getattr(getattr(table, "schema", None), "metadata", None)
    return class_names_in(metadata) if isinstance(metadata, Mapping) else {}


def class_names_in(metadata: Mapping[bytes, bytes] | None) -> dict[str, list[str]]:
    """Return the names of classes by column that Hugging Face writes into the metadata of an Arrow schema."""
    try:
        features = json.loads((metadata or {})[b"huggingface"])["info"]["features"]
        labels = {name: feature.get("feature", feature) for name, feature in features.items()}
        return {name: list(map(str, x["names"])) for name, x in labels.items() if x.get("_type") == "ClassLabel"}
    except (KeyError, ValueError, TypeError, AttributeError):
        return {}


def named_class(location: str, column: str, value: Any, names: Sequence[str] | None) -> object:
    """Return the name of a class. -1 and missing values, which mean that there is no label, become None.

    A list of classes becomes a list of names.

    Args:
        location: Where the value is, for the error.
        column: Its column.
        value: The integer of the class.
        names: The names of the column's classes. None means that its values stand for themselves.

    Raises:
        ValueError: A class that has no name.
    """
    if names is None or isinstance(value, str):
        return value
    if isinstance(value, list) or hasattr(value, "__len__"):  # of the tags of a sentence
        return [named_class(location, column, item, names) for item in value]
    if value is None or value != value or value == -1:
        return None
    if value not in range(len(names)):
        raise ValueError(f"{location}: {column!r} has {len(names)} classes; found class {value!r:.40}.")
    return names[int(value)]


def column(owner: str, frame: pd.DataFrame, name: Hashable) -> pd.Series:
    """Return the one column of that name, else raise ``ValueError`` with near matches."""
    places = [i for i, other in enumerate(frame.columns) if other == name]
    if not places:
        raise checks.unknown_name(f"column of {owner}:", name, map(str, frame.columns))
    if len(places) > 1:
        raise ValueError(f"{owner} has {len(places)} columns named {name!r}; rename all but one.")
    return frame.iloc[:, places[0]]
