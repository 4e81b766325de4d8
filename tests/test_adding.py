"""The walkthroughs of CONTRIBUTING.md are true: a model and a task are added here as they say, and taken away."""

import inspect
import re
import sys
import textwrap

import numpy as np
import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo import tasks
from dense_lstm_zoo.models import registry
from tests import pages, test_models
from tests.model_harness import Case
from tests.slow_cases import slow_but
from tests.training_harness import small_demo

CONTRIBUTING = pages.ROOT / "CONTRIBUTING.md"
CASE = Case("shortcut_bilstm")
CHECKS = {
    name.removeprefix("test_"): check
    for name, check in vars(test_models).items()
    if name.startswith("test_") and "case" in inspect.signature(check).parameters
}


@pytest.fixture(scope="module")
def toy():
    """The classifier of the walkthrough, registered while these tests last."""
    before = zoo.list_models()
    (block,) = pages.blocks(CONTRIBUTING, "python")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "_entries", dict(registry._entries))
        exec(compile("\n" * block.line + block.text, str(CONTRIBUTING), "exec"), {})
        yield block.text
    assert zoo.list_models() == before


def test_every_file_that_the_walkthroughs_name_is_there():
    folders = ("dense_lstm_zoo", "tests", "docs", "results", "benchmarks", "tuning")
    files = [file.as_posix() for folder in folders for file in (pages.ROOT / folder).rglob("*.*")]
    files.append((pages.ROOT / "README.md").as_posix())
    paths = {text for text in pages.code_in_sentences(CONTRIBUTING) if re.fullmatch(r"[\w/]+\.(py|md)", text)}
    assert len(paths) > 20
    assert {name for name in paths if not any(file.endswith(f"/{name}") for file in files)} == set()


def test_the_walkthrough_is_short_and_its_model_is_registered(toy):
    assert len([line for line in toy.splitlines() if line.strip()]) <= 30
    assert CASE.name in zoo.list_models("shortcut*", task="classification")
    assert str(zoo.describe(CASE.name)).startswith("shortcut_bilstm (classification)\n  One Bi-LSTM")
    # 8 numbers for each of units x (inputs + units + bias): two directions of four gates.
    assert zoo.count_encoder_parameters(CASE.name, units=10, embedding_dim=30) == 8 * 10 * (30 + 10 + 1)


# Checks that train take seconds for any model.
TRAINING = {name for name in CHECKS if name.startswith(("fit_learns", "mixed_precision", "dropout_acts"))}


@pytest.mark.parametrize("check", slow_but(CHECKS.keys() - TRAINING, CHECKS))
def test_what_every_model_must_do_it_does(check, toy, request):
    function = CHECKS[check]
    fixtures = [name for name in inspect.signature(function).parameters if name != "case"]
    function(CASE, **{name: request.getfixturevalue(name) for name in fixtures})


def test_a_check_would_find_a_wrong_count(toy, monkeypatch):
    entry = registry.entry(CASE.name)
    wrong = registry.ModelEntry(
        **{**vars(entry), "encoder_parameters": lambda **arguments: entry.encoder_parameters(**arguments) + 1}
    )
    monkeypatch.setitem(registry._entries, CASE.name, wrong)
    with pytest.raises(AssertionError):
        test_models.test_the_closed_formula_counts_what_the_built_model_has(CASE)


def test_it_trains_from_raw_texts_to_a_bundle_that_loads_the_same(toy, tmp_path):
    sizes = {"units": 4, "embedding_dim": 6, "kernel": "native"}
    bundle = zoo.train(CASE.name, small_demo(), tmp_path / "run", epochs=1, batch_size=50, progress=False, **sizes)
    texts = ["The soup was cold.", ""]
    assert zoo.load(tmp_path / "run").predict(texts) == bundle.predict(texts)
    assert bundle.metrics["encoder_parameters"] == 8 * 4 * (6 + 4 + 1)
    assert np.isfinite(bundle.history["loss"]).all()


# A task whose parts are the classifiers', under the names that every task's folder has.
TASK = {
    "__init__": "",
    "task": """
        import dataclasses
        from dense_lstm_zoo.classification.task import TASK as CLASSIFICATION

        TASK = dataclasses.replace(
            CLASSIFICATION, name="toy", title="toys", package="toy_task", job="ToyJob", bundle="ToyBundle",
            options=(), factories=("models",), space={},
        )
    """,
    "models": """
        from dense_lstm_zoo.classification.assembly import pooled_classifier, classifier
        from dense_lstm_zoo.models.registry import register

        @register(task="toy", paper="None", options=(pooled_classifier, classifier), encoder_parameters=lambda **_: 0)
        def toy_words(**options):
            \"\"\"The mean of the words.\"\"\"
            return pooled_classifier(lambda words, lengths, lstm_options: words, 1, **options)
    """,
    "bundle": """
        from dense_lstm_zoo.classification.bundle import ClassificationBundle
        from toy_task.task import TASK

        class ToyBundle(ClassificationBundle):
            task = TASK
    """,
    "job": """
        from types import SimpleNamespace
        from dense_lstm_zoo.classification.job import ClassificationJob
        from dense_lstm_zoo.classification.task import TASK as CLASSIFICATION
        from toy_task.bundle import ToyBundle

        class ToyJob(ClassificationJob):
            def __init__(self, corpus, options):
                super().__init__(corpus, SimpleNamespace(**vars(options), **UNUSED))

            def bundle(self, model, config, history, dev_curve):
                base = super().bundle(model, config, history, dev_curve)
                return ToyBundle(model, config, base.vocabulary, base.labels, {}, history)

        UNUSED = {**{option.name: option.default for option in CLASSIFICATION.options}, "vector_words": 0}
    """,
    "recipes": "RECIPES = []",
    "corpora": "SOURCES = {}",
    "report": "from dense_lstm_zoo.classification.report import *",
}


@pytest.fixture
def toy_task(tmp_path, monkeypatch):
    """The task, in a folder of its own, registered while a test lasts."""
    (tmp_path / "toy_task").mkdir()
    for name, text in TASK.items():
        (tmp_path / "toy_task" / f"{name}.py").write_text(textwrap.dedent(text), encoding="utf-8")
    caches = (tasks.find, tasks.every_option, registry._load)
    before = zoo.list_models()
    monkeypatch.syspath_prepend(tmp_path)
    with monkeypatch.context() as patch:
        patch.setitem(tasks._MODULES, "toy", "toy_task.task")
        patch.setattr(registry, "_entries", dict(registry._entries))
        for cache in caches:
            cache.cache_clear()
        yield tasks.find("toy")
    for cache in caches:
        cache.cache_clear()
    for name in TASK:
        sys.modules.pop("toy_task" if name == "__init__" else f"toy_task.{name}", None)
    assert zoo.list_models() == before


def test_a_task_is_a_folder_and_a_line(toy_task, tmp_path):
    assert zoo.list_models(task="toy") == ["toy_words"]
    sizes = {"embedding_dim": 6, "epochs": 1, "batch_size": 50}
    bundle = zoo.train("toy_words", small_demo(), tmp_path / "run", progress=False, **sizes)
    again = zoo.load(tmp_path / "run")
    assert (type(again).__name__, again.task, again.config["task"]) == ("ToyBundle", toy_task, "toy")
    assert again.predict(["The soup was cold."]) == bundle.predict(["The soup was cold."])
    with pytest.raises(ValueError, match=r"not an option for toy; received 'unk'\. Accepted: \."):
        zoo.train("toy_words", small_demo(), tmp_path / "other", oov="unk", progress=False)
