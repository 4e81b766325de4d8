"""The formats that files have by their names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

# Formats by the suffix of a file's name, without .gz. ".txt" says little, as many tables have it.
ENDINGS = {
    **{form: form for form in ("csv", "tsv", "jsonl")},
    **{"tab": "tsv", "ndjson": "jsonl", "txt": "text", "text": "text", "npy": "npy"},
    **{"parquet": "parquet", "pq": "parquet", "xlsx": "xlsx", "xlsm": "xlsx"},
    **dict.fromkeys(("conll", "conllu", "conllup", "conllx", "conll03", "iob", "iob2", "bio"), "columns"),
    **{form: form for form in ("auto", "pos", "mrg")},
}


def ending(path: str | Path) -> str:
    """Return the suffix of a file's name in lower case, without the dot and without .gz, or "" if there is none.

    Example:
        >>> ending("mine.CSV.gz"), ending("mine")
        ('csv', '')
    """
    name = Path(path).name.lower().removesuffix(".gz")
    return name.rpartition(".")[2] if "." in name else ""


def form_beside(path: str | Path, form: str, train_file: str | Path, accepted: Sequence[str]) -> str:
    """Return the format of a dev or test file: by its name, else that of the training file.

    Args:
        path: The file.
        form: The format of the training file.
        train_file: The training file. If its name says another format, names do not count: the format was chosen.
        accepted: The formats that the file can have.

    Example:
        >>> form_beside("dev.jsonl", "csv", "train.csv", ["csv", "jsonl"])
        'jsonl'
    """
    form_of_file, form_of_training = ENDINGS.get(ending(path)), ENDINGS.get(ending(train_file))
    if (
        form_of_file is None
        or form_of_file not in accepted
        or (form_of_training in accepted and form_of_training != form)
    ):
        return form
    return form_of_file
