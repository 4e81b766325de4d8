"""Compare two trained models on the same texts, or over the seeds or folds that both were trained with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dense_lstm_zoo import checks
from dense_lstm_zoo.bundles import text_hashes
from dense_lstm_zoo.comparing import differences, sides
from dense_lstm_zoo.comparing.comparison import Comparison, Row
from dense_lstm_zoo.comparing.differences import DRAWS
from dense_lstm_zoo.comparing.outcomes import OfClass, Outcomes
from dense_lstm_zoo.comparing.several_runs import compare_runs, first_run, is_folder_of_runs
from dense_lstm_zoo.comparing.sides import Side, Source
from dense_lstm_zoo.storage.outputs import Target, check_output
from dense_lstm_zoo.training import run_file

if TYPE_CHECKING:
    from dense_lstm_zoo.bundles.bundle import Bundle

_SPLITS = ("test", "dev", "train")
_FILES = [name for name in run_file.DATA if name != "dataset"]


def compare(
    first: Source | Bundle,
    second: Source | Bundle,
    dataset: Any = None,
    *,
    split: str = "test",
    output: Source | None = None,
    overwrite: bool = False,
    draws: int = DRAWS,
    seed: int = 1,
    **files: Any,
) -> Comparison:
    """Compare two trained models: the difference of their scores, and whether it is more than chance.

    Both are scored on the same texts. The 95 % intervals are those of a paired bootstrap over the texts (sentences of
    taggers, lines of language models), and McNemar's exact test compares how many texts only one of them gets right.

    Two folders of ``run_protocol`` (``train --seeds`` or ``--folds``) are compared by the scores of their runs, pair by
    pair, with Student's t. For folds the interval is corrected for the training texts that they share.

    Args:
        first: A trained model, A: the folder of a run, a preset's name, ``hf://owner/name``, or a bundle. Or the folder
            of several runs.
        second: Another one of the same task, B.
        dataset: The texts: a corpus's name, a file, a corpus, or a part of one as ``evaluate`` takes it. None means the
            data that both were trained on.
        split: The part of it: ``test``, ``dev`` or ``train``.
        output: A csv file to write, with the texts on which they differ. For language models it has every line.
        overwrite: Whether to replace an existing file.
        draws: The number of draws of the bootstrap.
        seed: The seed of the bootstrap.
        **files: A user's own file and its columns, as for ``load_corpus``: ``test_file``, ``text_column`` and so on.

    Returns:
        The comparison. ``print`` shows it, and ``difference`` is that of the task's own score.

    Raises:
        ValueError: Before any work: models of two tasks, labels or corpora, one model twice, texts that are not known,
            language models of other words, or a value out of range.
        FileExistsError: ``output`` exists and ``overwrite`` is False.
        FileNotFoundError: No such folder or file.
        BundleError: Not a bundle, or a damaged one.

    Example:
        ``print(zoo.compare("dc_bilstm_sst2", "bilstm_sst2", "sst2", output="differ.csv"))``
    """
    plan = prepare(
        first,
        second,
        dataset,
        split=split,
        output=output,
        overwrite=overwrite,
        draws=draws,
        seed=seed,
        **files,
    )
    return plan if isinstance(plan, Comparison) else plan.run()


def prepare(
    first: Source | Bundle,
    second: Source | Bundle,
    dataset: Any,
    *,
    split: str,
    output: Source | None,
    overwrite: bool,
    draws: int,
    seed: int,
    **files: Any,
) -> Plan | Comparison:
    """Check the arguments of ``compare`` and read the texts. No model is loaded. Several runs are compared at once."""
    checks.one_of("split", split, _SPLITS)
    checks.integer("draws", draws, minimum=100)
    checks.seed(seed)
    for name in files:
        if name not in _FILES:
            raise checks.unknown_name("argument of compare:", name, _FILES)
    files = {name: value for name, value in files.items() if value is not None}
    several = [is_folder_of_runs(source) for source in (first, second)]
    if any(several):
        return _several(first, second, several, split, dataset is not None or bool(files), output)
    both = Side.open(first), Side.open(second)
    sides.check_pair(*both)
    target = None if output is None else check_output(output, overwrite)
    name, texts, label_names = sides.read_texts(*both, dataset, split, files, target)
    return Plan(both, name, split, texts, label_names, target, draws, seed)


def _several(first: Any, second: Any, several: list[bool], split: str, names_texts: bool, output: object) -> Comparison:
    """Compare two folders of runs, whose texts cannot be chosen."""
    if not all(several):
        folder, single = (first, second) if several[0] else (second, first)
        raise ValueError(
            f"{folder} holds several runs, and {single} is a single one: compare two folders of runs, or two runs, "
            f"such as {folder}/{first_run(folder)}."
        )
    if names_texts or output is not None:
        raise ValueError(
            "Folders of several runs are compared by the scores that the runs recorded: leave out the texts and "
            f"--output, or compare two single runs, such as {first}/{first_run(first)}."
        )
    return compare_runs(first, second, split)


@dataclass(frozen=True, eq=False)
class Plan:
    """A comparison whose arguments are checked and whose texts are read."""

    sides: tuple[Side, Side]
    name: str
    split: str
    texts: Any
    label_names: Sequence[str] | None
    target: Target | None
    draws: int
    seed: int

    def run(self) -> Comparison:
        """Load both models, score them and write the texts on which they differ."""
        first, second = self.sides
        bundles = first.load(), second.load()
        task = first.task
        outcomes: Outcomes = task.module("comparison").outcomes(*bundles, self.texts, self.label_names)
        comparison = _compared(self, outcomes, self._notes(bundles))
        if self.target is not None:
            comparison.write_texts(self.target)
        return comparison

    def _notes(self, bundles: tuple[Bundle, Bundle]) -> list[str]:
        """Return a sentence about each model that was trained on the texts."""
        notes = []
        for letter, bundle in zip("AB", bundles, strict=True):
            if bundle.train_texts is not None and self.split != "train":
                rows = bundle.task.job_class.token_rows(self.texts)
                overlap = text_hashes.overlap(bundle.train_texts, rows)
                if overlap.is_too_much:
                    notes.append(f"{letter} was trained on texts of them: {overlap}.")
        return notes


def _compared(plan: Plan, outcomes: Outcomes, notes: list[str]) -> Comparison:
    intervals = outcomes.intervals(plan.draws, plan.seed)
    values = outcomes.of_model(0), outcomes.of_model(1)
    names = {name: name.label if isinstance(name, OfClass) else str(name) for name in intervals}
    rows = {name: Row(names[name], values[0][name], values[1][name], intervals[name]) for name in intervals}
    only_right = p_value = None
    first, second = outcomes.answers
    differ = [i for i in range(len(outcomes.texts)) if first[i] != second[i] or outcomes.is_right is None]
    winners = [""] * len(outcomes.texts)
    if outcomes.is_right is not None:
        ours, theirs = outcomes.is_right
        only_right = int((ours & ~theirs).sum()), int((theirs & ~ours).sum())
        p_value = differences.mcnemar(*only_right)
        winners = ["A" if a and not b else "B" if b and not a else "" for a, b in zip(ours, theirs, strict=True)]
    right: Sequence[str | None] = outcomes.right or [None] * len(outcomes.texts)
    return Comparison(
        names=(plan.sides[0].name, plan.sides[1].name),
        models=(plan.sides[0].config["model"], plan.sides[1].config["model"]),
        task=plan.sides[0].task,
        dataset=plan.name,
        split=plan.split,
        count=len(outcomes.texts),
        unit=outcomes.unit,
        scores=[row for name, row in rows.items() if not isinstance(name, OfClass)],
        classes=[row for name, row in rows.items() if isinstance(name, OfClass)],
        only_right=only_right,
        p_value=p_value,
        texts=[(outcomes.texts[i], right[i], first[i], second[i], winners[i]) for i in differ],
        notes=notes,
    )
