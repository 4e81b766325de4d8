"""A request to train, checked before TensorFlow is imported and before any data is read."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dense_lstm_zoo import checks, tasks
from dense_lstm_zoo.bundles import presets
from dense_lstm_zoo.data import word_source
from dense_lstm_zoo.models import registry
from dense_lstm_zoo.storage import files, work_folders
from dense_lstm_zoo.storage.snapshots import Target
from dense_lstm_zoo.tasks import Task, every_option
from dense_lstm_zoo.tasks.options import Options
from dense_lstm_zoo.tasks.recipes import get_recipe, name_or_none
from dense_lstm_zoo.training import defaults, effort, run_folder, taught
from dense_lstm_zoo.training.class_weights import check_loss
from dense_lstm_zoo_runtime import install

if TYPE_CHECKING:
    from dense_lstm_zoo.corpora.corpus import AnyCorpus


@dataclass(frozen=True, eq=False)
class Request:
    """The arguments of ``train``, with what it chooses itself.

    Args:
        model: A registered model.
        task: Its task.
        target: The folder to write.
        recipe: The recipe's name, or None.
        seed: The seed.
        settings: The options of ``train`` that were given or chosen.
        options: All options of the run, with their values.
        arguments: The model arguments that were given.
        notice: A line that says which word vectors are used, if the user did not say.
        tensorboard: Whether to write logs.
        overwrite: Whether an existing folder may be replaced.
    """

    model: str
    task: Task
    target: Target
    recipe: str | None
    seed: int
    settings: dict[str, Any]
    options: Options
    arguments: dict[str, Any]
    notice: str
    tensorboard: bool = False
    overwrite: bool = False
    chooses_vectors: bool = False  # nobody named them
    starts: tuple[Request, ...] = ()  # others among which ``effort`` chooses: trained models, a text encoder
    names_recipe: bool = False  # its user does
    few_texts: int = 0  # the number up to which, without a dev part, another request takes its place
    for_few_texts: Request | None = None

    def for_corpus(self, corpus: AnyCorpus) -> Request:
        """Return the request for a corpus of this size: that for few texts, or with a schedule that nobody sets."""
        if self.for_few_texts is not None and corpus.dev is None and len(corpus.train) <= self.few_texts:
            return self.for_few_texts
        if self.task.schedule is None or self.names_recipe:
            return self
        schedule = self.task.schedule(len(corpus.train))
        free = {name: value for name, value in schedule.items() if self.settings.get(name) is None}
        if not free:
            return self
        settings = {**self.settings, **free}
        words = ", ".join(f"{name.replace('_', ' ')} {value:,}" for name, value in free.items())
        notice = "\n".join(filter(None, (self.notice, f"by the number of texts: {words}")))
        return replace(self, settings=settings, notice=notice).resolved()

    def resolved(self) -> Request:
        """Return the request with the options that its settings and recipe now say."""
        recipe = get_recipe(self.recipe) if self.recipe else None
        return replace(self, options=self.task.resolve(self.settings, seed=self.seed, recipe=recipe))

    def with_trained_words(self) -> Request:
        """Return the request without word vectors, and with the recipe that trains the words."""
        settings = {**self.settings, "vectors": None}
        return replace(self, settings=settings, recipe=defaults.trained_words(self.recipe), notice="").resolved()


def check(
    model: str,
    run_dir: str | Path,
    values: Mapping[str, Any],
    *,
    recipe: str | None = None,
    seed: int = 1,
    tensorboard: bool = False,
    overwrite: bool = False,
) -> Request:
    """Check the arguments of ``train``. Only the folder's name, not the data, is looked at.

    Args:
        model: A registered model.
        run_dir: The folder to write.
        values: Options of ``train`` and model arguments, together.
        recipe: As for ``train``.
        seed: As for ``train``.
        tensorboard: As for ``train``.
        overwrite: As for ``train``.

    Raises:
        ValueError: An unknown name or a value out of range, with what is accepted.
        FileExistsError: ``run_dir`` exists and ``overwrite`` is False.
        FileNotFoundError: No such vector file, trained model or text encoder.
    """
    values = checks.plain(values)
    one = partial(_check, model, run_dir, seed=seed, tensorboard=tensorboard, overwrite=overwrite)
    if values.get("effort") is None:
        return one(values, recipe=recipe)
    choice = effort.choice(model, values)
    if recipe is not None and recipe == choice.recipe_for_few:  # as the run.toml of a run on few texts has it
        return one(values, recipe=recipe)
    starts = tuple(one(start, recipe=recipe) for start in (*choice.from_trained, *choice.with_context))
    request = replace(one(choice.from_scratch, recipe=recipe), starts=starts)
    if choice.recipe_for_few is None or recipe is not None:
        return request
    reason = f"{choice.few_texts:,} texts or fewer, and none for dev: recipe {choice.recipe_for_few}"

    def few(**start: Any) -> Request:
        own = one({**values, **start}, recipe=choice.recipe_for_few)
        return replace(own, notice="\n".join(filter(None, (own.notice, reason))))

    for_few = replace(few(), starts=tuple(few(init_from=start["init_from"]) for start in choice.from_trained))
    return replace(request, few_texts=choice.few_texts, for_few_texts=for_few)


def _check(
    model: str,
    run_dir: str | Path,
    values: Mapping[str, Any],
    *,
    recipe: str | None,
    seed: int,
    tensorboard: bool,
    overwrite: bool,
) -> Request:
    """Return the request of these values as they are, whatever effort they name."""
    arguments = {name: value for name, value in values.items() if name not in every_option()}
    task = tasks.find(registry.entry(model).task)
    own = {name: value for name, value in values.items() if name in every_option()}
    recipe_given = recipe
    settings, recipe, notice = defaults.choose(task, model, own, arguments, recipe)
    resolved_arguments = registry.resolve(model, arguments, recipe, complete=False)
    for name in registry.FROM_DATA:
        if name in arguments:
            raise ValueError(f"{name} is derived from the data; train() does not accept it.")
    seed = checks.seed(seed)
    run_folder.tidy(files.resolved(run_dir))
    target = files.check_new_folder(run_dir, "bundle" if overwrite else None)
    work_folders.check(run_folder.state_folder(target.real))
    if tensorboard and importlib.util.find_spec("tensorboard") is None:
        raise ValueError(f"tensorboard=True needs TensorBoard: {install.extra('tensorboard')}.")
    options = task.resolve(settings, seed=seed, recipe=get_recipe(recipe) if recipe else None)
    check_transfer(options)
    taught.check_temperature(options)
    check_loss(getattr(options, "class_weights", None), resolved_arguments)
    _check_sources(options)
    return Request(
        *(model, task, target, recipe, seed, settings, options, arguments, notice, bool(tensorboard), bool(overwrite)),
        chooses_vectors=own.get("vectors") is None and settings.get("vectors") is not None,
        names_recipe=name_or_none(recipe_given) is not None,
    )


def _check_sources(options: Options) -> None:
    """Raise for word vectors, a trained model or a text encoder that is not there. What is downloaded comes later."""
    vectors = getattr(options, "vectors", None)
    if vectors is not None:
        word_source.name_or_path(vectors)
    for name in ("init_from", "context"):
        source = getattr(options, name, None)
        if source is not None and "://" not in str(source):
            presets.locate(source)


def check_transfer(options: Options) -> None:
    """Raise ``ValueError`` for options of transfer that need others."""
    for name in ("freeze", "unfreeze", "layer_decay", "force_overlap", "unfreeze_after"):
        other = "freeze" if name == "unfreeze_after" else "init_from"
        if getattr(options, name) and not getattr(options, other):
            raise ValueError(f"{name}={getattr(options, name)!r} needs {other}.")
    if options.unfreeze and (options.freeze == "encoder" or options.unfreeze_after):
        settings = f"freeze={options.freeze!r}, unfreeze_after={options.unfreeze_after!r}"
        raise ValueError(
            f"unfreeze={options.unfreeze!r} says when each layer is trained; received {settings}. Leave these out; "
            "freeze='embedding' alone keeps the words as they are."
        )
    if options.layer_decay is not None and options.layer_decay < 1:
        raise ValueError(
            f"layer_decay divides the learning rate once per layer and must be at least 1; received "
            f"{options.layer_decay!r}. Howard and Ruder 2018 use 2.6."
        )
    if options.unfreeze_after is not None and options.unfreeze_after >= options.epochs:
        raise ValueError(
            f"unfreeze_after must be below epochs={options.epochs}, or nothing is ever trained with the rest; received "
            f"{options.unfreeze_after}."
        )
