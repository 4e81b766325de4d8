"""Model cards: the README of a bundle, with its purpose, data, scores, failures, cost, command and sources."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dense_lstm_zoo.corpora import terms
from dense_lstm_zoo.corpora.dataset import fold_of
from dense_lstm_zoo.display import by_class, code, escape, fenced, percent
from dense_lstm_zoo.models import registry
from dense_lstm_zoo.reports import command_line
from dense_lstm_zoo.storage.bundle_names import FOR_PEOPLE
from dense_lstm_zoo_runtime.export_folder import SUBFOLDER

if TYPE_CHECKING:
    from dense_lstm_zoo.bundles.bundle import Bundle

_MOST_LABELS = 50  # labels.json holds all labels
_MOST_CONFUSIONS = 3
_MOST_WRONG = 3
_MOST_TEACHERS = 10
_RARE = 10  # a class with fewer texts says little


def model_card(bundle: Bundle, folder: Path | None = None, use: str | None = None) -> str:
    """Return a bundle's README, or that of an export.

    Args:
        bundle: The bundle.
        folder: Where it is saved, for the size of its files.
        use: Python code that uses an export. None for a bundle.
    """
    config = bundle.config
    training, evaluation = config["training"], bundle.evaluation
    title = f"# {escape(config['model'])} trained on {escape(training['dataset'], 80)}"
    if fold := fold_of(training):
        title += f" without fold {fold[0]} of {fold[1]}"
    parts = [title, _knows(bundle)]
    parts += [_origin(training.get("init_from")), _teacher(training.get("taught_by")), fenced(bundle.summary())]
    if not evaluation:
        parts.append("It has no scores; `bundle.rescore(test=...)` adds them.")
    elif use is None:
        parts.append("Error analysis: `report.md`.")
    parts += [_by_class(evaluation), _section("Known failures", _failures(evaluation)), _purpose(training["dataset"])]
    is_export = use is not None
    if use is None:
        use = f'import dense_lstm_zoo as zoo\n\nbundle = zoo.load("this folder")\n{bundle.task.module("report").USE}'
    parts += [_section("Use", fenced(use, "python")), _section("Data and terms", _data(training))]
    parts += [_section("Size and speed", _cost(bundle, folder, is_export)), _section("Training", _settings(training))]
    parts += [_section("Command", _command(config)), _section("Model arguments", _settings(config["arguments"]))]
    parts += [_section("Versions", _settings(config.get("versions", {}))), _section("Citation", _citation(config))]
    return "\n\n".join(text for text in parts if text) + "\n"


def _section(title: str, text: str) -> str:
    return f"## {title}\n\n{text}" if text else ""


def _knows(bundle: Bundle) -> str:
    if not bundle.labels:
        return f"Words: {bundle.config['arguments']['vocab_size']:,}"
    labels = ", ".join(escape(name, 80) for name in bundle.labels[:_MOST_LABELS])
    more = len(bundle.labels) - _MOST_LABELS
    return f"Labels: {labels}" + (f" and {more:,} more, in {code('labels.json')}" if more > 0 else "")


def _origin(origin: Mapping[str, Any] | None) -> str:
    """Return a line about the trained model that the training went on from, or an empty one."""
    if not origin:
        return ""
    sentence = f"Trained further from {escape(origin['name'], 80)}, a {escape(origin['model'])} trained on "
    sentence += f"{escape(origin['dataset'], 80)} (manifest {escape(str(origin['sha256'])[:12])})"
    if origin.get("freeze"):
        until = origin.get("unfreeze_after")
        when = f"until epoch {escape(until)}" if until else "at all"
        sentence += f"; its {escape(origin['freeze'])} was not trained {when}"
    if origin.get("unfreeze"):
        sentence += f"; {escape(origin['unfreeze'])} unfreezing, one layer per epoch from the top down"
    if origin.get("layer_decay"):
        sentence += f"; each layer's learning rate is that of the one above divided by {escape(origin['layer_decay'])}"
    sentence += f"; last layer {escape(origin['head'])}; {origin['new_words']:,} new words."
    for part, count in origin.get("overlap", {}).items():
        sentence += f" **{count:,} {escape(part)} texts were among the texts it was trained on.**"
    return f"{sentence} {_origin(origin.get('init_from'))}".strip()


def _teacher(taught_by: object) -> str:
    """Return a line about those whose probabilities the model learnt from, or an empty one."""
    if not isinstance(taught_by, Mapping):
        return ""
    teachers = [escape(name, 200) for name in list(taught_by.get("teachers", ()))[:_MOST_TEACHERS]]
    who = f"Taught by {', '.join(teachers)}" if teachers else "Taught by probabilities that do not name their teacher"
    texts, labelled = (escape(taught_by.get(name)) for name in ("texts", "labelled"))
    return f"{who}: soft labels for {texts} training texts, of which {labelled} have a label of their own."


def _classes(evaluation: Mapping[str, Any]) -> tuple[list[Mapping[str, Any]], str]:
    """Return the scores by class or tag, and what is counted."""
    return list(evaluation.get("classes") or evaluation.get("tags") or ()), (
        "texts" if "classes" in evaluation else "tokens"
    )


def _by_class(evaluation: Mapping[str, Any]) -> str:
    rows, unit = _classes(evaluation)
    if not rows or len(rows) > _MOST_LABELS:
        return ""
    return _section(f"Scores by class, on the {escape(evaluation['split'])} set", by_class(rows, unit))


def _failures(evaluation: Mapping[str, Any]) -> str:
    """Return the weakest class, the most frequent confusions and the most confident errors of an evaluation."""
    return "\n".join(f"- {line}" for line in _failure_lines(evaluation))


def _failure_lines(evaluation: Mapping[str, Any]) -> Iterator[str]:
    rows, unit = _classes(evaluation)
    scored = [row for row in rows if row["f1"] is not None and row["texts"] >= _RARE]
    if len(scored) > 1:
        worst = min(scored, key=lambda row: row["f1"])
        yield f"weakest on {escape(worst['label'], 80)}: F1 {percent(worst['f1'])} % of {worst['texts']:,} {unit}"
    confusions = _confusions(evaluation)[:_MOST_CONFUSIONS]
    if confusions:
        yield "taken for another: " + "; ".join(
            f"{escape(right, 80)} for {escape(predicted, 80)} ({count:,} {unit})"
            for count, right, predicted in confusions
        )
    for error in evaluation.get("wrong", ())[:_MOST_WRONG]:
        start = f"{escape(error['predicted'], 80)} with probability {error['probability']:.3f}, right is "
        yield f"{start}{escape(error['label'], 80)}: {escape(error['text'], 200)}"


def _confusions(evaluation: Mapping[str, Any]) -> list[tuple[int, str, str]]:
    """Return count, right and predicted label of each confusion, the most frequent first."""
    if "confusions" in evaluation:  # a tagger's
        return [(row["tokens"], row["right"], row["predicted"]) for row in evaluation["confusions"]]
    if "confusion" in evaluation:
        rows = enumerate(evaluation["confusion"])
        cells = [(i, j, count) for i, row in rows for j, count in enumerate(row) if count]
    else:
        cells = [tuple(cell) for cell in evaluation.get("confusion_cells", ())]
    names = evaluation.get("labels", ())
    wrong = [(count, names[i], names[j]) for i, j, count in cells if i != j]
    return sorted(wrong, key=lambda cell: -cell[0])


def _purpose(corpus: object) -> str:
    facts = terms.about(corpus)
    return _section("Purpose", f"- For: {facts.good_for}.\n- Not for: {facts.not_for}.") if facts else ""


def _data(training: Mapping[str, Any]) -> str:
    corpus, vectors = training["dataset"], training.get("vectors")
    lines = [f"- {escape(corpus, 80)}: {escape(terms.terms_of(corpus) or 'terms not recorded; ask who trained it')}"]
    for earlier in terms.corpora_before(training):
        licence = terms.terms_of(earlier) or "terms not recorded"
        lines.append(f"- {escape(earlier, 80)}, of the model that it was trained further from: {escape(licence)}")
    if isinstance(vectors, str):
        licence_of_vectors = terms.terms_of_vectors(vectors) or "terms not recorded"
        lines.append(f"- word vectors, {escape(vectors, 80)}: {escape(licence_of_vectors)}")
    else:
        lines.append("- no word vectors from elsewhere")
    if isinstance(context := training.get("context"), dict):
        lines.append(_context(context))
    return "\n".join(lines)


def _context(context: Mapping[str, Any]) -> str:
    corpora = [(name, terms.terms_of(name) or "terms not recorded") for name in map(str, context.get("datasets", ()))]
    sources = "; ".join(f"{escape(name, 80)}: {escape(licence)}" for name, licence in corpora) or "corpus not recorded"
    line = f"- frozen states of the text encoder {escape(context.get('name'), 80)}, trained without labels on {sources}"
    for part, count in dict(context.get("overlap") or {}).items():
        line += f"; {count:,} {escape(part)} texts were among its own" if count else ""
    return line


def _cost(bundle: Bundle, folder: Path | None, is_export: bool) -> str:
    metrics, lines = bundle.metrics, []
    if "parameters" in metrics:
        lines.append(
            f"- {metrics['parameters']:,} parameters, {metrics['encoder_parameters']:,} of them in the encoder"
        )
    if folder is not None and folder.is_dir():
        own = (file for file in folder.rglob("*") if file.is_file() and file.name not in FOR_PEOPLE)
        size = sum(file.stat().st_size for file in own if file.relative_to(folder).parts[0] != SUBFOLDER)
        lines.append(f"- {size / 2**20:.1f} MB on disk")
    if "p50_ms_1" in metrics and not is_export:  # times of the bundle itself
        lines.append(
            f"- one text: median {metrics['p50_ms_1']:.1f} ms, 99th percentile {metrics['p99_ms_1']:.1f} ms; "
            f"{metrics['texts_per_s']:,.0f} texts a second in batches of {escape(metrics['speed_batch'])}"
            f" ({escape(metrics['speed_of'])})"
        )
    return "\n".join([*lines, "- on your machine: `dense-lstm-zoo measure` with this folder"])


def _command(config: Mapping[str, Any]) -> str:
    command = command_line.of(config)
    return fenced(command, "shell") if command else ""


def _citation(config: Mapping[str, Any]) -> str:
    """Return the paper of the model and that of the corpus. A card is also written for what this version lacks."""
    try:
        paper = registry.entry(config["model"]).paper
    except ValueError:
        paper = "unknown to this version"
    facts = terms.about(config["training"]["dataset"])
    return "\n".join([f"- model: {escape(paper)}", *([f"- data: {escape(facts.paper)}"] if facts else [])])


def _settings(values: Mapping[str, Any]) -> str:
    return "\n".join(
        f"- {escape(name, 80)}: {escape(value)}" for name, value in sorted(values.items()) if _is_listed(name, value)
    )


def _is_listed(name: str, value: object) -> bool:
    in_words = ("init_from", "context", "taught_by", "fold")
    return value is not None and name not in in_words
