"""Import paths of version 0.1: they work, warn, and are the same objects as today's."""

import importlib
import subprocess
import sys

import pytest

import dense_lstm_zoo
from dense_lstm_zoo import classification, moved, tagging


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("data.language_vocabulary", "LanguageVocabulary"),
        ("data.windows", "TrainingWindows"),
        ("data.windows", "evaluation_windows"),
        ("models.language_model", "WindowLoss"),
        ("tuning.report", "pareto"),
        ("tuning.budget", "fit_width"),
        ("tuning", "Range"),
        ("training.recipes", "get_recipe"),
        ("language_modelling", "LanguageModelBundle"),
    ],
)
def test_a_path_that_was_documented_works_and_warns(module, name):
    sys.modules.pop(f"dense_lstm_zoo.{module}", None)
    with pytest.warns(DeprecationWarning, match=rf"dense_lstm_zoo\.{module} is now dense_lstm_zoo\.[a-z_.]+"):
        found = getattr(importlib.import_module(f"dense_lstm_zoo.{module}"), name)
    today = importlib.import_module(f"dense_lstm_zoo.{moved._MODULES[module]}")
    assert found is getattr(today, name)


@pytest.mark.parametrize(("package", "name"), [(classification, "Prediction"), (tagging, "TaggedSentence")])
def test_modules_that_are_packages_now_still_give_what_they_held(package, name):
    with pytest.warns(DeprecationWarning, match=f"{name} is now dense_lstm_zoo"):
        found = getattr(package, name)
    assert found is getattr(importlib.import_module(f"{package.__name__}.bundle"), name)
    with pytest.raises(AttributeError, match="nothing"):
        package.nothing  # noqa: B018 - the error is what is wanted


@pytest.mark.parametrize(("name", "task"), [("explanation", "classification"), ("gates", "tagging")])
def test_a_task_s_pictures_are_still_found_among_the_plots(name, task):
    from dense_lstm_zoo import plots

    with pytest.warns(DeprecationWarning, match=f"plots.{name} is now dense_lstm_zoo.{task}.pictures.{name}"):
        found = getattr(plots, name)
    assert found.__module__ == f"dense_lstm_zoo.{task}.pictures"


def test_a_script_of_version_0_1_runs_and_sees_one_warning_an_import():
    code = (
        "from dense_lstm_zoo.tuning.budget import fit_width\n"
        "from dense_lstm_zoo.models.language_model import WindowLoss"
    )
    found = subprocess.run(
        [sys.executable, "-W", "always::DeprecationWarning:__main__", "-c", code], capture_output=True
    )
    assert found.returncode == 0, found.stderr.decode()
    told = found.stderr.decode()
    assert told.count("dense_lstm_zoo.tuning.budget is now dense_lstm_zoo.search.budget") == 1
    assert told.count("dense_lstm_zoo.models.language_model is now dense_lstm_zoo.language.assembly") == 1


def test_what_never_was_is_no_module():
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("dense_lstm_zoo.models.nothing")
    assert dense_lstm_zoo.train.__module__ == "dense_lstm_zoo.training.loop"
