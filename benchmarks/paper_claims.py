"""The claims of the four papers, for docs/papers.md: the gains that they print, and our rows beside them."""

from __future__ import annotations

from benchmarks.claims import OPEN, Claim

_FROZEN, _TRAINED = "settings=trainable_embeddings=false", "settings="


def _classified(file: str, other: str, case: str, settings: str = "") -> dict[str, str]:
    """Return the difference of DC-Bi-LSTM to another model on each corpus of ``case``."""
    corpora = {"MR": "mr", "SST-1": "sst1", "SST-2": "sst2", "Subj": "subj", "TREC": "trec"}
    return {name: f"{file}:{corpora[name]}:{settings}{{dc_bilstm - {other}}}:runs" for name in case.split()}


def _depths(number: int, first: str, *rows: str, words: str = _FROZEN, corpus: str = "sst2") -> dict[str, str]:
    """Return the difference of rows of Ding's table to its first."""
    table, of_corpus = f"ding2018_table{number}", f"{corpus}:{words}"
    return {row.replace("x", " x "): f"{table}:{of_corpus}:{{{table}_{row} - {table}_{first}}}:runs" for row in rows}


_TABLE3 = {"5 x 40": 1.2, "10 x 20": 1.3, "15 x 13": 2.5, "20 x 10": 1.6}
_TABLE4 = {"5 x 10": 0.6, "10 x 10": 0.9, "15 x 10": 1.3, "20 x 10": 1.3}


DING2018 = (
    Claim(
        "DC-Bi-LSTM is better than a Bi-LSTM (Table 1). Ours: of equal size, over the zoo's vectors, frozen",
        {"MR": 1.0, "SST-1": 2.8, "SST-1, on phrases": 2.8, "SST-2": 2.2, "Subj": 1.5, "TREC": 2.0},
        {
            **_classified("classification_fixed", "bilstm", "MR SST-1 SST-2 Subj TREC"),
            "SST-1, on phrases": "classification_fixed:sst1_phrases:{dc_bilstm - bilstm}:runs",
        },
        "more seeds: `python -m tuning classification_fixed --dataset sst2 --rows bilstm dc_bilstm --seeds 10 "
        "--vectors zoo_300d`, 1.5 h for each corpus, 3 h on phrases; MR with `--folds 10 --seeds 1`",
    ),
    Claim(
        "the same with trained vectors, as the paper's recipe has them",
        {"MR": 1.0, "SST-1": 2.8, "SST-2": 2.2, "Subj": 1.5, "TREC": 2.0},
        _classified("classification", "bilstm", "MR SST-1 SST-2 Subj TREC", "ding2018:settings=:"),
        "the paper's GloVe vectors of 42 billion words, and phrases of SST: `python -m tuning ding2018_table1 "
        "--dataset sst1_phrases --rows bilstm_ding2018 dc_bilstm_ding2018 --seeds 3 --vectors glove.42B.300d.txt`, 2 h",
    ),
    Claim(
        "it is better than convolutions (Table 1, `cnn_mc`). Ours: frozen vectors",
        {"MR": 1.7, "SST-1": 4.5, "SST-2": 1.6, "Subj": 1.3, "TREC": 3.4},
        _classified("classification_fixed", "cnn_mc", "MR SST-1 SST-2 Subj TREC"),
        "more seeds, as above with `--rows cnn_mc dc_bilstm`",
    ),
    Claim(
        "with 1.40 to 1.44 million parameters, deep and narrow is better than one layer (Table 3, SST-2). Ours, in "
        "this row and those below unless they say otherwise: frozen vectors, three seeds",
        _TABLE3,
        _depths(3, "0x10", "5x40", "10x20", "15x13", "20x10"),
        "ten seeds: `python -m tuning ding2018_table3 --dataset sst2 --seeds 10 --vectors zoo_300d "
        "--set trainable_embeddings=false`, 4 h",
    ),
    Claim(
        "the same on SST-1",
        {"5 x 40": 0.4, "10 x 20": 1.8, "15 x 13": 2.7, "20 x 10": 1.0},
        _depths(3, "0x10", "5x40", "10x20", "15x13", "20x10", corpus="sst1"),
        "as above, with `--dataset sst1`, 4 h",
    ),
    Claim(
        "the same on SST-2 with trained vectors, five seeds",
        _TABLE3,
        _depths(3, "0x10", "5x40", "10x20", "15x13", "20x10", words=_TRAINED),
        "as for Table 1 with trained vectors, with `ding2018_table3`",
    ),
    Claim(
        "more layers of width 10 are better (Table 4, SST-2)",
        _TABLE4,
        _depths(4, "0x10", "5x10", "10x10", "15x10", "20x10"),
        "as for Table 3, with `ding2018_table4`",
    ),
    Claim(
        "the same on SST-1",
        {"5 x 10": 0.9, "10 x 10": 1.0, "15 x 10": 2.1, "20 x 10": 1.7},
        _depths(4, "0x10", "5x10", "10x10", "15x10", "20x10", corpus="sst1"),
        "as for Table 3 on SST-1, with `ding2018_table4`",
    ),
    Claim(
        "the same on SST-2 with trained vectors, five seeds",
        _TABLE4,
        _depths(4, "0x10", "5x10", "10x10", "15x10", "20x10", words=_TRAINED),
        "as for Table 1 with trained vectors, with `ding2018_table4`",
    ),
    Claim(
        "wider dense layers are better, ten of them (Table 5, SST-2)",
        {"10 x 5": 0.8, "10 x 10": 0.9, "10 x 15": 0.9, "10 x 20": 1.0},
        _depths(5, "10x0", "10x5", "10x10", "10x15", "10x20"),
        "as for Table 3, with `ding2018_table5`",
    ),
    Claim(
        "the same on SST-1",
        {"10 x 5": 0.7, "10 x 10": 1.0, "10 x 15": 1.7, "10 x 20": 2.5},
        _depths(5, "10x0", "10x5", "10x10", "10x15", "10x20", corpus="sst1"),
        "as for Table 3 on SST-1, with `ding2018_table5`",
    ),
    Claim(
        "depth does not hurt, up to a point: at equal size 20 x 10 is below 15 x 13 (Table 3)",
        {"SST-1": -1.7, "SST-2": -0.9},
        {
            name: f"ding2018_table3:{corpus}:{_FROZEN}:{{ding2018_table3_20x10 - ding2018_table3_15x13}}:runs"
            for name, corpus in (("SST-1", "sst1"), ("SST-2", "sst2"))
        },
        "as for Table 3",
    ),
    Claim(
        "a stack of eight Bi-LSTMs collapses: 30 % on SST-1, where one has 49.2 %. Ours: trained vectors. (Over frozen "
        "vectors, at a rate of 0.002, it learns.)",
        {"SST-1": 19.2},
        {"SST-1": "classification:sst1:ding2018:settings=:{bilstm - stacked_bilstm}:runs"},
    ),
    Claim(
        "15 x 10 with 1.10 million parameters is better than one layer with 1.44",
        {"SST-1": 1.4, "SST-2": 1.6},
        {
            name: f"{{ding2018_table4:{corpus}:{_FROZEN}:ding2018_table4_15x10 - "
            f"ding2018_table3:{corpus}:{_FROZEN}:ding2018_table3_0x10}}:runs"
            for name, corpus in (("SST-1", "sst1"), ("SST-2", "sst2"))
        },
        "as for Table 3",
    ),
)

_LM = "language_model:{godin2017_dense_200x2 / godin2017_stacked_200x2}:test"
_HUNDRED = "`python -m tuning godin2017_table1 --rows"
GODIN2017 = (
    Claim(
        "at 2 x 200, dense connections lower the perplexity by a fifth: 80.4 instead of 100.9",
        paper="-20 %",
        ours="81.8<!-- language_model:godin2017_dense_200x2:test --> instead of "
        f"102.5<!-- language_model:godin2017_stacked_200x2:test -->, by 20<!-- less {_LM} --> %, one seed",
        verdict=f"{OPEN}: a fifth lower, with one seed",
        decides="two more seeds of both: `python -m tuning language_model --rows godin2017_dense_200x2 "
        "godin2017_stacked_200x2 --seeds 3 --set dtype=mixed_bfloat16 --hours 76`, 9 h where bfloat16 is fast",
    ),
    Claim(
        "at equal size (9 million), by a tenth: 80.4 instead of 87.9",
        paper="-9 %",
        ours="on 19.6 million words of film reviews, "
        "4.6<!-- less review_models:{dense_lstm_lm / stacked_lstm_lm}:dev_perplexity_mean --> % after one epoch, "
        "one seed (on dev)",
        verdict=f"{OPEN}: half as much on other data, with one seed",
        decides=f"{_HUNDRED} godin2017_dense_200x2 godin2017_stacked_350x2 --hours 33`, 32 h",
    ),
    Claim(
        "2 x 200 is better than a stack of 2 x 650 with twice the parameters (82.7)",
        paper="-3 %",
        decides=f"{_HUNDRED} godin2017_dense_200x2 zaremba2014_medium --hours 31`, 31 h",
    ),
    Claim(
        "3 x 200 is as good as a stack of 2 x 1500 with six times the parameters: 78.5, 78.4",
        paper="0 %",
        decides=f"{_HUNDRED} godin2017_dense_200x3 zaremba2014_large --hours 89`, 88 h",
    ),
    Claim(
        "a third and a fourth layer help (78.5, 76.8), a fifth does not (76.9)",
        paper="-2.4 %, -2.2 %, 0 %",
        decides=f"{_HUNDRED} godin2017_dense_200x2 godin2017_dense_200x3 godin2017_dense_200x4 godin2017_dense_200x5 "
        "--hours 98`, 97 h",
    ),
    Claim(
        "for their weights, wider layers gain less than a third: 2 x 650 (23 million) has 78.9, with variational "
        "dropout 78.3; 3 x 200 (11 million) has 78.5",
        paper="0.5 %, -0.3 %",
        decides=f"{_HUNDRED} godin2017_dense_200x3 godin2017_dense_650x2 godin2017_dense_650x2_variational "
        "--hours 115`, 115 h",
    ),
)


def _deep(first: str, second: str, *, corpus: str = "ewt_upos") -> str:
    return f"tagging:{corpus}:{{{first} - {second}}}:runs"


_SMALL = "units=64 epochs=8"


def _kind(skip: str, layers: int = 7) -> str:
    """Return the name of the small tagger of one kind of skip, in results/tagging.csv."""
    models = {
        "none": f"bilstm_tagger:num_layers={layers} {_SMALL}",
        "highway": f"highway_tagger:num_layers={layers} {_SMALL}",
        "rhn": f"rhn_tagger:depth=3 {_SMALL}",
        "gated_outputs": f"gated_skip_tagger:num_layers={layers} {_SMALL}",
    }
    return models.get(skip, f"gated_skip_tagger:num_layers={layers} {_SMALL} skip={skip}")


_ORTHOGONAL = f"{_kind('gated_outputs')} recurrent_initializer=orthogonal"
_ROW = "`python -m tuning tagging_depth --rows"
_SEEDS = (
    "five seeds anew, as the softmax has started smaller since: `python -m tuning tagging_depth --seeds 5 "
    "--vectors imdb.300d.txt.gz --hours 22`, 21 h for all 23 rows"
)
_SAME_RUNS = "the runs of the other skips"
WU2016 = (
    Claim(
        "seven layers with gated skips are better than seven without (Table 2, CCG supertags). Ours: parts of speech, "
        "and chunks (in F1), which the paper does not have; 128 units, as at the paper's 512 plain layers do not learn",
        {"tags": 0.4, "chunks": None},
        {
            "tags": _deep("gated_skip_tagger:num_layers=7", "bilstm_tagger:num_layers=7"),
            "chunks": _deep("gated_skip_tagger:num_layers=7", "bilstm_tagger:num_layers=7", corpus="conll2000"),
        },
        "two more seeds of chunks: `python -m tuning tagging --dataset conll2000 --recipe batched_fixed_vectors "
        "--models bilstm_tagger gated_skip_tagger --set num_layers=7 --seeds 3 --vectors imdb.300d.txt.gz`, 1.5 h",
    ),
    Claim(
        "skips help to the internals, gated or not, and to the outputs with a gate. Skips to the gates do not, nor do "
        "skips to the outputs without a gate. Ours, from here on: 64 units, 8 epochs, two seeds",
        {"internals": 0.4, "gated_internals": 0.3, "gated_outputs": 0.4, "gates": -0.1, "outputs": -0.3},
        {
            skip: _deep(_kind(skip), _kind("none"))
            for skip in ("internals", "gated_internals", "gated_outputs", "gates", "outputs")
        },
        _SEEDS,
    ),
    Claim(
        "the gate helps on outputs, and not on internals",
        {"outputs": 0.7, "internals": -0.1},
        {
            "outputs": _deep(_kind("gated_outputs"), _kind("outputs")),
            "internals": _deep(_kind("gated_internals"), _kind("internals")),
        },
        _SAME_RUNS,
    ),
    Claim(
        "the identity is better than a sigmoid of the skip",
        {"identity": 0.5},
        {"identity": _deep(_kind("gated_outputs"), _kind("gated_sigmoid"))},
        _SAME_RUNS,
    ),
    Claim(
        "gated skips are better than a highway and a recurrent highway network",
        {"highway": 1.2, "rhn": 0.4},
        {name: _deep(_kind("gated_outputs"), _kind(name)) for name in ("highway", "rhn")},
        _SAME_RUNS,
    ),
    Claim(
        "depth helps up to nine layers, and eleven are worse (Table 3)",
        {"3 to 5": 0.2, "5 to 7": 0.1, "7 to 9": 0.0, "9 to 11": -0.1},
        {
            f"{lower} to {lower + 2}": _deep(_kind("gated_outputs", lower + 2), _kind("gated_outputs", lower))
            for lower in (3, 5, 7, 9)
        },
        "a corpus of the size of CCGbank, 40,000 sentences: here no row is a fifth of a point from another",
    ),
    Claim(
        "characters and dropout are needed (Table 1)",
        {"characters": 0.2, "dropout": 0.7},
        {
            "characters": _deep(_kind("gated_outputs"), f"{_kind('gated_outputs')} char_dim=0"),
            "dropout": _deep(_kind("gated_outputs"), f"{_kind('gated_outputs')} dropout=0 window_dropout=0"),
        },
        _SAME_RUNS,
    ),
    Claim(
        "a forget bias of 0 is better than 5 (Table 2, dev; on test 5 is better there, by 0.1). Ours: test",
        {"forget bias": 0.3},
        {"forget bias": _deep(_ORTHOGONAL, f"{_kind('gated_outputs')} forget_bias=5.0")},
        f"{_ROW} orthogonal_7 forget_bias_5_7 --seeds 5 --vectors imdb.300d.txt.gz`, 1.8 h",
    ),
    Claim(
        "orthogonal recurrent matrices are better than Glorot's, by about 2 %",
        {"orthogonal": 1.9},
        {"orthogonal": _deep(_ORTHOGONAL, f"{_kind('gated_outputs')} recurrent_initializer=glorot_uniform")},
        f"{_ROW} orthogonal_7 glorot_7 --seeds 5 --vectors imdb.300d.txt.gz`, 1.8 h",
    ),
    Claim(
        "it reaches 94.67 % on CCGbank and 97.45 % on the Wall Street Journal",
        paper="-",
        decides="a licence: [on your own copy](sweeps.md#ccgbank-and-the-wall-street-journal), about 150 and 80 h",
    ),
)


def _pooled(corpus: str, encoder: str, first: str, second: str, *, frozen: bool = False) -> str:
    words = _FROZEN if frozen else "settings="
    return f"dynamic_interaction:{corpus}:{encoder}:{words}:{{pooling={first} - pooling={second}}}:runs"


def _over_both(first: str, second: str, *corpora: str, frozen: bool) -> dict[str, str]:
    """Return the difference of two poolings on each corpus, over each encoder."""
    return {
        f"{name}, {encoder}": _pooled(_XIE_CORPORA[name], encoder, first, second, frozen=frozen)
        for encoder in ("dense", "stack")
        for name in corpora
    }


_XIE_CORPORA = {"SST-1": "sst1", "SST-2": "sst2", "TREC": "trec", "CR": "cr", "Subj": "subj"}
_BY_FEATURE = _over_both("vector", "mean", *_XIE_CORPORA, frozen=True)
_ROUTED_ALIKE = _over_both("position", "constant", *_XIE_CORPORA, frozen=True)
_ROUTED_ALIKE_TRAINED = _over_both("position", "constant", "SST-2", "TREC", frozen=False)
_ROUTED = "--seeds 3 --vectors zoo_300d --set trainable_embeddings=false"
_ROUTED_BY_TEN = _ROUTED.replace("--seeds 3", "--seeds 10")
XIE2019 = (
    Claim(
        "dynamic interaction is better than the mean, over DC-Bi-LSTM (Table 2). Ours: frozen vectors",
        {"SST-1": 0.9, "SST-2": 0.6, "TREC": 1.7, "Subj": 0.4, "MR": -0.2, "CR": 2.2},
        {
            "SST-1": _pooled("sst1", "dense", "position", "mean", frozen=True),
            "SST-2": _pooled("sst2", "dense", "position", "mean", frozen=True),
            "TREC": _pooled("trec", "dense", "position", "mean", frozen=True),
            "Subj": _pooled("subj", "dense", "position", "mean", frozen=True),
            "CR": _pooled("cr", "dense", "position", "mean", frozen=True),
        },
        f"`python -m tuning dynamic_interaction --dataset sst1 --encoders dense {_ROUTED_BY_TEN}`, 2 h more, "
        "TREC 1 h; `--dataset mr --folds 10 --only-folds 1 2 3 --seeds 1`, 1.8 h; CR and Subj: seven more folds",
    ),
    Claim(
        "and over a stack of four Bi-LSTMs, in each of four runs (Table 3). Ours: trained vectors",
        {"SST-2": 1.2, "TREC": 0.8},
        {name: _pooled(corpus, "stack", "position", "mean") for name, corpus in (("SST-2", "sst2"), ("TREC", "trec"))},
    ),
    Claim(
        "the same over frozen vectors",
        {"SST-2": 1.2, "TREC": 0.8},
        {
            name: _pooled(corpus, "stack", "position", "mean", frozen=True)
            for name, corpus in (("SST-2", "sst2"), ("TREC", "trec"))
        },
        f"`python -m tuning dynamic_interaction --dataset sst2 --encoders stack {_ROUTED_BY_TEN}`, 2 h more, TREC 1 h",
    ),
    Claim(
        "our question: is it better than the mean over such a stack on corpora for which the paper has no figure?",
        {"SST-1, frozen": None, "CR, frozen": None, "Subj, frozen": None},
        {
            "SST-1, frozen": _pooled("sst1", "stack", "position", "mean", frozen=True),
            "CR, frozen": _pooled("cr", "stack", "position", "mean", frozen=True),
            "Subj, frozen": _pooled("subj", "stack", "position", "mean", frozen=True),
        },
    ),
    Claim(
        'our question: is a weight for each feature, `mode="vector"`, better than the mean? Ours: frozen vectors',
        dict.fromkeys(_BY_FEATURE),
        _BY_FEATURE,
    ),
    Claim(
        'our question: does the routing add to its projections? Compared with `weights="constant"`; frozen vectors',
        dict.fromkeys(_ROUTED_ALIKE),
        _ROUTED_ALIKE,
    ),
    Claim(
        "the same with trained vectors",
        dict.fromkeys(_ROUTED_ALIKE_TRAINED),
        _ROUTED_ALIKE_TRAINED,
    ),
    Claim(
        "it is better than dynamic self-attention (Table 2). Ours: both over DC-Bi-LSTM; SST-1 frozen, SST-2 trained "
        "vectors",
        {"SST-1": 0.4, "SST-2": 1.4},
        {
            "SST-1": _pooled("sst1", "dense", "position", "dsa", frozen=True),
            "SST-2": _pooled("sst2", "dense", "position", "dsa"),
        },
        "SST-1: `python -m tuning dynamic_interaction --dataset sst1 --rows dense_dsa dense_position "
        f"{_ROUTED_BY_TEN}`, 2 h",
    ),
)
