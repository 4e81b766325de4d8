"""Recipes of taggers: every row of Tables 1 to 4 of Wu et al. 2016, and our own."""

from __future__ import annotations

from typing import Any

from dense_lstm_zoo.tasks.recipe import Recipe


def _row(variant: str, source: str, expected: float, model: str = "gated_skip_tagger", **arguments: Any) -> Recipe:
    """Return a recipe with the paper's protocol: SGD on one sentence at a time, best epoch by dev accuracy."""
    corpus = "wsj" if variant.startswith("wsj") else "ccgbank"
    return Recipe(
        f"wu2016_{variant}",
        f"Wu et al. 2016, {source}",
        {model: {"units": 512, **arguments}},
        batch_size=1,
        expected={corpus: expected},
    )


def _skip(name: str, words: str, expected: float, **arguments: Any) -> Recipe:
    return _row(name, f"Table 2, {words}", expected, num_layers=7, skip=name, **arguments)


def _batched(name: str, words: str, **arguments: Any) -> Recipe:
    ours = {"units": 128, "char_filters": 30, "optimizer": "adam", "learning_rate": 0.003, "clip_norm": 5.0}
    models = ("bilstm_tagger", "gated_skip_tagger", "highway_tagger", "rhn_tagger")
    return Recipe(
        name,
        f"this project: {words}",
        {model: {**ours, **arguments} for model in models},
        batch_size=64,
        learning_rate_decay=0.8,
        decay_after=2,
        epochs=30,
        patience=3,
    )


RECIPES = (
    _batched(
        "batched", "128 units, all characters of a word, Adam on batches of 64 sentences, so that two cores are enough"
    ),
    _batched(
        "batched_fixed_vectors",
        "batched with frozen word vectors, chosen on CoNLL-2000's dev sentences",
        trainable_embeddings=False,
    ),
    _row("7_layers", "Table 1, 7 layers, skip output, gating", 94.67, num_layers=7),
    _row("7_layers_no_char", "Table 1, without characters", 94.45, num_layers=7, char_dim=0),
    _row("7_layers_no_dropout", "Table 1, without dropout", 94.0, num_layers=7, dropout=0.0, window_dropout=0.0),
    _row("9_layers", "Table 1, 9 layers, skip output, gating", 94.69, num_layers=9),
    _row("highway", "Table 2, H-LSTM (Zhang et al. 2016)", 93.52, "highway_tagger", num_layers=7),
    _row("rhn", "Table 2, RHN (Zilly et al. 2016), L = 3, with output gates", 94.24, "rhn_tagger", depth=3),
    _skip("none", "no skip connections", 94.26),
    _skip("gates", "to the gates, Eq 10", 94.22),
    _skip("internals", "to the internals, no gate, Eq 11", 94.63),
    _skip("gated_internals", "to the internals, with gate", 94.52),
    _skip("outputs", "to the outputs, no gate, Eq 14", 93.98),
    _skip("gated_outputs", "to the outputs, with gate, b_f = 0, Eq 15", 94.67),
    _skip("gated_sigmoid", "to the outputs, sigmoid mapping", 94.18),
    _row("gated_outputs_forget_bias_5", "Table 2, b_f = 5, Eq 15", 94.81, num_layers=7, forget_bias=5.0),
    *(
        _row(f"depth_{depth}", f"Table 3, {depth} layers", expected, num_layers=depth)
        for depth, expected in {3: 94.35, 5: 94.57, 7: 94.67, 9: 94.7, 11: 94.65}.items()
    ),
    _row("wsj_7_layers", "Table 4, POS tags, 7 layers", 97.45, num_layers=7),
    _row("wsj_9_layers", "Table 4, POS tags, 9 layers", 97.45, num_layers=9),
)
