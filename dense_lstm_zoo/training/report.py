"""What a run tells a person: a summary, a model card, learning curves, and a report of where the model errs."""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dense_lstm_zoo import files, plots
from dense_lstm_zoo.classification.analysis import confusion_cells
from dense_lstm_zoo.display import code, escape, fenced, one_line, table

if TYPE_CHECKING:
    from dense_lstm_zoo.bundle import Bundle

_MOST_COLUMNS = 12  # of a table that a person still reads
_MOST_CONFUSIONS = 20
_MOST_LABELS = 50  # on a card; labels.json holds all of them
_NOTES = {"diverged": "stopped", "changed": "changed"}  # metrics that are text, and what a summary calls them


_Writer = Callable[[Path], None]


def write(bundle: Bundle, folder: Path) -> None:
    """Write a bundle's model card, its pictures and the report of its evaluation into its folder.

    Each is written whole or not at all. What cannot be made is told in one warning and never stops the others.
    """
    writers: dict[str, _Writer] = {"README.md": lambda path: _write_text(path, model_card(bundle))}
    history, curve = bundle.history, bundle.dev_curve
    if has_matplotlib() and len(history) and "changed" not in bundle.metrics:
        writers["learning_curve.png"] = lambda path: plots.learning_curve(history, path, _title(bundle), bundle.measure)
        if curve is not None:
            panels = {"": {_title(bundle): curve}}
            writers["dev_curve.png"] = lambda path: plots.by_batch(panels, path, "dev accuracy by batch")
    if bundle.evaluation:
        writers |= _evaluation_writers(bundle.evaluation, _title(bundle))
    _try(writers, folder)


def write_evaluation(evaluation: dict[str, Any], folder: Path, title: str) -> None:
    """Write ``report.md``; of a classifier also ``report.png``, where matplotlib is installed.

    A picture that cannot be drawn is told in a warning; the report is written all the same.
    """
    writers = _evaluation_writers(evaluation, title)
    writers.pop("report.md")(folder / "report.md")
    _try(writers, folder)


def _title(bundle: Bundle) -> str:
    training = bundle.config["training"]
    return f"{bundle.config['model']} on {training['dataset']}, seed {training.get('seed')}"


def _evaluation_writers(evaluation: dict[str, Any], title: str) -> dict[str, _Writer]:
    def report(path: Path) -> None:
        kinds = {"by_rank": perplexity_report, "tags": tagging_report, "calibration": evaluation_report}
        make = next(report for key, report in kinds.items() if key in evaluation)
        _write_text(path, make(evaluation, title))

    writers: dict[str, _Writer] = {"report.md": report}
    if has_matplotlib() and "calibration" in evaluation:
        heading = f"{title}: {evaluation['split']}"
        writers["report.png"] = lambda path: plots.evaluation(evaluation, path, heading)
    return writers


def _try(writers: Mapping[str, _Writer], folder: Path) -> None:
    failures = []
    for name, write in writers.items():
        try:
            write(folder / name)
        except Exception as error:  # whatever it is, the model must not be lost for it
            failures.append(f"{name} ({type(error).__name__}: {one_line(error, 200)})")
    if failures:
        warnings.warn(f"{folder} is without {', '.join(failures)}; all else is written.", stacklevel=4)


def _write_text(path: Path, text: str) -> None:
    with files.new_file(path, "w") as file:
        file.write(text)


def has_matplotlib() -> bool:
    """Return whether pictures can be drawn."""
    return importlib.util.find_spec("matplotlib") is not None


def summary(bundle: Bundle) -> str:
    """Return a run's result in a few lines: scores, parameters, seconds."""
    metrics = bundle.metrics
    lines = []
    if "best_epoch" in metrics:
        lines.append(f"{'best epoch':<17} {metrics['best_epoch']} of {metrics['epochs']}")
    for split in ("dev", "test"):
        if f"{split}_{bundle.measure}" in metrics:
            lines.append(f"{f'{split} {bundle.measure}':<17} {scores(metrics, split)}")
    if "parameters" in metrics:
        count, encoder = metrics["parameters"], metrics["encoder_parameters"]
        lines.append(f"parameters        {count:,} in all, {encoder:,} in the encoder")
    if "seconds" in metrics:
        lines.append(f"training seconds  {metrics['seconds']:.1f}")
    lines += [f"{what:<17} {metrics[name]}" for name, what in _NOTES.items() if name in metrics]
    return "\n".join(lines)


def scores(metrics: Mapping[str, Any], split: str) -> str:
    """Return a split's score as people read it, with what it was measured on."""
    if f"{split}_perplexity" in metrics:
        perplexity, unknown = metrics[f"{split}_perplexity"], metrics[f"{split}_unknown_words"]
        return f"{perplexity:.2f} ({metrics[f'{split}_tokens']:,} tokens, {unknown:,} of them unknown words)"
    accuracy, texts = metrics[f"{split}_accuracy"], f"{metrics[f'{split}_texts']:,}"
    if f"{split}_tokens" not in metrics:
        return f"{accuracy:.4f} ({texts} texts)"
    f1 = f", span F1 {metrics[f'{split}_f1']:.4f}" if f"{split}_f1" in metrics else ""
    return f"{accuracy:.4f}{f1} ({metrics[f'{split}_tokens']:,} tokens of {texts} sentences)"


_USE = {
    "tagging": """bundle.predict(["a raw sentence", ["a", "list", "of", "tokens"]])
bundle.export("exports/my_model/1")  # a SavedModel for TF Serving: strings in, tokens and tags out""",
    "classification": """bundle.predict(["a sentence", "another one"])
bundle.export("exports/my_model/1")  # a SavedModel for TF Serving: strings in, labels and probabilities out""",
    "language_model": """bundle.score(["a sentence", "another one"])
bundle.generate("how a text begins", seed=1).text
bundle.next_words("how a text begins", k=5)
bundle.export("exports/my_model/1")  # a SavedModel for TF Serving: strings in, log probabilities out""",
}


def model_card(bundle: Bundle) -> str:
    """Return the bundle's README: what it is, how it was trained, how well it does, how to use it."""
    config = bundle.config
    training = config["training"]
    return f"""# {escape(config["model"])} trained on {escape(training["dataset"], 80)}

{_knows(bundle)}

{fenced(summary(bundle))}

{"Where it errs: `report.md`." if bundle.evaluation else "It has no scores: `bundle.rescore(test=...)` makes some."}

## Use

```python
import dense_lstm_zoo as zoo

bundle = zoo.load("this folder")
{_USE[config["task"]]}
```

## Training

{_settings(training)}

## Model arguments

{_settings(config["arguments"])}
"""


def _knows(bundle: Bundle) -> str:
    if not bundle.labels:
        return f"Words: {bundle.config['arguments']['vocab_size']:,}"
    shown = ", ".join(escape(label, 80) for label in bundle.labels[:_MOST_LABELS])
    more = len(bundle.labels) - _MOST_LABELS
    return f"Labels: {shown}" + (f" and {more:,} more, in {code('labels.json')}" if more > 0 else "")


def _settings(values: Mapping[str, Any]) -> str:
    return "\n".join(f"- {name}: {escape(value)}" for name, value in sorted(values.items()) if value is not None)


def perplexity_report(evaluation: dict[str, Any], title: str) -> str:
    """Return a language model's report in Markdown: which words it finds hard."""
    rows = [
        (f"{row['from']:,} to {row['to']:,}", f"{row['perplexity']:.2f}", f"{row['tokens']:,}")
        for row in evaluation["by_rank"]
    ]
    return f"""# {escape(title)}: {evaluation["split"]} text

Perplexity {evaluation["perplexity"]:.2f} over {evaluation["tokens"]:,} tokens, of which
{evaluation["unknown_words"]:,} are unknown words (`<unk>`), counted as the papers do.

## By frequency in the training text

{table(["rank of the word", "perplexity", "tokens"], rows)}
"""


def tagging_report(evaluation: dict[str, Any], title: str) -> str:
    """Return a tagger's report in Markdown: scores by tag, and what it confuses."""
    confusions = [(row["tokens"], _label(row["right"]), _label(row["predicted"])) for row in evaluation["confusions"]]
    f1 = f", span F1 {_percent(evaluation['f1'])} %" if "f1" in evaluation else ""
    return f"""# {escape(title)}: {evaluation["split"]} sentences

Accuracy {_percent(evaluation["accuracy"])} % of {evaluation["tokens"]:,} tokens{f1}.

## The most frequent confusions

{table(["tokens", "right", "predicted"], confusions) if confusions else "None."}

## By tag

{_by_class(evaluation["tags"], "tokens")}
"""


def _by_class(rows: list[dict[str, Any]], unit: str) -> str:
    cells = [
        (_label(row["label"]), *(_percent(row[name]) for name in ("precision", "recall", "f1")), f"{row['texts']:,}")
        for row in rows
    ]
    return table(["label", "precision %", "recall %", "F1 %", unit], cells)


def evaluation_report(evaluation: dict[str, Any], title: str) -> str:
    """Return the report in Markdown; see ``analysis.analyse`` for what is in it."""
    wrong = [
        (f"{found['probability']:.3f}", _label(found["predicted"]), _label(found["label"]), _text(found["text"]))
        for found in evaluation["wrong"]
    ]
    calibration = [
        (
            f"{row['from']:.1f} to {row['from'] + 0.1:.1f}",
            _percent(row["mean"]),
            _percent(row["accuracy"]),
            row["texts"],
        )
        for row in evaluation["calibration"]
    ]
    return "\n".join(
        [
            f"# {escape(title)}: {evaluation['split']} texts",
            "\n## The most confidently wrong\n",
            table(["probability", "predicted", "right", "text"], wrong) if wrong else "None.",
            "\n## By class\n",
            _by_class(evaluation["classes"], "texts"),
            "\n## Confusion\n",
            _confusion(evaluation),
            f"\n## Calibration\n\nExpected calibration error: {_percent(evaluation['calibration_error'])} %.\n",
            table(["probability of the predicted label", "mean %", "accuracy %", "texts"], calibration),
            "",
        ]
    )


def _confusion(evaluation: dict[str, Any]) -> str:
    labels, cells = [_label(name) for name in evaluation["labels"]], confusion_cells(evaluation)
    if len(labels) <= _MOST_COLUMNS:
        counts = {(i, j): count for i, j, count in cells}
        rows = [(name, *(counts.get((i, j), 0) for j in range(len(labels)))) for i, name in enumerate(labels)]
        return "Rows are right labels, columns predicted ones.\n\n" + table(["", *labels], rows)
    # A stable order: labels in theirs where as many texts are confused.
    top = sorted((cell for cell in cells if cell[0] != cell[1]), key=lambda cell: -cell[2])[:_MOST_CONFUSIONS]
    rows = [(count, labels[i], labels[j]) for i, j, count in top]
    return "The most frequent confusions of many labels.\n\n" + table(["texts", "right", "predicted"], rows)


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}"


def _label(name: str) -> str:
    return escape(name, 80, cell=True)


def _text(text: str) -> str:
    return escape(text, 300, cell=True)
