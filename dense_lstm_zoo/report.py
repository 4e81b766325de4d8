"""Reports for people: a summary, a model card, learning curves and an error report."""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dense_lstm_zoo import files, plots, registry, terms
from dense_lstm_zoo.display import code, escape, fenced, one_line, table

if TYPE_CHECKING:
    from dense_lstm_zoo.bundle import Bundle
    from dense_lstm_zoo.task import Task

_MOST_LABELS = 50  # on a card; labels.json holds all labels
_NOTES = {
    "diverged": "stopped",
    "changed": "changed",
    "rounded": "weights",
}  # metrics that are text, with their names in a summary


_Writer = Callable[[Path], None]


def write(bundle: Bundle, folder: Path) -> None:
    """Write a bundle's model card, its pictures and the report of its evaluation into its folder.

    Each is written whole or not at all. Failures are reported in one warning and never affect the other files.
    """
    writers: dict[str, _Writer] = {"README.md": lambda path: _write_text(path, model_card(bundle))}
    task, history, curve = bundle.task, bundle.history, bundle.dev_curve
    if has_matplotlib() and len(history) and "changed" not in bundle.metrics:
        writers["learning_curve.png"] = lambda path: plots.learning_curve(
            history,
            path,
            _title(bundle),
            task.measure,
            higher_is_better=task.higher_is_better,
            best_epoch=bundle.metrics.get("best_epoch"),
        )
        if curve is not None:
            panels = {"": {_title(bundle): curve}}
            writers["dev_curve.png"] = lambda path: plots.by_batch(panels, path, "dev accuracy by batch")
    if bundle.evaluation:
        writers |= _evaluation_writers(task, bundle.evaluation, _title(bundle))
    _try(writers, folder)


def write_evaluation(task: Task, evaluation: dict[str, Any], folder: Path, title: str) -> None:
    """Write ``report.md``; for a classifier also ``report.png``, if matplotlib is installed.

    If the picture cannot be drawn, a warning says so, and the report is still written.
    """
    writers = _evaluation_writers(task, evaluation, title)
    writers.pop("report.md")(folder / "report.md")
    _try(writers, folder)


def _title(bundle: Bundle) -> str:
    training = bundle.config["training"]
    return f"{bundle.config['model']} on {training['dataset']}, seed {training.get('seed')}"


def _evaluation_writers(task: Task, evaluation: dict[str, Any], title: str) -> dict[str, _Writer]:
    report = task.module("report")
    writers: dict[str, _Writer] = {
        "report.md": lambda path: _write_text(path, report.markdown(evaluation, title)),
    }
    if has_matplotlib() and hasattr(report, "picture"):
        heading = f"{title}: {evaluation['split']}"
        writers["report.png"] = lambda path: report.picture(evaluation, path, heading)
    return writers


def _try(writers: Mapping[str, _Writer], folder: Path) -> None:
    failures = []
    for name, write in writers.items():
        try:
            write(folder / name)
        except Exception as error:  # no error here may cost the model
            failures.append(f"{name} ({type(error).__name__}: {one_line(error, 200)})")
    if failures:
        warnings.warn(f"{folder} lacks {', '.join(failures)}; everything else is written.", stacklevel=4)


def _write_text(path: Path, text: str) -> None:
    with files.new_file(path, "w") as file:
        file.write(text)


def has_matplotlib() -> bool:
    """Return whether pictures can be drawn."""
    return importlib.util.find_spec("matplotlib") is not None


def summary(bundle: Bundle) -> str:
    """Return a run's result in a few lines: scores, parameters, seconds."""
    metrics, measure, score_line = bundle.metrics, bundle.task.measure, bundle.task.module("report").score_line
    lines = []
    if "best_epoch" in metrics:
        lines.append(f"{'best epoch':<17} {metrics['best_epoch']} of {metrics['epochs']}")
    for split in ("dev", "test"):
        if f"{split}_{measure}" in metrics:
            lines.append(f"{f'{split} {measure}':<17} {score_line(of_split(metrics, split))}")
    if "parameters" in metrics:
        count, encoder = metrics["parameters"], metrics["encoder_parameters"]
        lines.append(f"parameters        {count:,} in all, {encoder:,} in the encoder")
    if "seconds" in metrics:
        lines.append(f"training seconds  {metrics['seconds']:.1f}")
    lines += [f"{what:<17} {metrics[name]}" for name, what in _NOTES.items() if name in metrics]
    return "\n".join(lines)


def of_split(metrics: Mapping[str, Any], split: str) -> dict[str, Any]:
    """Return a split's scores by their names."""
    return {name.removeprefix(f"{split}_"): value for name, value in metrics.items() if name.startswith(f"{split}_")}


def model_card(bundle: Bundle) -> str:
    """Return the bundle's README: its task, training, scores and use."""
    config = bundle.config
    training = config["training"]
    return f"""# {escape(config["model"])} trained on {escape(training["dataset"], 80)}

{_knows(bundle)}
{_origin(training.get("init_from"))}
{fenced(bundle.summary())}

{"Error analysis: `report.md`." if bundle.evaluation else "It has no scores; `bundle.rescore(test=...)` computes them."}
{_by_class(bundle.evaluation)}{_purpose(training["dataset"])}
## Use

```python
import dense_lstm_zoo as zoo

bundle = zoo.load("this folder")
{bundle.task.module("report").USE}
```

## Data and terms

{_data(training)}

## Training

{_settings(training)}

## Model arguments

{_settings(config["arguments"])}

## Source

{escape(_paper(config["model"]))}

{_settings(config.get("versions", {}))}
"""


def _by_class(evaluation: Mapping[str, Any]) -> str:
    """Return a section with the scores by class, for a bundle with an error analysis that has them."""
    rows, unit = (
        evaluation.get("classes") or evaluation.get("tags") or (),
        "texts" if "classes" in evaluation else "tokens",
    )
    if not rows or len(rows) > _MOST_LABELS:
        return ""
    return f"\n## Scores by class, on the {escape(evaluation['split'])} set\n\n{by_class(rows, unit)}\n"


def _purpose(corpus: object) -> str:
    """Return a section on what a model trained on a corpus is for, where that is known."""
    known = terms.about(corpus)
    return f"\n## Purpose\n\n- For: {known.good_for}.\n- Not for: {known.not_for}.\n" if known else ""


def _data(training: Mapping[str, Any]) -> str:
    corpus, vectors = training["dataset"], training.get("vectors")
    lines = [f"- {escape(corpus, 80)}: {escape(terms.terms_of(corpus) or 'terms not recorded; ask who trained it')}"]
    if isinstance(vectors, str):
        lines.append(
            f"- word vectors, {escape(vectors, 80)}: {escape(terms.terms_of_vectors(vectors) or 'terms not recorded')}"
        )
    else:
        lines.append("- no word vectors from elsewhere")
    return "\n".join(lines)


def _paper(model: str) -> str:
    """The paper of a model; a card is also written for one that this version does not know."""
    try:
        return registry.entry(model).paper
    except ValueError:
        return "unknown to this version"


def _knows(bundle: Bundle) -> str:
    if not bundle.labels:
        return f"Words: {bundle.config['arguments']['vocab_size']:,}"
    shown = ", ".join(escape(label, 80) for label in bundle.labels[:_MOST_LABELS])
    more = len(bundle.labels) - _MOST_LABELS
    return f"Labels: {shown}" + (f" and {more:,} more, in {code('labels.json')}" if more > 0 else "")


def _origin(origin: Mapping[str, Any] | None) -> str:
    """Return a line about the trained model that the training went on from, or an empty one."""
    if not origin:
        return ""
    told = f"Trained further from {escape(origin['name'], 80)}, a {escape(origin['model'])} trained on "
    told += f"{escape(origin['dataset'], 80)} (manifest {escape(str(origin['sha256'])[:12])})"
    if origin.get("freeze"):
        until = origin.get("unfreeze_after")
        when = f"until epoch {until}" if until else "at all"
        told += f"; its {escape(origin['freeze'])} was not trained {when}"
    told += f"; last layer {escape(origin['head'])}; {origin['new_words']:,} new words."
    for part, count in origin.get("overlap", {}).items():
        told += f" **{count:,} {escape(part)} texts were among the texts it was trained on.**"
    if parent := origin.get("init_from"):
        told += f" {_origin(parent).strip()}"
    return f"\n{told}\n"


def _settings(values: Mapping[str, Any]) -> str:
    return "\n".join(f"- {name}: {escape(value)}" for name, value in sorted(values.items()) if _is_listed(name, value))


def _is_listed(name: str, value: Any) -> bool:
    return value is not None and name != "init_from"  # the card tells it in words


def by_class(rows: list[dict[str, Any]], unit: str) -> str:
    """Return a table of precision, recall and F1 by class."""
    cells = [
        (label(row["label"]), *(percent(row[name]) for name in ("precision", "recall", "f1")), f"{row['texts']:,}")
        for row in rows
    ]
    return table(["label", "precision %", "recall %", "F1 %", unit], cells)


def percent(share: float | None) -> str:
    """Return a share in percent, with one decimal; a dash for none."""
    return "-" if share is None else f"{100 * share:.1f}"


def label(name: str) -> str:
    """Return a label in a form that fits a table cell."""
    return escape(name, 80, cell=True)
