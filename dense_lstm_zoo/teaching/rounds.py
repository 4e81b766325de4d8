"""Self-training: models of a few labelled texts label others, and the next models learn from those too."""

from __future__ import annotations

import dataclasses
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dense_lstm_zoo import checks, tasks
from dense_lstm_zoo.data.label_columns import SEPARATOR
from dense_lstm_zoo.display import notes
from dense_lstm_zoo.models import registry
from dense_lstm_zoo.storage import files
from dense_lstm_zoo.storage.json_files import read_object
from dense_lstm_zoo.tasks import Task
from dense_lstm_zoo.tasks.options import SOFT_LABELS
from dense_lstm_zoo.teaching.labelling import digest
from dense_lstm_zoo.teaching.raw_texts import keys_of, read_texts
from dense_lstm_zoo.teaching.teach import teach
from dense_lstm_zoo.training import request
from dense_lstm_zoo.training.protocol import run_protocol

if TYPE_CHECKING:
    import pandas as pd

    from dense_lstm_zoo.corpora.loader import AnyDataset
    from dense_lstm_zoo.teaching.raw_texts import TextsToLabel

ROUNDS, MODELS, THRESHOLD = 3, 3, 0.9
_DEV_FRACTION = 0.1
_SOURCE = "texts.json"  # says in the folder which texts its rounds label


@dataclass(frozen=True, eq=False)
class SelfTrainResult:
    """The rounds of a self-training. ``print`` shows them.

    Attributes:
        rounds: One row per round, from 0: ``round``, ``texts`` (training texts), ``labelled_by_models`` (how many of
            them), ``dev`` (the mean of its models) and ``test``, where there is one.
        best_round: The round with the best dev score.
        models: The folders of its models.
        measure: The score.
    """

    rounds: pd.DataFrame
    best_round: int
    models: list[Path]
    measure: str

    def __str__(self) -> str:
        lines = []
        for row in self.rounds.itertuples():
            test = f", test {row.test:.4f}" if hasattr(row, "test") else ""
            lines.append(
                f"round {row.round}: {row.texts:,} texts, {row.labelled_by_models:,} of them labelled by the models "
                f"before; "
                f"{self.measure} on dev {row.dev:.4f}{test}"
            )
        places = " ".join(map(str, self.models))
        return "\n".join([*lines, f"best on dev: round {self.best_round}: {places}"])


def self_train(
    name: str,
    /,
    dataset: AnyDataset,
    texts: TextsToLabel,
    run_dir: str | os.PathLike[str],
    *,
    rounds: int = ROUNDS,
    models: int = MODELS,
    threshold: float = THRESHOLD,
    augment: int = 0,
    seed: int = 1,
    progress: bool = True,
    **training: Any,
) -> SelfTrainResult:
    """Train on few labelled texts and many others: the mean of a round's models labels texts for the next round.

    Round 0 is trained on the labelled texts alone. Each later round starts afresh, on the labelled texts and on those
    texts without a label of whose label the models before are sure. Where texts may have several labels, they are sure
    of a text if they are of each label, that it has it or that it does not. It ends when a round does not gain on dev.

    ``run_dir`` holds ``round0``, ``round1`` and so on, each with the runs of ``run_protocol``, and the soft labels of
    each round. A repeated call keeps what is finished and resumes what was interrupted; one with other texts, models
    or seeds is refused.

    Args:
        name: A registered model.
        dataset: The labelled texts, as for ``train``. Without a dev set, a tenth is held out.
        texts: Texts without labels, as for ``teach``. Labels that some may have are not read.
        run_dir: The folder.
        rounds: The largest number of rounds after the first.
        models: The models of a round, with seeds ``seed``, ``seed + 1``, ...
        threshold: The probability from which the models are sure of a label. From 1 / labels up to 1, or where texts
            may have several from 0.5 up to 1.
        augment: As for ``teach``.
        seed: The first seed.
        progress: Whether to print progress.
        **training: Arguments of ``train``. Those of soft labels hold for the rounds that have some.

    Raises:
        FileExistsError: The folder has a file of the name of a round's soft labels, which no round has written.
        ValueError: As for ``train`` and ``teach``, a model whose texts have no label each, ``folds``, or a folder whose
            rounds have labelled other texts, or with other models.

    Example:
        ``print(zoo.self_train("bilstm", "few.csv", "raw.txt", "runs/self", rounds=2))``
    """
    from dense_lstm_zoo.corpora.loader import as_corpus, load_corpus

    checks.seed(seed, models)
    task = check_request(name, rounds, models, threshold, augment)
    for option in SOFT_LABELS:
        option.check(training.get(option.name))
    if "folds" in training or "only_folds" in training:
        raise ValueError(
            "self_train takes no folds: the models of a round label texts together, and each would teach the others "
            "its training texts, which test them. Give seeds with models= (--models)."
        )
    folder = files.resolved(run_dir)
    settings = {x: training[x] for x in training if x not in ("recipe", "tensorboard")}
    request.check(name, folder / ".new", settings, recipe=training.get("recipe"))  # also what only later rounds take
    texts = read_texts(texts).texts
    source = {"texts": digest(texts), "augment": augment, "models": models, "seed": seed}
    _check_source(folder, source, rounds)
    corpus = as_corpus(dataset, task.name)
    task.job_class.check_corpus(corpus)
    chance = 0.5 if corpus.is_several else 1 / len(corpus.label_names)
    if threshold < chance:
        raise ValueError(f"threshold must be from {chance:.3g} to 1, or every text is sure; received {threshold:g}.")
    kind = {"label_separator": SEPARATOR} if corpus.is_several else {}
    corpus = corpus.with_dev(_DEV_FRACTION, seed)
    texts = _without_labelled(texts, corpus)
    _check_left(texts, corpus)
    labels_alone = {x: value for x, value in training.items() if x not in {option.name for option in SOFT_LABELS}}
    current, rows, best, folders = corpus, list[dict[str, Any]](), 0, list[Path]()
    for number in range(rounds + 1):
        settings = training if current.train.is_soft else labels_alone
        run = run_protocol(
            name, current, folder / f"round{number}", seeds=models, seed=seed, progress=progress, **settings
        )
        _write_source(folder, source)
        own = [folder / f"round{number}" / each for each in run.runs["run"]]
        row: dict[str, Any] = {
            "round": number,
            "texts": len(current.train),
            "labelled_by_models": len(current.train) - len(corpus.train),
        }
        for part in ("dev", "test"):
            measure = task.measure_of(run.runs, "dev")
            if (column := f"{part}_{measure}") in run.runs:
                row[part] = float(run.runs[column].mean())
        rows.append(row)
        gains = not folders or (row["dev"] > rows[best]["dev"]) == task.higher_is_better
        if gains:
            best, folders = number, own
        if not gains or number == rounds:
            break
        output = _labels_of(folder, number + 1)
        if not output.is_file():
            teach(own, texts, output=output, dataset=corpus, augment=augment, seed=seed, progress=progress)
        current = _with_sure_texts(corpus, load_corpus(output, task.name, **kind), threshold)
        if current is None:
            notes.say(f"no text has a label with a probability of {threshold:g} or more; the training ends.")
            break
    import pandas as pd

    result = SelfTrainResult(pd.DataFrame(rows), best, folders, measure)
    if progress:
        notes.show(result)
    return result


def check_request(
    name: str, rounds: int = ROUNDS, models: int = MODELS, threshold: float = THRESHOLD, augment: int = 0
) -> Task:
    """Return the task of a model, after checking what ``self_train`` is asked for.

    Raises:
        ValueError: As for ``self_train``.
    """
    checks.integer("rounds", rounds)
    checks.integer("models", models)
    checks.integer("augment", augment, minimum=0)
    checks.share("threshold", threshold)
    task = tasks.find(registry.entry(name).task)
    if not task.labels_texts:
        raise ValueError(f"self_train needs a model that gives each text a label; {name} is for {task.name}.")
    return task


def _labels_of(folder: Path, number: int) -> Path:
    """Return the file of the soft labels that a round learns from."""
    return folder / f"round{number}.jsonl"


def _check_source(folder: Path, source: dict[str, Any], rounds: int) -> None:
    """Raise ``ValueError`` if the folder's rounds have labelled other texts, or other models have labelled them."""
    path = folder / _SOURCE
    if not path.is_file():
        for file in (_labels_of(folder, number) for number in range(1, rounds + 1)):
            if os.path.lexists(file):
                raise FileExistsError(
                    f"{file} is in the way: no self-training here has written it, as {folder} has no {_SOURCE}. Take "
                    "another run_dir (--run-dir), or move the file."
                )
        return
    before = read_object(path, advice=f"Delete {folder} to start over.")
    advice = "Take another run_dir (--run-dir), or delete it."
    for name, value in source.items():
        if name == "texts" and before.get(name) != value:
            raise ValueError(f"{folder} holds rounds for other texts. {advice}")
        if before.get(name, value) != value:  # a folder of an earlier version does not tell all of them
            raise ValueError(f"{folder} holds rounds with {name}={before[name]}; received {name}={value}. {advice}")


def _without_labelled(texts: list[str], corpus: Any) -> list[str]:
    """Return texts without those that are training texts, which keep their own labels."""
    training = {text.strip() for text in corpus.train.texts}
    others = [text for text in texts if text not in training]
    if count := len(texts) - len(others):
        notes.say(f"texts to label that are training texts, and keep their own label: {count:,}")
    return others


def _check_left(texts: list[str], corpus: Any) -> None:
    """Raise ``ValueError`` if no text is left to label without those that are scored. ``teach`` leaves them out."""
    scored = {key for part in (corpus.dev, corpus.test) if part is not None for key in keys_of(part.texts)}
    if all(key in scored for key in keys_of(texts)):
        raise ValueError("There is no text to label: each is a training text, or a copy of one in dev or test.")


def _write_source(folder: Path, source: dict[str, Any]) -> None:
    if not (folder / _SOURCE).is_file():
        files.write_json(folder / _SOURCE, source)


def _with_sure_texts(corpus: Any, soft: Any, threshold: float) -> Any:
    """Return a corpus with the texts of whose label, or labels, its teacher is sure, or None if there are none."""
    import numpy as np

    shares = soft.train.probabilities
    certainty = np.maximum(shares, 1 - shares).min(axis=1) if corpus.is_several else shares.max(axis=1)
    sure = np.flatnonzero(certainty >= threshold)
    if not len(sure):
        return None
    learnt = corpus.with_train(dataclasses.replace(soft, train=soft.train.select(sure))).train
    labels, count = list(corpus.train.labels), len(corpus.label_names)
    targets = corpus.train.targets(count)
    certain = targets if corpus.is_several else np.eye(count)[targets]
    if corpus.train.is_soft:
        certain = corpus.train.probabilities
    shares = np.concatenate([certain.astype(np.float32), learnt.probabilities])
    own = [label if is_own else None for label, is_own in zip(labels, corpus.train.labelled, strict=True)]
    split = type(learnt)(
        [*corpus.train.texts, *learnt.texts],
        [*own, *[None] * len(learnt)],
        probabilities=shares,
        teachers=learnt.teachers,
        several=corpus.is_several,
    )
    return dataclasses.replace(corpus, train=split)
