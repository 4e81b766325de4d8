"""Recipes of classifiers: Ding et al. 2018, Xie et al. 2019, and our own."""

from __future__ import annotations

from typing import Any

from dense_lstm_zoo.tasks.recipe import Recipe


def _dc(num_dense_layers: int, dense_units: int, top_units: int = 100) -> dict[str, int]:
    return {"num_dense_layers": num_dense_layers, "dense_units": dense_units, "top_units": top_units}


def _ding_row(table: int, dl: int, dh: int, th: int, sst1: float, sst2: float) -> Recipe:
    return Recipe(
        name=f"ding2018_table{table}_{dl}x{dh}",
        source=f"Ding et al. 2018, Table {table}, row dl={dl} dh={dh} th={th}",
        models={"dc_bilstm": _dc(dl, dh, th)},
        expected={"sst1_phrases": sst1, "sst2_phrases": sst2},
    )


_DING: dict[str, dict[str, Any]] = {
    "dc_bilstm": _dc(15, 13),
    "bilstm": {"units": 300},
    "lstm": {"units": 300},
    "stacked_bilstm": {"num_layers": 8, "units": 100},
    "residual_bilstm": {"num_layers": 8, "units": 100},
}
# With frozen word vectors, stacks of eight layers collapse or lag at the rate of 0.005 (results/recipe_search.csv).
_FIXED_RATES = {model: {"learning_rate": 0.002} for model in ("stacked_bilstm", "residual_bilstm")}
_KIM = {"embedding_dropout": 0.0, "l2": 0.0, "softmax_max_norm": 3.0, "learning_rate": 0.001}
# Word representation and initialisation, shared by all models of the paper.
_XIE_SHARED = {"char_filters": 50, "recurrent_initializer": "glorot_uniform", "unit_forget_bias": False}
_XIE: dict[str, dict[str, Any]] = {
    model: {**arguments, **_XIE_SHARED}
    for model, arguments in {
        "di_bilstm": _dc(14, 13),
        "dc_bilstm": _dc(14, 13),
        "stacked_bilstm": {"num_layers": 4, "units": 100},
        "stacked_di_bilstm": {"num_layers": 4, "units": 100},
        "dsa_bilstm": {"num_layers": 4, "units": 100},
        "dsa_dc_bilstm": _dc(14, 13),
    }.items()
}
# Scores on the Stanford Sentiment Treebank are for training on all its phrases (Ding et al. 2018, section 4.1).
_XIE_TABLE_2 = {"sst1_phrases": 51.0, "sst2_phrases": 89.9, "trec": 96.5, "subj": 95.2, "mr": 83.1, "cr": 87.5}
_XIE_TABLE_2_BASELINE = {"sst1_phrases": 50.1, "sst2_phrases": 89.3, "trec": 94.8, "subj": 94.8, "mr": 83.3, "cr": 85.3}
_XIE_TABLE_3 = {
    "stacked": {"sst2_phrases": 86.775, "trec": 93.975},
    "di": {"sst2_phrases": 87.975, "trec": 94.825},
}


def _only(model: str) -> dict[str, Any]:
    return {model: _XIE[model]}


def _xie(row: str, table: str, models: dict[str, Any], expected: dict[str, float]) -> Recipe:
    return Recipe(f"xie2019{row}", f"Xie et al. 2019, {table}", models, expected=expected)


RECIPES = (
    Recipe(
        name="ding2018",
        source="Ding et al. 2018, section 4.2 and Table 1",
        models=_DING,
        expected={"mr": 82.8, "sst1_phrases": 51.9, "sst2_phrases": 89.7, "subj": 94.5, "trec": 95.6},
    ),
    Recipe(
        name="fixed_vectors",
        source="this project: ding2018 with frozen word vectors, chosen on the dev texts of SST-2 and TREC",
        models={
            model: {**arguments, "trainable_embeddings": False, **_FIXED_RATES.get(model, {})}
            for model, arguments in _DING.items()
        },
    ),
    Recipe(
        name="kim2014",
        source="Kim 2014, section 3.1, with Adam",
        models={"cnn_mc": _KIM},
        batch_size=50,
    ),
    Recipe(
        name="kim2014_fixed_vectors",
        source="this project: kim2014 with frozen word vectors, chosen on the dev texts of SST-2 and TREC",
        models={"cnn_mc": {**_KIM, "trainable_embeddings": False}},
        batch_size=50,
    ),
    Recipe(
        name="zhou2016",
        source="Zhou et al. 2016, section 4.2, with Adam on larger batches",
        models={"blstm_2dcnn": {"units": 300, "filters": 100, "dropout": 0.4, "l2": 1e-5, "learning_rate": 0.001}},
        batch_size=50,
    ),
    Recipe(
        name="fine_tuning",
        source="Howard and Ruder 2018, sections 3.2 and 3.3, with Adam at a constant rate; needs init_from",
        models={"lm_classifier": {"embedding_dropout": 0.2, "dropout": 0.4, "l2": 0.0, "learning_rate": 0.003}},
        batch_size=50,
        unfreeze="gradual",
        layer_decay=2.6,
    ),
    Recipe(
        name="few_labels",
        source="this project: the last layer alone, over words and states that are not trained; for 8 to 500 labels",
        models={
            model: {"pooled_words": True, "trainable_embeddings": False, "l2": 0.0}
            for model in ("bilstm", "dc_bilstm", "lstm")
        },
        epochs=1,
        dev_fraction=0.0,
        head="convex",
    ),
    _ding_row(3, 0, 10, 300, 49.2, 87.2),
    _ding_row(3, 5, 40, 100, 49.6, 88.4),
    _ding_row(3, 10, 20, 100, 51.0, 88.5),
    _ding_row(3, 15, 13, 100, 51.9, 89.7),
    _ding_row(3, 20, 10, 100, 50.2, 88.8),
    _ding_row(4, 0, 10, 100, 48.5, 87.5),
    _ding_row(4, 5, 10, 100, 49.4, 88.1),
    _ding_row(4, 10, 10, 100, 49.5, 88.4),
    _ding_row(4, 15, 10, 100, 50.6, 88.8),
    _ding_row(4, 20, 10, 100, 50.2, 88.8),
    _ding_row(5, 10, 0, 100, 48.5, 87.5),
    _ding_row(5, 10, 5, 100, 49.2, 88.3),
    _ding_row(5, 10, 10, 100, 49.5, 88.4),
    _ding_row(5, 10, 15, 100, 50.2, 88.4),
    _ding_row(5, 10, 20, 100, 51.0, 88.5),
    _xie("", "section 4 and Table 2 (DC-Bi-LSTM with dynamic interaction)", _XIE, _XIE_TABLE_2),
    Recipe(
        name="xie2019_fixed_vectors",
        source="this project: xie2019 with frozen word vectors, chosen on the dev texts of SST-2 and TREC",
        models={model: {**arguments, "trainable_embeddings": False} for model, arguments in _XIE.items()},
    ),
    _xie("_table2_dc_bilstm", "Table 2, its own DC-Bi-LSTM", _only("dc_bilstm"), _XIE_TABLE_2_BASELINE),
    _xie("_table3_stacked", "Table 3, mean of four", _only("stacked_bilstm"), _XIE_TABLE_3["stacked"]),
    _xie("_table3_stacked_di", "Table 3, mean of four", _only("stacked_di_bilstm"), _XIE_TABLE_3["di"]),
)
