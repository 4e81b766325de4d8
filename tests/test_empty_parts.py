"""A dev or test part that cannot be scored is refused before training, not after it."""

import dataclasses

import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo.tagging.corpus import TaggedSplit
from tests.training_harness import COMMON, MODELS, SETTINGS, sizes, small_demo

EMPTY = {"classification": zoo.Split([], []), "tagging": TaggedSplit([], []), "language_model": ["", " "]}


@pytest.mark.parametrize("task", EMPTY)
@pytest.mark.parametrize("part", ["dev", "test"])
def test_a_part_without_texts_is_refused(task, part, tmp_path):
    corpus = dataclasses.replace(small_demo(task), **{part: EMPTY[task]})
    with pytest.raises(ValueError, match=f"demo has a {part} part without texts. Give some, or None in its place"):
        zoo.train(MODELS[task], corpus, tmp_path / "run", **COMMON, **SETTINGS[task], **sizes(task))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("text", [None, float("nan"), 3])
def test_a_text_that_is_missing_is_refused_by_its_place(text):
    with pytest.raises(TypeError, match=r"texts must hold strings; received .* as item 1, counted from 0"):
        zoo.Split(["a", text], [0, 1])
