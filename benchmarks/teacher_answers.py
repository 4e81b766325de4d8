"""Answers of a fine-tuned transformer without their texts: two bytes a probability, kept in results/teachers.

The texts are drawn from the corpora again, so that students and presets can be trained anew without the transformer.
``pack`` writes results/teachers/NAME.npz from a folder of ``benchmarks.transformer_teacher``; ``unpack`` writes such a
folder from it, with the same texts in the same order, which is checked. From the repository's root:

    python -m benchmarks.teacher_answers pack runs/teachers/sst2_100000
    python -m benchmarks.teacher_answers unpack sst2_100000 runs/teachers
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import NoneType
from typing import Any

import numpy as np
import pandas as pd

import dense_lstm_zoo as zoo
from benchmarks import raw_sentences
from dense_lstm_zoo import checks
from dense_lstm_zoo.storage import files
from dense_lstm_zoo.storage.json_files import read_object
from dense_lstm_zoo.teaching.raw_texts import keys_of
from tuning import protocols, result_files

SCORES = "scores.json"
FOLDER = result_files.ROOT / "results" / "teachers"
_STEPS = 2**16 - 1  # of a probability


def corpus_of(dataset: str, fold: int | None, task: str = "classification") -> Any:
    """Return the corpus that a teacher is trained on: with dev texts, and one of ten folds as its test, if so said."""
    corpus: Any = zoo.load_corpus(dataset, task)
    return (corpus.fold(fold) if fold else corpus).with_dev()


def sources(corpus: Any, dataset: str, augment: int, phrases: bool, raw: int) -> dict[str, dict[str, Any]]:
    """Return what a teacher labels: for each file, the arguments of ``zoo.teach``. Near copies are labelled once."""
    train = corpus.train
    corpus = dataclasses.replace(corpus, train=train.select(_places_of_first(train.texts)))
    arguments: dict[str, dict[str, Any]] = {"train": {}}
    if augment:
        arguments[f"copies_{augment}"] = {"augment": augment}
    if phrases:
        of_trees: Any = zoo.load_corpus(f"{dataset}_phrases", "classification")
        arguments["phrases"] = {"texts": sorted(set(of_trees.train.texts) - set(train.texts))}
    if raw:
        arguments["raw"] = {"texts": raw_sentences.draw(raw, seed=1)}
    for settings in arguments.values():
        if texts := settings.get("texts"):
            settings["texts"] = [texts[place] for place in _places_of_first(texts)]
    return {name: {"dataset": corpus, **settings} for name, settings in arguments.items()}


def _places_of_first(texts: Sequence[str]) -> list[int]:
    """Return the places of the texts that are no near copies of an earlier one."""
    first: dict[int, int] = {}
    for place, key in enumerate(keys_of(texts)):
        first.setdefault(key, place)
    return list(first.values())


def scores_of(folder: Path) -> dict[str, Any]:
    """Return what the folder of a teacher says of it.

    Raises:
        FileNotFoundError: No folder of ``benchmarks.transformer_teacher`` is there.
        ValueError: Its ``scores.json`` is damaged.
    """
    if not (folder / SCORES).exists():
        raise FileNotFoundError(f"{folder} holds no {SCORES}; name a folder of benchmarks.transformer_teacher.")
    return read_object(folder / SCORES, {"dataset": str, "fold": (int, NoneType), "encoder": str, "sources": list})


def check_trained_on(folder: Path, dataset: str, fold: int | None) -> None:
    """Raise ``ValueError`` if a teacher may have been trained on the texts that test its students."""
    about = scores_of(folder)
    if (about["dataset"], about["fold"]) != (dataset, fold):
        own, other = (_name(*pair) for pair in ((about["dataset"], about["fold"]), (dataset, fold)))
        raise ValueError(f"{folder} is a teacher of {own}, not of {other}, whose test texts it may have read.")


def _name(dataset: str, fold: int | None) -> str:
    return dataset if fold is None else f"{dataset}, fold {fold}"


def pack(folder: Path, output: Path) -> None:
    """Write the answers of a teacher's folder.

    Raises:
        FileNotFoundError: The folder lacks its scores, or a file of answers.
    """
    about = scores_of(folder)
    arrays, digests = {}, {}
    for name in about["sources"]:
        table = pd.read_parquet(folder / f"{name}.parquet")
        columns = [column for column in table if column.startswith("probability_")]
        arrays[name] = np.rint(table[columns].to_numpy() * _STEPS).astype("uint16")
        digests[name] = _digest(table.text)
    output.parent.mkdir(parents=True, exist_ok=True)
    with files.new_file(output, "wb") as file:
        np.savez_compressed(file, about=np.array(json.dumps(about | {"texts": digests})), **arrays)


def unpack(packed: Path, folder: Path) -> None:
    """Write a teacher's folder again.

    Raises:
        FileNotFoundError: No such file.
        ValueError: The corpora of this machine give other texts.
    """
    with np.load(packed, allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    about = json.loads(str(arrays.pop("about")))
    corpus = corpus_of(about["dataset"], about["fold"])
    folder.mkdir(parents=True, exist_ok=True)
    for name, settings in sources(corpus, about["dataset"], **about["labelled"]).items():
        rows = arrays[name] / arrays[name].sum(axis=1, keepdims=True)
        output = folder / f"{name}.parquet"
        zoo.teach(
            _Memory(rows, f"{about['encoder']}, fine-tuned on {about['dataset']}"),
            output=output,
            overwrite=True,
            **settings,
        )
        if (digest := _digest(pd.read_parquet(output).text)) != about["texts"][name]:
            output.unlink()
            raise ValueError(f"The texts of {name} are not those of {packed.name}: their sha256 is {digest}.")
    (folder / SCORES).write_text(json.dumps(about, indent=2))


class _Memory:
    """A teacher that gives one stored answer after another."""

    def __init__(self, rows: np.ndarray, name: str) -> None:
        self.rows, self.place, self.__name__ = rows, 0, name

    def __call__(self, texts: list[str]) -> np.ndarray:
        first, self.place = self.place, self.place + len(texts)
        if self.place > len(self.rows):
            raise ValueError(f"There are answers to {len(self.rows):,} texts, and the corpora give more.")
        return self.rows[first : self.place]


def _digest(texts: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()


@protocols.plain_errors()
def main(argv: list[str] | None = None) -> None:
    """Pack or unpack."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.teacher_answers",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    ways = parser.add_subparsers(dest="way", required=True)
    packing = ways.add_parser("pack", help="write results/teachers/NAME.npz from a folder")
    packing.add_argument("folder", type=Path)
    unpacking = ways.add_parser("unpack", help="write a folder again")
    unpacking.add_argument("name", help="of a file in results/teachers, without its ending")
    unpacking.add_argument("folder", type=Path, help="the folder to write the teacher's folder in")
    options = parser.parse_args(argv)
    if options.way == "pack":
        pack(options.folder, FOLDER / f"{options.folder.name}.npz")
    else:
        checks.one_of("name", options.name, [path.stem for path in sorted(FOLDER.glob("*.npz"))])
        unpack(FOLDER / f"{options.name}.npz", options.folder / options.name)


if __name__ == "__main__":
    main()
