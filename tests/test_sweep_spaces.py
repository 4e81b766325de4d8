"""Spaces of a sweep: the models' default spaces, spaces read from words, widths from a budget."""

import json
import re

import keras_tuner
import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo.models import registry
from dense_lstm_zoo.search.budget import fit_width, parse_count
from dense_lstm_zoo.search.hypermodel import HyperModel
from dense_lstm_zoo.search.plan import make_oracle_of, plan
from dense_lstm_zoo.search.space import default_space, describe_space, parse_space, space_from


@pytest.mark.parametrize("name", zoo.list_models())
def test_every_model_has_a_default_space_that_builds(name):
    entry = registry.entry(name)
    fixed = {"vocab_size": 9, "num_classes": 2, "num_tags": 3, "num_chars": 9, "top_units": 4}
    if entry.task != "language_model":  # there it is the units where nothing else is said
        fixed["embedding_dim"] = 5
    fixed = {key: value for key, value in fixed.items() if key in entry.arguments}
    hypermodel, hp = HyperModel(name, **fixed), keras_tuner.HyperParameters()
    hypermodel.declare_hyperparameters(hp)
    space = default_space(name)
    assert set(hp.values) == set(space) >= {"dropout", "learning_rate"}
    assert all(space[key].low <= value <= space[key].high for key, value in hp.values.items())
    # Values of a trial, the sizes far smaller than any that are searched: each has to reach the model.
    values = {"units": 4, "dense_units": 2, "num_layers": 2, "num_dense_layers": 2, "learning_rate": 0.0123}
    values |= {"dropout": 0.45, "embedding_dropout": 0.35}
    hp.values.update({key: value for key, value in values.items() if key in space})
    assert set(values) >= set(space)
    model = hypermodel.build(hp)
    assert float(model.optimizer.learning_rate) == pytest.approx(0.0123)
    sizes = {key: value for key, value in {**fixed, **hp.values}.items() if key in entry.arguments}
    assert registry.count_encoder_parameters(model) == zoo.count_encoder_parameters(name, **sizes)
    config = model.to_json()
    for value in {0.45, 0.35} & set(hp.values.values()):
        assert re.search(rf": {value}[,}}]", config), value
    assert model.count_params() < 20_000


def test_spaces_are_read_from_words_and_survive_json():
    space = parse_space(["units=50:300:log", "dropout=0.2:0.6:0.1", "pooling=mean,max", "num-layers=1:4", "l2=0"])
    assert space == {
        "units": zoo.Range(50, 300, log=True),
        "dropout": zoo.Range(0.2, 0.6, step=0.1),
        "pooling": ["mean", "max"],
        "num_layers": zoo.Range(1, 4),
        "l2": [0],
    }
    assert space_from(json.loads(json.dumps(describe_space(space)))) == space


@pytest.mark.parametrize(("dl", "th", "width"), [(5, 100, 40), (10, 100, 20), (15, 100, 13), (20, 100, 10)])
def test_a_budget_gives_the_widths_of_the_papers_table_3(dl, th, width):
    assert fit_width("dc_bilstm", {"num_dense_layers": dl, "top_units": th}, 1_440_000) == {"dense_units": width}
    assert fit_width("dc_bilstm", {"num_dense_layers": 0}, 1_440_000) == {"top_units": 300}


def test_a_budget_is_met_just_under_and_numbers_are_read():
    for model, arguments in (("stacked_bilstm", {"num_layers": 3}), ("gated_skip_tagger", {"num_layers": 5})):
        width = fit_width(model, arguments, 900_000)["units"]
        sizes = [zoo.count_encoder_parameters(model, biases=False, units=width + i, **arguments) for i in (0, 1)]
        assert sizes[0] <= 900_000 < sizes[1]
    assert [parse_count(x) for x in ("1.44M", "300k", "1,000", 7)] == [1_440_000, 300_000, 1000, 7]


@pytest.mark.parametrize(
    ("low", "high", "step", "message"),
    [
        (1, 9, 0.5, "a range of integers needs an integer as its step"),
        (1, None, None, "a range is of numbers"),
        (1, 9, "2", "a range is of numbers"),
        (0.0, 1.0, 1e-9, "at most 10,000 steps"),
        (1, float("inf"), None, "a range needs low <= high"),
    ],
)
def test_ranges_that_keras_tuner_would_refuse_later_are_refused_at_once(low, high, step, message):
    with pytest.raises(ValueError, match=f"(?i){message}"):
        zoo.Range(low, high, step)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"freeze": "encoder"}, "freeze='encoder' needs init_from"),
        ({"layer_decay": 2.6}, "layer_decay=2.6 needs init_from"),
        ({"num_steps": 35}, "'num_steps'"),
        ({"space": {"num_steps": [8, 16]}}, "'num_steps'"),
        ({"batch_size": 0}, "batch_size"),
    ],
)
def test_what_every_trial_would_refuse_is_refused_before_the_first(options, message):
    with pytest.raises(ValueError, match=message):
        plan("bilstm", "demo", **{"space": {"units": [3]}, **options})


def test_a_sweep_takes_no_corpus_from_memory_and_does_not_print_it():
    with pytest.raises(ValueError, match="received a Corpus") as refused:
        plan("bilstm", zoo.load_corpus("demo"), space={"units": [3]})
    assert len(str(refused.value)) < 500


def test_a_budget_counts_vectors_of_their_own_length(tmp_path):
    (tmp_path / "v.txt").write_text(f"film{' 1' * 7}\nplay{' 2' * 7}\n")
    options = {"space": {"num_dense_layers": [5]}, "top_units": 20, "budget": "30k", "tuner": "grid"}
    planned = plan("dc_bilstm", "demo", vectors=tmp_path / "v.txt", **options)
    arguments = planned.spec({"num_dense_layers": 5})["arguments"]
    assert arguments["embedding_dim"] == 7
    sizes = {name: arguments[name] for name in ("embedding_dim", "num_dense_layers", "top_units", "dense_units")}
    count = zoo.count_encoder_parameters("dc_bilstm", biases=False, **sizes)
    wider = zoo.count_encoder_parameters(
        "dc_bilstm", biases=False, **{**sizes, "dense_units": sizes["dense_units"] + 1}
    )
    assert count <= 30_000 < wider
    assert "embedding_dim" not in plan("dc_bilstm", "demo", **{**options, "budget": "1M"}).arguments


def test_a_budget_replaces_the_recipes_width_at_every_depth():
    options = {"space": {"num_dense_layers": [0, 5, 10]}, "budget": "1.44M", "tuner": "grid", "recipe": "ding2018"}
    planned = plan("dc_bilstm", "demo", **options)
    values = [planned.spec({"num_dense_layers": depth})["values"] for depth in (0, 5, 10)]
    assert values == [
        {"num_dense_layers": 0, "top_units": 300},
        {"num_dense_layers": 5, "dense_units": 40},
        {"num_dense_layers": 10, "dense_units": 20},
    ]
    with pytest.raises(ValueError, match="A budget sets top_units"):
        plan("dc_bilstm", "demo", top_units=50, **options)


@pytest.mark.parametrize("units", [-5, 2.5, "a"])
def test_what_is_counted_has_sizes(units):
    with pytest.raises(ValueError, match=f"units must be an integer of at least 0; received {units!r}"):
        zoo.count_encoder_parameters("bilstm", units=units)


def test_the_seed_0_is_a_seed():
    seeds = {make_oracle_of(plan("bilstm", "demo", space={"units": [3]}, seed=0), 3).seed for _ in range(2)}
    assert len(seeds) == 1
