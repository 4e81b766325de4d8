import pytest

import dense_lstm_zoo as zoo
from benchmarks import tables
from dense_lstm_zoo.search import published

# dl, dh, th, with biases, without: spec and Ding et al. 2018, Tables 3-5.
ROWS = {
    "ding2018": (15, 13, 100, 1_406_560, 1_404_200),
    "ding2018_table3_0x10": (0, 10, 300, 1_442_400, 1_440_000),
    "ding2018_table3_5x40": (5, 40, 100, 1_442_400, 1_440_000),
    "ding2018_table3_10x20": (10, 20, 100, 1_442_400, 1_440_000),
    "ding2018_table3_15x13": (15, 13, 100, 1_406_560, 1_404_200),
    "ding2018_table3_20x10": (20, 10, 100, 1_442_400, 1_440_000),
    "ding2018_table4_0x10": (0, 10, 100, 320_800, 320_000),
    "ding2018_table4_5x10": (5, 10, 100, 541_200, 540_000),
    "ding2018_table4_10x10": (10, 10, 100, 801_600, 800_000),
    "ding2018_table4_15x10": (15, 10, 100, 1_102_000, 1_100_000),
    "ding2018_table4_20x10": (20, 10, 100, 1_442_400, 1_440_000),
    "ding2018_table5_10x0": (10, 0, 100, 320_800, 320_000),
    "ding2018_table5_10x5": (10, 5, 100, 541_200, 540_000),
    "ding2018_table5_10x10": (10, 10, 100, 801_600, 800_000),
    "ding2018_table5_10x15": (10, 15, 100, 1_102_000, 1_100_000),
    "ding2018_table5_10x20": (10, 20, 100, 1_442_400, 1_440_000),
}


@pytest.mark.parametrize("recipe", ROWS)
def test_the_closed_formula_gives_the_papers_counts_for_every_row(recipe):
    dl, dh, th, with_biases, without = ROWS[recipe]
    arguments = zoo.get_recipe(recipe).models["dc_bilstm"]
    assert (arguments["num_dense_layers"], arguments["dense_units"], arguments["top_units"]) == (dl, dh, th)
    assert zoo.count_encoder_parameters("dc_bilstm", recipe=recipe) == with_biases
    assert zoo.count_encoder_parameters("dc_bilstm", recipe=recipe, biases=False) == without


@pytest.mark.slow
def test_built_models_give_the_papers_counts_for_every_row():
    assert set(ROWS) == set(zoo.list_recipes(model="dc_bilstm")) - {
        *("xie2019", "xie2019_table2_dc_bilstm", "fixed_vectors", "xie2019_fixed_vectors", "few_labels")
    }
    for recipe, (*_, with_biases, without) in ROWS.items():
        model = zoo.build("dc_bilstm", recipe=recipe, vocab_size=10, num_classes=2)
        assert zoo.count_encoder_parameters(model) == with_biases
        assert zoo.count_encoder_parameters(model, biases=False) == without


def test_the_baselines_and_the_encoder_of_xie_count_as_published():
    assert zoo.count_encoder_parameters("bilstm", recipe="ding2018") == 1_442_400
    # Xie et al. read 350-wide words: a vector of 300 and 50 features of the characters.
    assert zoo.count_encoder_parameters("dc_bilstm", recipe="xie2019") == 1_428_048
    assert zoo.count_encoder_parameters("di_bilstm", recipe="xie2019") == 1_428_048 + 281_400
    model = zoo.build("di_bilstm", recipe="xie2019", vocab_size=10, num_classes=2, num_chars=9)
    assert zoo.count_encoder_parameters(model) == 1_428_048 + 281_400
    stacked = zoo.count_encoder_parameters("stacked_bilstm", recipe="ding2018")
    assert stacked == 8 * 100 * (300 + 100 + 1) + 7 * 8 * 100 * (200 + 100 + 1)
    assert zoo.count_encoder_parameters("residual_bilstm", recipe="ding2018") == stacked + 300 * 200


def test_our_own_recipe_differs_from_the_papers_in_the_word_vectors_and_in_the_rate_of_deep_stacks():
    ours, papers = zoo.get_recipe("fixed_vectors"), zoo.get_recipe("ding2018")
    for model in papers.models:
        slower = {"learning_rate": 0.002} if model in ("stacked_bilstm", "residual_bilstm") else {}
        assert ours.models[model] == {**papers.models[model], "trainable_embeddings": False, **slower}
    assert (ours.batch_size, ours.epochs, ours.patience) == (papers.batch_size, papers.epochs, papers.patience)
    assert not ours.expected
    for paper in ("kim2014", "xie2019"):
        trained, fixed = (zoo.get_recipe(f"{paper}{name}") for name in ("", "_fixed_vectors"))
        for model in trained.models:
            assert fixed.models[model] == {**trained.models[model], "trainable_embeddings": False}
        assert fixed.batch_size == trained.batch_size


def test_expected_scores_are_those_of_the_papers_tables():
    assert not [r for r in map(zoo.get_recipe, zoo.list_recipes()) if {"sst1", "sst2"}.intersection(r.expected)]
    assert zoo.get_recipe("ding2018").expected == {
        "mr": 82.8,
        "sst1_phrases": 51.9,
        "sst2_phrases": 89.7,
        "subj": 94.5,
        "trec": 95.6,
    }
    assert zoo.get_recipe("ding2018_table3_15x13").expected == {"sst1_phrases": 51.9, "sst2_phrases": 89.7}
    assert zoo.get_recipe("ding2018_table5_10x15").expected == {"sst1_phrases": 50.2, "sst2_phrases": 88.4}
    assert zoo.get_recipe("xie2019").expected["cr"] == 87.5
    assert zoo.get_recipe("xie2019_table2_dc_bilstm").expected["cr"] == 85.3
    assert zoo.get_recipe("xie2019_table3_stacked").expected["sst2_phrases"] == (87.2 + 86.2 + 86.9 + 86.8) / 4
    assert zoo.get_recipe("xie2019_table3_stacked_di").expected["sst2_phrases"] == (87.9 + 88.3 + 87.8 + 87.9) / 4


def test_figures_of_phrases_are_marked_beside_runs_on_sentences():
    figures = zoo.get_recipe("ding2018").expected
    assert published.figure(figures, "sst2") == published.figure(figures, "sst2_phrases") == 89.7
    assert (published.figure(figures, "trec"), published.figure(figures, "cr")) == (95.6, "")
    rows = [line.split(" | ") for line in tables.classification().splitlines() if "| sst" in line]
    assert {row[0].strip("| ") for row in rows} == {"sst1", "sst2", "sst2_phrases"}
    with_figures = [row for row in rows if row[-1].strip(" |")]
    assert len(with_figures) > 10
    for row in with_figures:
        assert ("(phrases)" in row[-1]) == ("phrases" not in row[0]), row


def test_models_are_listed_by_wildcard_and_task():
    stacks = ["residual_bilstm", "stacked_bilstm", "stacked_di_bilstm"]
    dsa = ["dsa_bilstm", "dsa_dc_bilstm"]
    classifiers = ["bilstm", "blstm_2dcnn", "cnn_mc", "dc_bilstm", "di_bilstm", *dsa, "lm_classifier", "lstm", *stacks]
    language_models = ["dense_lstm_lm", "residual_lstm_lm", "skip_lstm_lm", "stacked_lstm_lm"]
    assert zoo.list_models(task="classification") == classifiers
    assert zoo.list_models(task="language_model") == language_models
    taggers = ["bilstm_tagger", "gated_skip_tagger", "highway_tagger", "rhn_tagger"]
    assert zoo.list_models(task="tagging") == taggers
    assert zoo.list_models() == sorted([*classifiers, *language_models, *taggers])
    assert zoo.list_models("*_bilstm") == ["dc_bilstm", "di_bilstm", *dsa, *stacks]
    assert zoo.list_models("dc*", task="classification") == ["dc_bilstm"]
    assert zoo.list_models("nothing*") == []


def test_describe_prints_paper_defaults_parameters_and_recipes():
    text = str(zoo.describe("dc_bilstm"))
    for part in ("Ding et al. 2018", "Eqs 10-13", "1,406,560", "num_dense_layers", "15", "vocab_size", "required"):
        assert part in text
    assert "ding2018_table3_10x20" in text
    assert repr(zoo.describe("lstm")).startswith("lstm (classification)")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "dc_bilstn"}, "Unknown model 'dc_bilstn'. Did you mean 'dc_bilstm'"),
        ({"name": "gpt"}, "Accepted: bilstm, bilstm_tagger, blstm_2dcnn"),
        ({"vocab": 3}, "Unknown argument of dc_bilstm: 'vocab'. Did you mean 'vocab_size'"),
        ({"name": "bilstm", "dense_units": 3}, "Unknown argument of bilstm: 'dense_units'"),
        ({"vocab_size": 10}, "dc_bilstm needs num_classes; received vocab_size"),
        ({"num_classes": 0}, "num_classes must be an integer of at least 2; received 0"),
        ({"num_classes": 1}, "num_classes must be an integer of at least 2; received 1"),
        ({"vocab_size": 1}, "vocab_size must be an integer of at least 2"),
        ({"dense_units": -3}, "dense_units must be an integer of at least 0; received -3"),
        ({"top_units": 0}, "top_units must be an integer of at least 1; received 0"),
        ({"num_dense_layers": 1.5}, "num_dense_layers must be an integer"),
        ({"name": "bilstm", "units": -1}, "units must be an integer of at least 1; received -1"),
        ({"name": "stacked_bilstm", "num_layers": 0}, "num_layers must be an integer of at least 1"),
        ({"dropout": 1.0}, "dropout must be a number from 0 up to, not including, 1; received 1.0"),
        ({"embedding_dropout": -0.1}, "embedding_dropout must be a number from 0"),
        ({"dropout": "half"}, "dropout must be a number"),
        ({"l2": -1}, "l2 must be a finite number of at least 0"),
        ({"learning_rate": 0}, "learning_rate must be a finite number above 0"),
        ({"softmax_max_norm": float("nan")}, "softmax_max_norm must be a finite number above 0"),
        ({"pooling": "avg"}, "Unknown value of pooling: 'avg'. Accepted: attention, last, last_mean_max, max, mean"),
        ({"embedding_matrix": [[1.0]]}, r"embedding_matrix must have shape.*\(10, 300\); received \(1, 1\)"),
        ({"num_frozen_words": 9}, "num_frozen_words must leave padding and unknown trainable"),
        ({"recipe": "ding2019"}, "Unknown recipe 'ding2019'. Did you mean 'ding2018'"),
        ({"name": "bilstm", "recipe": "ding"}, r"Accepted: ding2018, few_labels, fixed_vectors\.$"),
        (
            {"name": "bilstm", "recipe": "xie2019"},
            "'xie2019' is for di_bilstm, .*, not for 'bilstm'. Recipes for bilstm",
        ),
        ({"char_filters": -1}, "char_filters must be an integer of at least 0; received -1"),
        ({"char_filters": 50}, "num_chars must be an integer of at least 2; received 0"),
        ({"char_filters": 1, "num_chars": 9, "char_kernel_sizes": (2, 3)}, "at most filters=1 widths"),
    ],
)
def test_bad_arguments_are_refused_with_near_matches_and_what_is_accepted(arguments, message):
    arguments = dict(arguments)
    name = arguments.pop("name", "dc_bilstm")
    if "needs" not in message:
        arguments = {"vocab_size": 10, "num_classes": 2, **arguments}
    with pytest.raises(ValueError, match=message):
        zoo.build(name, **arguments)


def test_unknown_tasks_and_arguments_beside_a_built_model_are_refused():
    with pytest.raises(ValueError, match=r"Unknown value of task: 'clasification'\. Did you mean 'classification'"):
        zoo.list_models(task="clasification")
    model = zoo.build("lstm", vocab_size=5, num_classes=2, units=2)
    with pytest.raises(ValueError, match="only with a model's name"):
        zoo.count_encoder_parameters(model, units=3)
