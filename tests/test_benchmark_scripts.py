"""The scripts that make the rows of results/: a user's mistake gives one plain line, before any training."""

from __future__ import annotations

import importlib

import pytest

BAD = [
    ("classification", ["--models", "dc_bilstn"], "Did you mean 'dc_bilstm'"),
    ("classification", ["--dataset", "demo", "--recipe", "ding2019"], "Did you mean 'ding2018'"),
    ("classification", ["--vectors", "none.txt"], "no vectors named none.txt"),
    ("dynamic_interaction", ["--encoders", "stakc"], "Did you mean 'stack'"),
    ("dynamic_interaction", ["--poolings", "max"], "Accepted: constant, dsa, mean, position, vector"),
    ("dynamic_interaction", ["--vectors", "none.txt"], "no vectors named none.txt"),
    ("language_model", ["--recipes", "godin2017_dens_200x2"], "Did you mean 'godin2017_dense_200x2'"),
    ("linear_baselines", ["--dataset", "demmo"], "Did you mean 'demo'"),
    ("recipe_search", ["--dataset", "demo", "--set", "droput=0.5"], "Did you mean 'dropout'"),
    ("tagging", ["--models", "bilstm_taggr"], "Did you mean 'bilstm_tagger'"),
    ("tagging", ["--dataset", "demo", "--recipe", "bached"], "Did you mean 'batched'"),
    ("tagging", ["--dataset", "demo", "--set", "epochs=0"], "epochs"),
    ("tagging_depth", ["--dataset", "demo", "--rows", "plain_2"], "Did you mean 'plain_"),
]


@pytest.mark.parametrize(("script", "arguments", "message"), BAD)
def test_what_is_wrong_is_said_in_one_line_and_nothing_is_left(script, arguments, message, tmp_path, monkeypatch):
    run_dir = [] if script == "linear_baselines" else ["--run-dir", str(tmp_path / "runs")]
    monkeypatch.setattr("sys.argv", [script, *arguments, *run_dir])
    module = importlib.import_module(f"benchmarks.{script}")
    table = [module.TABLE] if hasattr(module, "TABLE") else []
    with pytest.raises(SystemExit) as stopped:
        module.main(*table)
    error = str(stopped.value)
    assert error.startswith("error: ")
    assert message in error
    assert "\n" not in error
    assert list(tmp_path.iterdir()) == []
