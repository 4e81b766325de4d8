"""The summary and the error report of a classifier."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dense_lstm_zoo.classification.analysis import confusion_cells
from dense_lstm_zoo.classification.baseline import NAME
from dense_lstm_zoo.comparing.differences import Interval
from dense_lstm_zoo.display import by_class, escape, label, one_line, percent, table
from dense_lstm_zoo.reports import base
from dense_lstm_zoo.reports.base import write

if TYPE_CHECKING:
    from dense_lstm_zoo.bundles.bundle import Bundle

_MOST_COLUMNS = 12  # more would make a table unreadable
_MOST_CONFUSIONS = 20
_NAMES = {"accuracy": "accuracy", "micro_f1": "micro F1"}

__all__ = ["USE", "all_scores", "markdown", "picture", "score_line", "summary", "write"]

USE = """bundle.predict(["a sentence", "another one"])
bundle.export("exports/my_model/1")  # a SavedModel for TF Serving: strings in, labels and probabilities out"""


def all_scores(scores: Mapping[str, Any]) -> str:
    """Return all scores of an evaluation in one line."""
    micro = f"micro F1 {scores['micro_f1']:.4f}, " if "micro_f1" in scores else ""  # of several labels per text
    line = f"{micro}accuracy {scores['accuracy']:.4f}, macro F1 {scores['macro_f1']:.4f}, loss {scores['loss']:.4f}"
    if micro:
        line += f", ranking average precision {scores['ranking_average_precision']:.4f}"
    return f"{line}, {scores['texts']:,} texts"


def score_line(scores: Mapping[str, Any]) -> str:
    """Return a split's score for display, with the number of texts if it has it."""
    f1 = f", macro F1 {scores['macro_f1']:.4f}" if "macro_f1" in scores else ""  # older bundles have none
    if "micro_f1" in scores:
        f1 = f" (exactly the right labels), micro F1 {scores['micro_f1']:.4f}{f1}"
    texts = f" ({scores['texts']:,} texts)" if "texts" in scores else ""  # not with scores of a user's own
    return f"{scores['accuracy']:.4f}{f1}{texts}"


def summary(bundle: Bundle) -> str:
    """Return a run's result in a few lines. Of a calibrated bundle, with what the temperature changed."""
    metrics, lines = bundle.metrics, [base.summary(bundle)]
    if "cross_validation_accuracy" in metrics:
        texts = metrics.get("cross_validation_texts")
        number = "" if texts is None else f" ({texts:,} training texts)"
        lines.append(f"{'cross-validation':<17} {metrics['cross_validation_accuracy']:.4f}{number}")
    if "temperature" in metrics:
        lines.append(f"{'temperature':<17} {metrics['temperature']:.3f}")
    if thresholds := bundle.config.get("thresholds"):
        first = ", ".join(f"{one_line(name, 40)} {value:.3f}" for name, value in [*thresholds.items()][:_MOST_COLUMNS])
        lines.append(f"{'thresholds':<17} {first}{', ...' if len(thresholds) > _MOST_COLUMNS else ''}")
    for split in ("dev", "test"):
        lines += _beside_baseline(split, base.of_split(metrics, split))
        if f"{split}_loss_uncalibrated" in metrics:
            loss, error = (
                [metrics[f"{split}_{name}{when}"] for when in ("_uncalibrated", "")]
                for name in ("loss", "calibration_error")
            )
            lines.append(
                f"{f'{split} calibrated':<17} loss {loss[0]:.4f} to {loss[1]:.4f}, "
                f"calibration error {percent(error[0])} % to {percent(error[1])} %"
            )
    return "\n".join(filter(None, lines))


def _beside_baseline(split: str, scores: Mapping[str, Any]) -> Iterator[str]:
    if "baseline_accuracy" in scores:
        ahead = Interval(*(scores[name] for name in ("ahead", "ahead_low", "ahead_high")))
        micro, of = "", ""
        if "baseline_micro_f1" in scores:
            micro, of = f", micro F1 {scores['baseline_micro_f1']:.4f}", " micro F1"
        yield (
            f"{f'{split} baseline':<17} {scores['baseline_accuracy']:.4f}{micro}, macro F1 "
            f"{scores['baseline_macro_f1']:.4f} ({NAME}); the model:{of} {ahead.text(4)}"
        )


def picture(evaluation: dict[str, Any], path: Path, title: str) -> None:
    """Draw ``report.png``."""
    from dense_lstm_zoo.classification import pictures

    pictures.evaluation(evaluation, path, title)


def markdown(evaluation: dict[str, Any], title: str) -> str:
    """Return the report in Markdown. See ``analysis.analyse`` for its content."""
    wrong = [
        (f"{entry['probability']:.3f}", label(entry["predicted"]), label(entry["label"]), _text(entry["text"]))
        for entry in evaluation["wrong"]
    ]
    calibration = [
        (
            f"{row['from']:.1f} to {row['from'] + 0.1:.1f}",
            percent(row["mean"]),
            percent(row["accuracy"]),
            row["texts"],
        )
        for row in evaluation["calibration"]
    ]
    is_several = evaluation.get("several", False)
    confusion = [] if is_several else ["\n## Confusion\n", _confusion(evaluation)]
    columns = ["probability of the predicted label", "mean %", "accuracy %", "texts"]
    if is_several:
        columns = ["probability of a label", "mean %", "texts with it %", "decisions"]
    return "\n".join(
        [
            f"# {escape(title)}: {escape(evaluation['split'], 80)} texts",
            f"\n{_scores(evaluation)}",
            "\n## The most confidently wrong\n",
            table(["probability", "predicted", "right", "text"], wrong) if wrong else "None.",
            "\n## By class\n",
            by_class(evaluation["classes"], "texts"),
            *confusion,
            f"\n## Calibration\n\nExpected calibration error: {percent(evaluation['calibration_error'])} %.\n",
            table(columns, calibration),
            "",
        ]
    )


def _scores(evaluation: dict[str, Any]) -> str:
    """Return a sentence with the scores of the texts, and one that sets them beside the baseline."""
    score, text = _main_score(evaluation)
    baseline = evaluation.get("baseline")
    if not baseline:
        return text
    ahead, name = Interval(*(100 * baseline[key] for key in ("ahead", "ahead_low", "ahead_high"))), _NAMES[score]
    return (
        f"{text}\n\nBeside it, {NAME} on the same texts: {name} {percent(baseline[f'baseline_{score}'])} %, macro F1 "
        f"{percent(baseline['baseline_macro_f1'])} %. The model's {name} minus the baseline's, in points, with its "
        f"95 % interval: {ahead.text(1)}."
    )


def _main_score(evaluation: dict[str, Any]) -> tuple[str, str]:
    """Return the score that models are compared by, and a sentence with the scores."""
    if evaluation.get("several"):
        return "micro_f1", (
            f"Micro F1 {percent(evaluation['micro_f1'])} %, macro F1 {percent(evaluation['macro_f1'])} %. Of "
            f"{evaluation['texts']:,} texts, {percent(evaluation['accuracy'])} % have exactly the right labels."
        )
    cells = confusion_cells(evaluation)
    hits, total = sum(count for i, j, count in cells if i == j), sum(count for *_, count in cells)
    f1 = [row["f1"] for row in evaluation["classes"] if row["f1"] is not None]
    macro = percent(sum(f1) / len(f1))
    return "accuracy", f"Accuracy {percent(hits / total)} % of {total:,} texts, macro F1 {macro} %."


def _confusion(evaluation: dict[str, Any]) -> str:
    labels, cells = [label(name) for name in evaluation["labels"]], confusion_cells(evaluation)
    if len(labels) <= _MOST_COLUMNS:
        counts = {(i, j): count for i, j, count in cells}
        rows = [(name, *(counts.get((i, j), 0) for j in range(len(labels)))) for i, name in enumerate(labels)]
        return "Rows are right labels, columns predicted ones.\n\n" + table(["", *labels], rows)
    # A stable sort: ties stay in label order.
    top = sorted((cell for cell in cells if cell[0] != cell[1]), key=lambda cell: -cell[2])[:_MOST_CONFUSIONS]
    rows = [(count, labels[i], labels[j]) for i, j, count in top]
    return "The most frequent confusions.\n\n" + table(["texts", "right", "predicted"], rows)


def _text(text: str) -> str:
    return escape(text, 300, cell=True)
