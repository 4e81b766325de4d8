"""The file run.toml in a run's folder: how the run was trained, in a form that ``train --config`` repeats."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dense_lstm_zoo import checks, tasks
from dense_lstm_zoo.data import word_source
from dense_lstm_zoo.machine import versions
from dense_lstm_zoo.models import registry
from dense_lstm_zoo.storage import files, toml_text
from dense_lstm_zoo.tasks import recipes
from dense_lstm_zoo.tasks.options import RUNNING, WORD_VECTORS
from dense_lstm_zoo_runtime.paths import user_path

if TYPE_CHECKING:
    from dense_lstm_zoo.corpora.corpus import AnyCorpus
    from dense_lstm_zoo.training.request import Request

NAME = "run.toml"
NULL = "null"  # TOML has no word for None
DATA = (
    "dataset",
    "train_file",
    "dev_file",
    "test_file",
    "text_column",
    "label_column",
    "label_separator",
    "label_columns",
    "token_column",
    "tag_column",
    "separator",
    "encoding",
    "delimiter",
    "skip_empty",
)
_NOT_TEXT = ("label_columns", "token_column", "tag_column", "skip_empty")
_RUN = ("model", "recipe", "seed", "seeds", "folds", "only_folds", "run_dir")
_PATHS = ("train_file", "dev_file", "test_file", "vectors", "init_from", "context")
_LARGEST = 1 << 20  # bytes


def text_of(request: Request, corpus: AnyCorpus) -> str:
    """Return the content of the file for a run.

    Args:
        request: The checked request.
        corpus: The corpus that it is trained on. One that was made in Python is only named, in a comment.
    """
    settings = {} if corpus.origin is None else corpus.origin.settings
    data = {name: settings.pop(name) for name in DATA if settings.get(name) is not None}
    chooses = set(WORD_VECTORS) <= set(request.task.options) and request.settings.get("init_from") is None
    recipe = request.recipe or (recipes.NONE if chooses else None)  # naming none would choose one again
    run = {"model": request.model, "recipe": recipe, "seed": request.seed, **settings}
    lines = [
        "# How this run was trained; to repeat it:",
        f"#   dense-lstm-zoo train --config {NAME} --run-dir runs/again",
        f"# Made with dense-lstm-zoo {versions().get('dense-lstm-zoo', 'unknown')}.",
        *_pairs({name: value for name, value in run.items() if value is not None}),
    ]
    comment = "" if data else f"# The corpus {corpus.name!r:.80} was made in Python: give --dataset to repeat the run."
    for title, values in {"data": data, "training": _training(request), "arguments": request.arguments}.items():
        if values or (title == "data" and comment):
            lines += ["", f"[{title}]", *([comment] if title == "data" and comment else []), *_pairs(values)]
    return "\n".join(lines) + "\n"


def note(callbacks: Iterable[Any]) -> str:
    """Return a comment for the callbacks of a run, which the file cannot hold. Empty without any."""
    names = ", ".join(type(callback).__name__ for callback in callbacks)
    return f"\n# Callbacks were given in Python, and are not repeated: {names!a:.200}.\n" if names else ""


def _training(request: Request) -> dict[str, Any]:
    running = {option.name for option in RUNNING}  # without effect on the result
    settings = {name: x for name, x in request.settings.items() if x is not None and name not in running}
    if set(WORD_VECTORS) <= set(request.task.options) and not {"vectors", "init_from"} & settings.keys():
        settings["vectors"] = word_source.NONE  # also where the zoo's vectors are installed
    return settings


def _pairs(values: Mapping[str, Any]) -> Iterator[str]:
    for name, value in values.items():
        path = user_path(value) if name in _PATHS else None
        if path is not None and path.exists() and not (path.is_file() or path.is_dir()):
            yield f"# {name} was {ascii(str(path))[:80]}, which could be read only once: name a file here."
            continue
        if path is not None and path.exists():
            value = str(path.absolute())
        try:
            yield toml_text.pair(name, NULL if value is None else str(value) if isinstance(value, Path) else value)
        except ValueError:
            yield f"# {name} cannot be written here; it was {value!a:.80}."


def read_settings(path: str | Path) -> dict[str, Any]:
    """Return what a file says, under the names of the options of ``train``. ``"null"`` for an argument is None.

    Raises:
        FileNotFoundError: No such file.
        ValueError: Not TOML, or an unknown name, with near matches.
    """
    file = files.existing_file(path)
    if file.stat().st_size > _LARGEST:
        raise ValueError(f"{path} has {file.stat().st_size:,} bytes; a {NAME} has at most {_LARGEST:,}.")
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not TOML: {error}. train writes a {NAME} into each run's folder.") from None
    model = table.get("model")
    if model is not None:
        registry.entry(_text(path, "model", model))
    sections: dict[str, Collection[str]] = {
        "data": DATA,
        "training": tasks.every_option(),
        "arguments": _arguments(model),
    }
    top = {name: value for name, value in table.items() if name not in sections}
    _check_names(path, "", top, _RUN, sections)
    values = dict(top)
    for title, accepted in sections.items():
        section = table.get(title, {})
        if not isinstance(section, dict):
            raise ValueError(f"{path}: {title} must be a section, [{title}]; it is {section!r:.80}.")
        _check_names(path, title, section, accepted, sections)
        # In [data] it is the name of a column, or of a file.
        values |= {name: None if value == NULL and title != "data" else value for name, value in section.items()}
    texts = [name for name, option in tasks.every_option().items() if option.kind is str]
    for name in ("recipe", "run_dir", *texts, *(name for name in DATA if name not in _NOT_TEXT)):
        if values.get(name) is not None:
            _text(path, name, values[name])
    return values


def _arguments(model: str | None) -> set[str]:
    models: Iterable[str] = registry.list_models() if model is None else [model]
    return {name for model_name in models for name in registry.entry(model_name).arguments} - set(registry.FROM_DATA)


def _check_names(
    path: str | Path,
    title: str,
    values: Mapping[str, Any],
    accepted: Collection[str],
    sections: Mapping[str, Collection[str]],
) -> None:
    for name in values:
        if name in accepted:
            continue
        section_name = f"in [{title}]" if title else "before the first section"
        right = next((other for other, names in {"": _RUN, **sections}.items() if name in names), None)
        if right is not None:
            place = f"[{right}]" if right else "the top of the file"
            raise ValueError(f"{path}: {name} is {section_name}; it belongs to {place}.")
        every = accepted if title else [*accepted, *sections]
        raise ValueError(f"{path}: {checks.unknown_name(f'name {section_name}:', name, every)}")


def _text(path: str | Path, name: str, value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{path}: {name} must be text in quotation marks; it is {value!r:.80}.")
    return value
