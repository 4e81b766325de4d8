"""Training with ``effort``: what it sets, and the trained model that it goes on from."""

import dataclasses
import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo.bundles import text_hashes
from dense_lstm_zoo.classification.corpus import Corpus
from dense_lstm_zoo.classification.job import ClassificationJob
from dense_lstm_zoo.classification.split import Split
from dense_lstm_zoo.classification.task import TASK
from dense_lstm_zoo.cli import main
from dense_lstm_zoo.training import effort, request, starts
from tests import bundle_harness
from tests.context_harness import text_encoder
from tests.training_harness import small_demo
from tests.transfer_harness import TESTS, classification

SMALL = {"units": 3, "embedding_dim": 4, "epochs": 1, "effort": "quick", "minutes": 1000, "kernel": "native"}


# Without sizes, which those of a trained model may contradict.
OF_ANY_SIZE = {name: value for name, value in SMALL.items() if name not in ("units", "embedding_dim")}
BY_ONE_TEXT = [-0.1, -0.9, -0.9]  # ahead of the others because of one text alone


class Preset(NamedTuple):
    """A trained model, as ``list_presets`` lists it."""

    name: str
    model: str
    is_installed: bool = True


@pytest.fixture(scope="module")
def trained_models(tmp_path_factory):
    """Three trained models in a folder: one fits, one has seen the dev text, one is another model. None is changed."""
    folder = tmp_path_factory.mktemp("installed")
    presets = []
    for name, model, text in (
        ("fits", "bilstm", "a text seen before"),
        ("has_seen", "bilstm", TESTS[0]),
        ("other", "lstm", "a text seen before"),
    ):
        bundle = bundle_harness.with_random_weights(bundle_harness.bundle(model))
        bundle.train_texts = text_hashes.hash_texts([text.split()])
        presets.append(Preset(str(bundle.save(folder / name)), model))
    return folder, presets


@pytest.fixture
def sources(trained_models, monkeypatch):
    """The folder of the trained models, which look installed, beside one that is not."""
    folder, presets = trained_models
    elsewhere = Preset("elsewhere", "bilstm", is_installed=False)
    monkeypatch.setattr(effort.presets, "list_presets", lambda task: [elsewhere, *presets])
    return folder


def scores_of(monkeypatch, scratch, trained):
    """Let encoders reach these numbers on dev."""

    def head_scores(self, model, config):
        from_trained = "init_from" in config["training"]
        return (np.array(trained), 0.5) if from_trained else (np.array(scratch), 0.25)

    monkeypatch.setattr(ClassificationJob, "head_scores", head_scores)


def test_a_run_goes_on_from_the_model_whose_states_serve_the_texts_best(sources, tmp_path, monkeypatch, capsys):
    scores_of(monkeypatch, scratch=[-0.7, -0.8, -0.7], trained=[-0.6, -0.8, -0.6])
    bundle = zoo.train("bilstm", classification(), tmp_path / "run", baseline=False, **OF_ANY_SIZE)
    assert bundle.config["training"]["init_from"]["name"] == "fits"
    assert bundle.config["arguments"]["pooled_words"] is True
    assert bundle.config["training"]["effort"] == "quick"
    line = next(line for line in capsys.readouterr().out.splitlines() if "before any training" in line)
    assert line == (
        f"before any training, the last layer alone reaches on dev: 25.0 % from scratch, 50.0 % from {sources / 'fits'}"
    )
    again = request.check("bilstm", tmp_path / "again", effort_of(tmp_path / "run"))
    assert not again.starts
    assert again.options.init_from == str(sources / "fits")


def effort_of(folder):
    """The options in the run.toml of a run."""
    from dense_lstm_zoo.training.run_file import read_settings

    settings = read_settings(folder / "run.toml")
    return {name: value for name, value in settings.items() if name not in ("model", "recipe", "seed", "dataset")}


@pytest.mark.parametrize(("beside", "chosen"), [([-0.6, -0.7, -0.6], True), (BY_ONE_TEXT, False)])
def test_best_reads_a_text_encoder_where_it_serves_the_texts(beside, chosen, tmp_path, monkeypatch, capsys):
    folder = str(tmp_path / "encoder")
    text_encoder("classification", folder)
    monkeypatch.setitem(TASK.efforts, "best", dataclasses.replace(TASK.efforts["best"], context=folder))
    scores = {True: (np.array(beside), 0.5), False: (np.array([-0.7, -0.8, -0.7]), 0.2)}
    monkeypatch.setattr(
        ClassificationJob, "head_scores", lambda self, model, config: scores["context" in config["training"]]
    )
    values = {"effort": "best", "vectors": "none", "kernel": "native", "top_units": 3, "num_dense_layers": 1}
    checked = request.check("dc_bilstm", tmp_path / "run", values)
    assert [start.options.context for start in checked.starts] == [folder]
    run = starts.prepare_best(checked, small_demo("classification"), progress=True)
    assert ("context" in run.config["training"]) is chosen
    output = capsys.readouterr().out
    assert f"reaches on dev: 20.0 % from scratch, 50.0 % from scratch beside {folder}" in output
    assert not request.check("dc_bilstm", tmp_path / "run", {**values, "context": folder}).starts


@pytest.mark.parametrize("trained", [[-0.8, -0.9, -0.8], BY_ONE_TEXT])
def test_a_run_begins_from_scratch_where_no_trained_model_helps(trained, sources, tmp_path, monkeypatch):
    scores_of(monkeypatch, scratch=[-0.7, -0.8, -0.7], trained=trained)
    checked = request.check("bilstm", tmp_path / "run", OF_ANY_SIZE)
    assert checked.starts
    run = starts.prepare_best(checked, classification(), progress=False)
    assert "init_from" not in run.config["training"]


@pytest.mark.slow
def test_a_run_from_scratch_is_repeated_from_scratch(sources, tmp_path, monkeypatch):
    scores_of(monkeypatch, scratch=[-0.7, -0.8, -0.7], trained=BY_ONE_TEXT)
    bundle = zoo.train("bilstm", classification(), tmp_path / "run", baseline=False, progress=False, **SMALL)
    assert "init_from" not in bundle.config["training"]
    assert not request.check("bilstm", tmp_path / "again", effort_of(tmp_path / "run")).starts


def test_encoders_are_compared_by_a_regression_and_none_that_has_seen_the_dev_text(sources, tmp_path):
    checked = request.check("bilstm", tmp_path / "run", OF_ANY_SIZE)
    assert [start.options.init_from for start in checked.starts] == [str(sources / n) for n in ("fits", "has_seen")]
    scores = list(starts._scores(checked, classification()))
    assert [start.options.init_from for start, _ in scores] == [None, str(sources / "fits")]
    for _, (likelihoods, accuracy) in scores:
        assert (likelihoods < 0).all()
        assert 0 <= accuracy <= 1
    assert len({tuple(likelihoods) for _, (likelihoods, _) in scores}) == 2


def test_a_trained_model_that_knows_few_of_the_words_is_left_out(sources, tmp_path):
    checked = request.check("bilstm", tmp_path / "run", OF_ANY_SIZE)
    texts = ["skvělý film", "hrozný herec", "nudný děj", "krásná hudba"]
    scores = starts._scores(checked, classification(texts=texts))
    assert [start.options.init_from for start, _ in scores] == [None]


@pytest.mark.parametrize("option", ["init_from", "vectors", "context"])
def test_whoever_says_where_to_begin_has_chosen(option, sources, tmp_path):
    value = "none" if option == "vectors" else str(sources / "fits")
    checked = request.check("bilstm", tmp_path / "run", {"effort": "quick", option: value})
    assert checked.starts == ()
    assert checked.options.head == ("convex" if option == "init_from" else None)
    assert checked.options.minutes == 2.5


def test_what_is_given_goes_before_what_an_effort_sets(sources, tmp_path):
    values = {"effort": "quick", "vectors": "none", "minutes": 9.0, "units": 7, "pooled_words": False}
    checked = request.check("bilstm", tmp_path / "run", values)
    assert checked.options.minutes == 9
    assert checked.arguments["units"] == 7
    assert checked.arguments["pooled_words"] is False
    assert checked.arguments["learning_rate"] == 0.002
    from_trained = request.check("bilstm", tmp_path / "run", {"effort": "quick", "init_from": str(sources / "fits")})
    assert "units" not in from_trained.arguments
    assert from_trained.arguments["learning_rate"] == 0.001


@pytest.mark.parametrize("model", [name for name in zoo.list_models(task="classification") if name != "bilstm"])
def test_an_effort_sets_only_what_a_model_has(model, tmp_path):
    request.check(model, tmp_path / "run", {"effort": "quick", "vectors": "none"})


def corpus_of(number, dev=None):
    """A corpus of so many texts."""
    return Corpus(
        "texts", ("a", "b"), Split([f"film {i}" for i in range(number)], [i % 2 for i in range(number)]), dev, None
    )


def test_an_effort_whose_text_encoder_is_not_installed_says_what_to_install(sources, tmp_path):
    with pytest.raises(FileNotFoundError, match="'dense_lm_reviews' is not installed: pip install"):
        request.check("dc_bilstm", tmp_path / "run", {"effort": "best"})


@pytest.mark.parametrize("name", ["quick", "good"])
def test_few_texts_without_dev_texts_have_their_recipe_instead(name, sources, tmp_path):
    checked = request.check("bilstm", tmp_path / "run", {"effort": name})
    few = checked.for_corpus(corpus_of(250))
    assert (few.recipe, few.options.epochs, few.options.dev_fraction) == ("few_labels", 1, 0)
    assert few.options.effort == name  # which its bundle says
    assert [start.options.init_from for start in few.starts] == [str(sources / n) for n in ("fits", "has_seen")]
    assert {start.recipe for start in few.starts} == {"few_labels"}
    for corpus in (corpus_of(251), corpus_of(250, dev=corpus_of(10).train)):
        assert checked.for_corpus(corpus).recipe != "few_labels"


@pytest.mark.parametrize(
    "values",
    [
        *({"epochs": 3}, {"calibrate": True}, {"monitor": "loss"}, {"temperature": 2.0}, {"patience": 3}),
        *({"batch_size": 8}, {"learning_rate": 0.01}, {"learning_rate_decay": 0.9}, {"decay_after": 2}),
    ],
)
def test_whoever_sets_a_training_has_it_for_few_texts_too(values, tmp_path):
    checked = request.check("bilstm", tmp_path / "run", {"effort": "quick", **values})
    assert checked.for_corpus(corpus_of(20)).recipe != "few_labels"


def test_the_page_lists_the_options_that_keep_a_longer_training():
    page = (Path(__file__).parents[1] / "docs" / "training.md").read_text(encoding="utf-8")
    options = page.partition("keeps the longer training:")[2].partition(".\n")[0]
    assert set(re.findall(r"`--([\w-]+)`", options)) == {name.replace("_", "-") for name in effort._TRAINING}


@pytest.mark.parametrize(
    "values", [{"freeze": "encoder", "unfreeze_after": 2}, {"unfreeze": "gradual"}, {"layer_decay": 2.6}]
)
def test_whoever_says_when_layers_are_trained_has_them_trained(values, sources, tmp_path):
    values = {"effort": "quick", "init_from": str(sources / "fits"), **values}
    few = request.check("bilstm", tmp_path / "run", values).for_corpus(corpus_of(20))
    assert (few.recipe, few.options.epochs) == (None, 100)


def test_with_an_effort_too_a_temperature_for_the_last_layer_alone_is_refused_at_once(tmp_path):
    values = {"effort": "quick", "temperature": 2.0, "epochs": 1, "head": "convex"}
    with pytest.raises(ValueError, match=r"temperature=2\.0 is not for a run that fits the last layer alone"):
        request.check("bilstm", tmp_path / "run", values)


def test_a_model_that_the_recipe_for_few_texts_is_not_for_is_trained_on_few_texts(tmp_path):
    checked = request.check("cnn_mc", tmp_path / "run", {"effort": "good"})
    assert checked.for_corpus(corpus_of(20)).options.batch_size == 16


@pytest.mark.filterwarnings("ignore:Without vectors")
def test_for_few_texts_the_start_is_chosen_by_cross_validation(sources, tmp_path, monkeypatch, capsys):
    scores_of(monkeypatch, scratch=[-0.7, -0.8, -0.7], trained=[-0.6, -0.8, -0.6])
    checked = request.check("bilstm", tmp_path / "run", {"effort": "quick", "kernel": "native"})
    run = starts.prepare_best(checked, corpus_of(20), progress=True)
    assert run.config["training"]["init_from"]["name"] == "fits"
    output = capsys.readouterr().out
    assert "the last layer alone reaches by cross-validation" in output
    assert "250 texts or fewer, and none for dev: recipe few_labels" in output


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Without vectors")
def test_few_texts_are_scored_by_cross_validation_from_the_best_start(sources, tmp_path, capsys):
    bundle = zoo.train("bilstm", corpus_of(20), tmp_path / "run", baseline=False, effort="quick", kernel="native")
    assert bundle.metrics["epochs"] == 1
    assert bundle.metrics["cross_validation_texts"] == 20
    output = capsys.readouterr().out
    assert "the last layer alone reaches by cross-validation" in output
    assert "250 texts or fewer, and none for dev: recipe few_labels" in output
    again = request.check("bilstm", tmp_path / "again", effort_of(tmp_path / "run"), recipe="few_labels")
    assert (again.options.head, again.options.epochs, again.options.calibrate) == ("convex", 1, None)
    assert not again.starts
    assert 'recipe = "few_labels"' in (tmp_path / "run" / "run.toml").read_text()


@pytest.mark.parametrize(
    ("model", "value", "message"),
    [
        ("bilstm_tagger", "quick", "effort is not an option for tagging; only for classification."),
        ("bilstm", "quik", "Unknown value of effort: 'quik'. Did you mean 'quick'"),
    ],
)
def test_an_effort_that_there_is_not_is_refused(model, value, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        zoo.train(model, "demo", tmp_path / "run", effort=value)
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_the_command_needs_no_model_and_its_bundle_exports(tmp_path, capsys):
    options = ["--epochs", "2", "--seed", "3", "--no-baseline"]
    assert main(["train", "--effort", "quick", "--dataset", "demo", "--run-dir", str(tmp_path / "run"), *options]) == 0
    output = capsys.readouterr().out
    assert "bilstm:" in output
    bundle = zoo.load(tmp_path / "run")
    assert (bundle.config["model"], bundle.config["training"]["effort"]) == ("bilstm", "quick")
    assert bundle.metrics["temperature"] > 0
    folder = bundle.export(tmp_path / "onnx", format="onnx")
    from dense_lstm_zoo_runtime import Predictor

    texts = ["A fine film .", "", "asdf", "who ?"]
    expected = [list(answer.probabilities.values()) for answer in bundle.predict(texts)]
    answers = [list(answer.probabilities.values()) for answer in Predictor(folder).predict(texts)]
    np.testing.assert_allclose(answers, expected, atol=1e-5)
