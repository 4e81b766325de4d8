"""Texts of tables in memory, written into a sweep's folder, from which its trials read them."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dense_lstm_zoo.corpora.dataset import Dataset
from dense_lstm_zoo.corpora.loader import load_corpus
from dense_lstm_zoo.data.label_columns import SEPARATOR
from dense_lstm_zoo.search.settings import TEXTS, is_claimed
from dense_lstm_zoo.storage import files, temporary

if TYPE_CHECKING:
    import pandas as pd

    from dense_lstm_zoo.corpora.corpus import AnyCorpus


@contextlib.contextmanager
def written_texts(
    dataset: pd.DataFrame | Mapping[str, pd.DataFrame], columns: Mapping[str, Any], task: str, run_dir: Path
) -> Iterator[Dataset]:
    """Yield the dataset of tables in memory, as files of JSON lines in a sweep's folder.

    If the block fails before the sweep has begun, the files are removed again.

    Args:
        dataset: The tables. See ``load_corpus``.
        columns: The names of their columns. See ``load_corpus``.
        task: The task of the model.
        run_dir: The sweep's folder.

    Raises:
        ValueError: As for ``load_corpus``, or the folder holds a sweep on other texts.
        FileExistsError: The folder holds something else.
    """
    corpus = load_corpus(dataset, task, **columns)
    contents = corpus.json_lines()
    folder = run_dir / TEXTS
    is_new = not folder.is_dir()
    if is_new:
        if is_claimed(run_dir):
            raise ValueError(f"{run_dir} holds a sweep on another dataset. Choose another run_dir.")
        temporary.sweep(folder)  # what a kill left of it
        files.check_new_folder(run_dir, can_overwrite=False)
        with files.new_folder(folder) as new:
            for part, lines in contents.items():
                (new / f"{part}.jsonl").write_text(lines, encoding="utf-8")
    elif {path.stem: path.read_text(encoding="utf-8") for path in folder.glob("*.jsonl")} != contents:
        raise ValueError(
            f"{run_dir} holds a sweep on other texts than those of this dataset. Choose another run_dir, or give the "
            "same rows again."
        )
    try:
        paths = {f"{part}_file": str(folder / f"{part}.jsonl") for part in contents}
        yield Dataset("jsonl", task, {**paths, **_kind(corpus)})
    except BaseException:
        if is_new and not is_claimed(run_dir):
            shutil.rmtree(folder)
            with contextlib.suppress(OSError):  # it holds something else by now
                run_dir.rmdir()
        raise


def _kind(corpus: AnyCorpus) -> dict[str, str]:
    """Return the option that says that texts may have several labels, where soft labels alone could not."""
    train = corpus.train
    return {"label_separator": SEPARATOR} if getattr(train, "is_soft", False) and train.is_several else {}
