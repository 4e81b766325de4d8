"""What a run tells a person: a summary, a model card, learning curves, and a report of where the model errs."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dense_lstm_zoo.bundle import Bundle

_MOST_COLUMNS = 12  # of a table that a person still reads


def write(bundle: Bundle, folder: Path) -> None:
    """Write a bundle's model card, its learning curve and the report of its evaluation into a folder."""
    from dense_lstm_zoo import plots

    training = bundle.config["training"]
    title = f"{bundle.config['model']} on {training['dataset']}, seed {training['seed']}"
    (folder / "README.md").write_text(model_card(bundle), encoding="utf-8")
    if has_matplotlib() and len(bundle.history):
        plots.learning_curve(bundle.history, folder / "learning_curve.png", title, bundle.measure)
        if bundle.dev_curve is not None:
            plots.by_batch({"": {title: bundle.dev_curve}}, folder / "dev_curve.png", "dev accuracy by batch")
    if bundle.evaluation:
        write_evaluation(bundle.evaluation, folder, title)


def write_evaluation(evaluation: dict[str, Any], folder: Path, title: str) -> None:
    """Write ``report.md``; of a classifier also ``report.png``, where matplotlib is installed."""
    from dense_lstm_zoo import plots

    kinds = {"by_rank": perplexity_report, "tags": tagging_report, "confusion": evaluation_report}
    report = next(report for key, report in kinds.items() if key in evaluation)
    (folder / "report.md").write_text(report(evaluation, title), encoding="utf-8")
    if has_matplotlib() and "confusion" in evaluation:
        plots.evaluation(evaluation, folder / "report.png", f"{title}: {evaluation['split']}")


def has_matplotlib() -> bool:
    """Return whether pictures can be drawn."""
    return importlib.util.find_spec("matplotlib") is not None


def summary(bundle: Bundle) -> str:
    """Return a run's result in a few lines: scores, parameters, seconds."""
    metrics = bundle.metrics
    lines = [f"{'best epoch':<17} {metrics['best_epoch']} of {metrics['epochs']}"]
    for split in ("dev", "test"):
        if f"{split}_{bundle.measure}" in metrics:
            lines.append(f"{f'{split} {bundle.measure}':<17} {scores(metrics, split)}")
    lines += [
        f"parameters        {metrics['parameters']:,} in all, {metrics['encoder_parameters']:,} in the encoder",
        f"training seconds  {metrics['seconds']:.1f}",
    ]
    if "diverged" in metrics:
        lines.append(f"stopped           {metrics['diverged']}")
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
    settings = "\n".join(f"- {name}: {value}" for name, value in sorted(training.items()) if value is not None)
    arguments = "\n".join(f"- {name}: {value}" for name, value in sorted(config["arguments"].items()))
    knows = f"Labels: {', '.join(bundle.labels)}" if bundle.labels else f"Words: {config['arguments']['vocab_size']:,}"
    return f"""# {config["model"]} trained on {training["dataset"]}

{knows}

```
{summary(bundle)}
```

Where it errs: `report.md`.

## Use

```python
import dense_lstm_zoo as zoo

bundle = zoo.load("this folder")
{_USE[config["task"]]}
```

## Training

{settings}

## Model arguments

{arguments}
"""


def perplexity_report(evaluation: dict[str, Any], title: str) -> str:
    """Return a language model's report in Markdown: which words it finds hard."""
    rows = [
        (f"{row['from']:,} to {row['to']:,}", f"{row['perplexity']:.2f}", f"{row['tokens']:,}")
        for row in evaluation["by_rank"]
    ]
    return f"""# {title}: {evaluation["split"]} text

Perplexity {evaluation["perplexity"]:.2f} over {evaluation["tokens"]:,} tokens, of which
{evaluation["unknown_words"]:,} are unknown words (`<unk>`), counted as the papers do.

## By frequency in the training text

{_table(["rank of the word", "perplexity", "tokens"], rows)}
"""


def tagging_report(evaluation: dict[str, Any], title: str) -> str:
    """Return a tagger's report in Markdown: scores by tag, and what it confuses."""
    confusions = [(row["tokens"], row["right"], row["predicted"]) for row in evaluation["confusions"]]
    f1 = f", span F1 {_percent(evaluation['f1'])} %" if "f1" in evaluation else ""
    return f"""# {title}: {evaluation["split"]} sentences

Accuracy {_percent(evaluation["accuracy"])} % of {evaluation["tokens"]:,} tokens{f1}.

## The most frequent confusions

{_table(["tokens", "right", "predicted"], confusions) if confusions else "None."}

## By tag

{_by_class(evaluation["tags"], "tokens")}
"""


def _by_class(rows: list[dict[str, Any]], unit: str) -> str:
    cells = [
        (row["label"], *(_percent(row[name]) for name in ("precision", "recall", "f1")), f"{row['texts']:,}")
        for row in rows
    ]
    return _table(["label", "precision %", "recall %", "F1 %", unit], cells)


def evaluation_report(evaluation: dict[str, Any], title: str) -> str:
    """Return the report in Markdown; see ``analysis.analyse`` for what is in it."""
    wrong = [
        (f"{found['probability']:.3f}", found["predicted"], found["label"], _cell(found["text"]))
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
            f"# {title}: {evaluation['split']} texts",
            "\n## The most confidently wrong\n",
            _table(["probability", "predicted", "right", "text"], wrong) if wrong else "None.",
            "\n## By class\n",
            _by_class(evaluation["classes"], "texts"),
            "\n## Confusion\n",
            _confusion(evaluation),
            f"\n## Calibration\n\nExpected calibration error: {_percent(evaluation['calibration_error'])} %.\n",
            _table(["probability of the predicted label", "mean %", "accuracy %", "texts"], calibration),
            "",
        ]
    )


def _confusion(evaluation: dict[str, Any]) -> str:
    labels, counts = evaluation["labels"], evaluation["confusion"]
    if len(labels) <= _MOST_COLUMNS:
        rows = [(name, *row) for name, row in zip(labels, counts, strict=True)]
        return "Rows are right labels, columns predicted ones.\n\n" + _table(["", *labels], rows)
    errors = [(counts[i][j], labels[i], labels[j]) for i in range(len(labels)) for j in range(len(labels)) if i != j]
    top = sorted(filter(lambda error: error[0], errors), reverse=True)[:20]
    return "The most frequent confusions of many labels.\n\n" + _table(["texts", "right", "predicted"], top)


def _table(header: list[str], rows: list[tuple[Any, ...]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}"


def _cell(text: str) -> str:
    """Return a text as it can stand in a table's cell and a page."""
    short = " ".join(text.split())
    short = short if len(short) <= 300 else f"{short[:300]} ..."
    return "`` " + short.replace("|", "\\|").replace("``", "` `") + " ``"
