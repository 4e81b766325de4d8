"""The README stays on one page and agrees with the results, the models and the Makefile."""

import re

import pandas as pd
import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo.models import registry
from tests import pages

README = pages.ROOT / "README.md"
TEXT = README.read_text(encoding="utf-8")
FILES = {
    "classification": ["classification_fixed", "dynamic_interaction"],
    "language model": ["language_model"],
    "tagging": ["tagging"],
}


def test_it_fits_on_one_page():
    assert len(TEXT.splitlines()) <= 150
    assert README.stat().st_size < 8_000


def choices():
    (lines,) = re.findall(r"^\| task \| model .*\n\|[-|]+\n((?:\|.*\n)+)", TEXT, re.M)
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines.splitlines()]


@pytest.mark.parametrize("choice", choices(), ids=lambda choice: choice[1].strip("`"))
def test_a_models_size_and_score_are_those_of_the_row_that_is_named(choice):
    task, model, _, parameters, score, cells = choice
    model, cells = model.strip("`"), re.findall(r"`([^`]+)`", cells)
    assert registry.entry(model).task == task.replace(" ", "_")
    rows = [pd.read_csv(pages.ROOT / "results" / f"{file}.csv", dtype=str).fillna("") for file in FILES[task]]
    candidates = [row for table in rows for row in table.to_dict("records") if row["model"] == model]
    (row,) = [row for row in candidates if set(cells) <= set(row.values())]
    measure = {"%": "accuracy_mean", "perplexity": "test_perplexity_mean", "F1": "f1_mean"}
    (column,) = [column for word, column in measure.items() if word in score]
    assert float(re.search(r"\d+\.\d+", score)[0]) == float(row[column])
    if "encoder_parameters" in row:
        assert int(parameters.replace(",", "")) == int(row["encoder_parameters"])
    else:
        assert int(parameters.replace(",", "")) == zoo.count_encoder_parameters(model, recipe=row["recipe"])


def test_every_task_has_a_model_to_choose():
    assert {task for task, *_ in choices()} == set(FILES)


def test_every_make_target_that_a_page_names_exists():
    targets = set(re.findall(r"^([\w-]+):", (pages.ROOT / "Makefile").read_text(), re.M))
    for path in pages.PAGES:
        text = path.read_text(encoding="utf-8")
        pairs = re.findall(r"`make ([a-z-]+(?: [a-z-]+)?)`|^make ([a-z-]+)", text, re.M)
        assert {target for pair in pairs for target in " ".join(pair).split()} <= targets, path
    assert "\nmake demo " in TEXT
    assert "\nmake test " in TEXT
