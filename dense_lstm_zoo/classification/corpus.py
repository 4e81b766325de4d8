"""A corpus of labelled texts in splits, from which dev sets and folds are held out."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dense_lstm_zoo import checks
from dense_lstm_zoo.classification.split import Split, check_labels, counts
from dense_lstm_zoo.classification.strata import folds_of, give_back, strata
from dense_lstm_zoo.corpora.corpus import AnyCorpus
from dense_lstm_zoo.data.cells import first_names
from dense_lstm_zoo.data.label_columns import LabelColumns
from dense_lstm_zoo.data.labels import key as label_key
from dense_lstm_zoo.data.soft_labels import NO_LABEL

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, repr=False)
class Corpus(AnyCorpus):
    """A labelled corpus. ``dev`` and ``test`` are None if the corpus has none.

    Only ``train`` may have soft labels: scores need the right labels.

    ``columns`` are the options that name the columns of texts and labels in a user's own file. Bundles record them.

    Raises:
        TypeError: A label's name that is not a string.
        ValueError: A name that cannot be written to a file or is there twice, a text's label without a name, or
            probabilities of another number of labels.
    """

    name: str
    label_names: tuple[str, ...]
    train: Split
    dev: Split | None
    test: Split | None
    columns: Any = field(default_factory=dict, kw_only=True, compare=False)

    def __post_init__(self) -> None:
        for name in self.label_names:
            if not isinstance(name, str):
                raise TypeError(f"label_names must be strings; received {name!r:.80}.")
        checks.writable("The label", self.label_names)
        if len(set(self.label_names)) < len(self.label_names):
            raise ValueError(f"label_names must differ; received {self.label_names!r:.200}.")
        for part in ("train", "dev", "test"):
            if (split := getattr(self, part)) is not None:
                if split.is_soft and split.probabilities.shape[1] != len(self.label_names):
                    raise ValueError(
                        f"The probabilities of {self.name}'s {part} texts have {split.probabilities.shape[1]} columns; "
                        f"there are {len(self.label_names)} label_names."
                    )
                check_labels(f"{self.name}'s {part} texts", split.labels, self.label_names)
                if len(split) and split.is_several != self.is_several:
                    kinds = ("several labels", "one label each")[:: 1 if split.is_several else -1]
                    raise ValueError(f"{self.name}'s {part} texts have {kinds[0]}, and its training texts {kinds[1]}.")

    @property
    def is_several(self) -> bool:
        """True if texts may have several labels, or none."""
        return self.train.is_several

    def __repr__(self) -> str:
        return f"<Corpus {self}>"

    def __str__(self) -> str:
        splits = {"train": self.train, "dev": self.dev, "test": self.test}
        sizes = ", ".join(f"{len(split):,} {name}" for name, split in splits.items() if split is not None)
        several = ", several per text" if self.is_several else ""
        return f"{self.name}: {sizes}; {len(self.label_names)} labels{several}: {first_names(self.label_names)}"

    @classmethod
    def from_frame(
        cls,
        frame: pd.DataFrame,
        *,
        text: Hashable,
        label: Hashable | None = None,
        label_separator: str | None = None,
        label_columns: Sequence[Any] | None = None,
        dev: pd.DataFrame | float | None = None,
        test: pd.DataFrame | float | None = None,
        seed: int = 0,
        name: str = "frame",
        skip_empty: bool = False,
    ) -> Corpus:
        """Return the rows of tables as a corpus.

        Labels become strings, without spaces around them: 1 and 1.0 become "1", True becomes "True". They are sorted,
        by value if all of them are integers. The integers of a ``ClassLabel`` feature become the names of its classes.

        Texts may have several labels: cells that are lists, strings with ``label_separator``, or ``label_columns``. An
        empty list says that a text has none of them.

        Args:
            frame: The training texts and their labels: a frame of pandas or polars, a table of pyarrow, a Hugging Face
                ``Dataset``, or another table that has ``to_pandas`` or ``__arrow_c_stream__``. It may have soft labels
                beside the labels or in their place: columns ``probability_NAME``, one for each label.
            text: The name of the column with the texts.
            label: The name of the column with the labels, in all frames. None where ``frame`` has soft labels alone.
            label_separator: What is between two labels of a text, such as ``|``, where a string holds several.
            label_columns: Columns of 0 and 1 that are labels themselves, in place of ``label``.
            dev: A frame of its own, or the share of the rows of ``frame`` to hold out, stratified by label. By default
                there is no dev set, and ``train`` holds out a tenth.
            test: Likewise. By default there is no test set.
            seed: The same seed holds out the same rows.
            name: The name of the corpus, which bundles record.
            skip_empty: Whether to leave out rows without a text or a label. A line on standard error counts them.

        Raises:
            TypeError: Anything but a table.
            ValueError: A column that is not there (with near matches), a text or label that is missing or empty, a text
                that is not a string, fewer than two labels, a label in dev or test that does not occur in training,
                single labels among lists, or shares that are out of range.

        Example:
            >>> import pandas as pd
            >>> frame = pd.DataFrame({"review": ["fine", "dull"] * 10, "stars": [5, 1] * 10})
            >>> print(Corpus.from_frame(frame, text="review", label="stars", dev=0.1, test=0.2))
            frame: 14 train, 2 dev, 4 test; 2 labels: 1, 5
        """
        from dense_lstm_zoo.classification.frames import read_frame

        checks.integer("seed", seed, minimum=0)
        if not isinstance(name, str) or not name:
            raise ValueError(f"name must be a string that is not empty; received {name!r}.")
        checks.writable("The name", [name])
        labels = LabelColumns.of_options(label, label_separator, label_columns, default=None)
        rows_of_frames = read_frame(frame, text=text, labels=labels, dev=dev, test=test, skip_empty=skip_empty)
        soft = {"train": rows_of_frames.soft}
        splits = {part: Split(*rows, **soft.get(part, {})) for part, rows in rows_of_frames.parts.items()}
        corpus = cls(
            name, rows_of_frames.label_names, splits["train"], None, splits.get("test"), columns=rows_of_frames.columns
        )
        of_test, of_dev = rows_of_frames.shares.get("test"), rows_of_frames.shares.get("dev")
        if of_test is not None:
            with_test = corpus.with_dev(of_test, seed)
            corpus = dataclasses.replace(with_test, dev=None, test=with_test.dev)
        if of_dev is not None:
            return corpus.with_dev(of_dev / (1 - (of_test or 0)), seed)
        return dataclasses.replace(corpus, dev=splits.get("dev"))

    def with_dev(self, fraction: float = 0.1, seed: int = 0) -> Corpus:
        """Hold out part of the training examples as ``dev``, stratified by label.

        A corpus that has a ``dev`` stays itself. Every label keeps at least one training example. Texts with several
        labels are stratified by the rarest of theirs. Of texts with soft labels, those with a label of their own are
        held out, and others only if there are none.

        Args:
            fraction: The share of the training examples to hold out, between 0 and 1.
            seed: The same seed holds out the same examples.

        Raises:
            ValueError: The fraction is out of range, or it or the corpus is too small to hold anything out.

        Example:
            >>> train = Split([f"text {i}" for i in range(20)], [0, 1] * 10)
            >>> print(Corpus("mine", ("a", "b"), train, None, None).with_dev())
            mine: 18 train, 2 dev; 2 labels: a, b
        """
        if checks.fraction("fraction", fraction) == 0:
            raise ValueError(f"fraction must be above 0, or there is no dev set; received {fraction!r}.")
        checks.integer("seed", seed, minimum=0)
        if self.dev is not None:
            return self
        import numpy as np

        targets = self.train.targets(len(self.label_names))
        labels = strata(targets)
        if self.train.labelled.any():
            labels = np.where(self.train.labelled, labels, NO_LABEL)
        members = [np.flatnonzero(labels == label) for label in range(len(self.label_names) + self.is_several)]
        quotas = np.array([len(indices) * fraction for indices in members])
        sizes = np.floor(quotas).astype(int)
        # Rounding each label by itself could make the total too small or too large when many labels are rare, so the
        # labels with the largest remainders get what is missing.
        total = sum(map(len, members))
        missing = round(total * fraction) - int(sizes.sum())
        spare = [i for i in np.argsort(sizes - quotas, kind="stable") if sizes[i] < len(members[i]) - 1]
        sizes[spare[: max(missing, 0)]] += 1
        if not sizes.sum():
            raise ValueError(
                f"A share of {fraction!r} of {total} training texts leaves none for dev, since each of "
                f"{len(members)} labels keeps at least one for training. Give more texts, or dev texts, or take a "
                "recipe that needs none: few_labels."
            )
        generator = np.random.Generator(np.random.PCG64(seed))
        dev_indices = [generator.permutation(indices)[:size] for indices, size in zip(members, sizes, strict=True)]
        is_dev = np.zeros(len(labels), bool)
        is_dev[np.concatenate(dev_indices)] = True
        if self.is_several:
            give_back(is_dev, targets)
        train, dev = (self.train.select(np.flatnonzero(mask)) for mask in (~is_dev, is_dev))
        return dataclasses.replace(self, train=train, dev=dev.with_hard_labels())

    def fold(self, fold: int, folds: int = 10) -> Corpus:
        """Return the corpus with one fold of its training examples as ``test`` and the others as ``train``.

        Every label is spread evenly over the folds, which are the same for every model, seed and machine. Its own
        dev and test sets are not used. Texts with soft labels alone are in ``train`` of every fold.

        Args:
            fold: Which fold to test on, from 1 to ``folds``.
            folds: How many folds, at least 2.

        Raises:
            ValueError: A fold that does not exist, or a label with fewer examples than there are folds.

        Example:
            >>> train = Split([f"text {i}" for i in range(20)], [0, 1] * 10)
            >>> print(Corpus("mine", ("a", "b"), train, None, None).fold(3))
            mine: 18 train, 2 test; 2 labels: a, b
        """
        checks.integer("folds", folds, minimum=2)
        if not 1 <= checks.integer("fold", fold) <= folds:
            raise ValueError(f"fold must be from 1 to {folds}; received {fold}.")
        import numpy as np

        labelled = np.flatnonzero(self.train.labelled)
        targets = self.train.targets(len(self.label_names))[labelled]
        for name, count in zip(self.label_names, counts(targets, len(self.label_names)), strict=True):
            if count < folds:
                raise ValueError(f"folds={folds} needs {folds} examples of each label; {name!r} has {count}.")
        is_test = np.zeros(len(self.train), bool)
        is_test[labelled[folds_of(targets, folds) == fold - 1]] = True
        train, test = (self.train.select(np.flatnonzero(mask)) for mask in (~is_test, is_test))
        return dataclasses.replace(self, train=train, dev=None, test=test.with_hard_labels())

    def with_train(self, corpus: Corpus) -> Corpus:
        """Return the corpus with the training texts of another one, such as those that a teacher has labelled.

        Args:
            corpus: The other corpus. Its labels are matched by their names.

        Raises:
            ValueError: A label that this corpus does not have, with near matches, or several labels per text where the
                texts of this corpus have one, or the reverse.

        Example:
            >>> mine = Corpus("mine", ("up", "down"), Split(["fine"], [0]), None, Split(["dull"], [1]))
            >>> other = Corpus("other", ("down", "up"), Split(["good", "bad"], [1, 0]), None, None)
            >>> mine.with_train(other).train.labels
            [0, 1]
        """
        import numpy as np

        place_of = {label_key(name): place for place, name in enumerate(self.label_names)}
        for name in corpus.label_names:
            if label_key(name) not in place_of:
                raise checks.unknown_name(f"label for {self.name}:", name, self.label_names)
        if corpus.is_several != self.is_several:
            kinds = ("several labels", "one label")[:: 1 if corpus.is_several else -1]
            raise ValueError(
                f"{corpus.name}'s training texts have {kinds[0]} each; those of {self.name} have {kinds[1]}."
            )
        places = [place_of[label_key(name)] for name in corpus.label_names]
        split, probabilities = corpus.train, corpus.train.probabilities
        if split.is_soft:
            probabilities = np.zeros((len(split), len(self.label_names)), np.float32)
            probabilities[:, places] = split.probabilities
        labels: list[Any] = [
            [places[index] for index in label] if split.is_several else places[label] for label in split.labels
        ]
        return dataclasses.replace(self, train=dataclasses.replace(split, labels=labels, probabilities=probabilities))

    def json_lines(self) -> dict[str, str]:
        """Return the parts by name, each as JSON lines of texts and labels, which ``load_corpus`` reads."""
        parts = {}
        for part in ("train", "dev", "test"):
            if (split := getattr(self, part)) is not None:
                parts[part] = "".join(f"{json.dumps(row)}\n" for row in self._objects(split))
        return parts

    def _named(self, label: int | tuple[int, ...]) -> str | list[str]:
        if isinstance(label, tuple):
            return [self.label_names[index] for index in label]
        return self.label_names[label]

    def _objects(self, split: Split) -> Iterator[dict[str, Any]]:
        """Yield the texts of a split, with their labels and probabilities."""
        teacher = {"teacher": ", ".join(split.teachers)} if split.teachers else {}
        for i, (text, label) in enumerate(zip(split.texts, split.labels, strict=True)):
            row: dict[str, Any] = {"text": text, "label": self._named(label)}
            if split.is_soft:
                row["label"] = row["label"] if split.is_labelled[i] else None
                row["probabilities"] = dict(zip(self.label_names, split.probabilities[i].tolist(), strict=True))
                row |= teacher
            yield row

    @staticmethod
    def _first(part: Split, number: int) -> Split:
        """Return the first texts of each label in turn: many files are sorted by label."""
        next_turn = Counter[int]()
        turns = []  # of each text among those of its label
        for label in part.labels:
            turns.append(next_turn[label])
            next_turn[label] += 1
        return part.select(sorted(sorted(range(len(part)), key=turns.__getitem__)[:number]))
