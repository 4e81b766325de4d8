"""describe: a model, a recipe, a preset or a run, with a line for each argument."""

import shutil

import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo.reports.describing import BundleDescription, ModelDescription, RecipeDescription


def test_a_model_has_a_line_for_each_argument_with_its_default_and_its_text():
    description = zoo.describe("dc_bilstm")
    assert isinstance(description, ModelDescription)
    lines = {
        line.split()[0]: " ".join(line.split()) for line in str(description).splitlines() if line.startswith("    ")
    }
    assert list(lines) == [
        *("vocab_size", "num_classes"),
        *(name for name in description.arguments if name not in ("vocab_size", "num_classes")),
    ]
    assert lines["vocab_size"] == "vocab_size required Number of ids, padding and unknown included"
    assert lines["top_units"] == "top_units 100 Width of one direction of the top layer (th)"


def test_a_recipe_says_what_it_sets_for_which_model():
    description = zoo.describe("ding2018")
    assert isinstance(description, RecipeDescription)
    text = " ".join(str(description).split())
    assert "Published scores: mr 82.8, sst1_phrases 51.9" in text
    assert "batch_size 200 texts per step" in text
    assert "dense_units 13 (dc_bilstm) Width of one direction" in text
    assert "units 300 (bilstm, lstm); 100 (stacked_bilstm, residual_bilstm) Width" in text
    assert "trainable_embeddings False Whether word vectors are trained" in " ".join(
        str(zoo.describe("fixed_vectors")).split()
    )


def test_a_run_says_what_it_was_trained_with_and_what_differs_from_the_defaults(run, tmp_path, monkeypatch):
    bundle, folder = run
    description = zoo.describe(folder)
    assert isinstance(description, BundleDescription)
    text = " ".join(repr(description).split())
    assert f"test accuracy {bundle.metrics['test_accuracy']:.4f}" in text
    assert "bilstm: One bidirectional LSTM." in text
    assert "epochs 3 maximum number of epochs" in text
    assert f"units {bundle.config['arguments']['units']} * Width of one direction" in text
    assert "l2 0.001 L2 penalty" in text
    monkeypatch.setenv("DENSE_LSTM_ZOO_PRESETS", str(tmp_path))
    shutil.copytree(folder, tmp_path / "models" / "bilstm_mine")
    assert str(zoo.describe("bilstm_mine")).replace(str(tmp_path / "models" / "bilstm_mine"), str(folder)) == str(
        description
    )


def test_a_name_that_is_nothing_gets_near_matches_of_every_kind(tmp_path):
    for wrong, near in (("dc_bilstn", "'dc_bilstm'"), ("ding2019", "'ding2018'"), ("dc_bilstm_sst3", "dc_bilstm_sst2")):
        with pytest.raises(ValueError, match=f"Unknown model, recipe, preset or run '{wrong}'. Did you mean .*{near}"):
            zoo.describe(wrong)
    with pytest.raises(FileNotFoundError, match="is not a folder"):
        zoo.describe(str(tmp_path / "nothing"))
    with pytest.raises(ValueError, match="is not a bundle"):
        zoo.describe(tmp_path)
