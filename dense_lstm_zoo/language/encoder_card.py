"""The card of a text encoder: the README of its folder, with what it was made of, its terms and how to use it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from dense_lstm_zoo.corpora import terms
from dense_lstm_zoo.display import escape, fenced, table
from dense_lstm_zoo.models import registry

if TYPE_CHECKING:
    from dense_lstm_zoo.training.context_source import Encoder

_USE = """import dense_lstm_zoo as zoo

zoo.train("dc_bilstm", "trec", "runs/trec", context="this folder")
zoo.train("lm_classifier", "trec", "runs/tuned", recipe="fine_tuning", init_from="this folder")"""


def encoder_card(encoder: Encoder, folder: Path) -> str:
    """Return the README of a ``TextEncoder``'s folder."""
    size = sum(file.stat().st_size for file in folder.iterdir() if file.is_file())
    rows = [
        (direction, *(_cell(model, name) for name in ("model", "dataset", "epochs", "dev_perplexity", "seed")))
        for direction in encoder.directions
        if (model := encoder.models.get(direction)) is not None
    ]
    heads = ["direction", "model", "corpus", "epochs", "dev perplexity", "seed"]
    vectors = "trained with the language models" if encoder.table is None else f"{escape(encoder.table[0], 80)}, fixed"
    corpora = dict.fromkeys(str(model.get("dataset", "unknown")) for model in encoder.models.values())
    parts = [
        "# Text encoder",
        "Language models without their softmax, for other models to read with. It predicts nothing by itself.",
        table(heads, rows),
        f"- {' and '.join(encoder.directions)}: {encoder.num_layers} layers of {encoder.units} units "
        f"({encoder.wiring} {encoder.cell})\n- words: {len(encoder.words):,}\n- word vectors: {vectors}\n"
        f"- {size / 2**20:.1f} MB on disk",
        "## Use",
        fenced(_USE, "python"),
        "## Data and terms",
        "\n".join(map(_terms, corpora)) + _vector_terms(encoder),
        "## Citation",
        "\n".join(dict.fromkeys(_papers(encoder))),
    ]
    return "\n\n".join(parts) + "\n"


def _cell(model: dict[str, Any], name: str) -> str:
    value = model.get(name, "")
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def _terms(corpus: str) -> str:
    return f"- {escape(corpus, 80)}: {escape(terms.terms_of(corpus) or 'terms not recorded; ask who trained it')}"


def _vector_terms(encoder: Encoder) -> str:
    if encoder.table is None:
        return ""
    name = encoder.table[0]
    return f"\n- word vectors, {escape(name, 80)}: {escape(terms.terms_of_vectors(name) or 'terms not recorded')}"


def _papers(encoder: Encoder) -> list[str]:
    lines = ["- states beside words: Peters et al. 2018", "- fine-tuning: Howard and Ruder 2018"]
    for model in encoder.models.values():
        name, about = str(model.get("model")), terms.about(model.get("dataset"))
        if name in registry.list_models():
            lines.append(f"- model: {escape(registry.entry(name).paper)}")
        lines += [f"- data: {escape(about.paper)}"] if about else []
    return lines
