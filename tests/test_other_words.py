"""Words that a bundle leaves to its word table: those at its end, if they are all others of the table, in its order."""

import numpy as np
import pytest

import dense_lstm_zoo as zoo
from tests.bundle_harness import WORDS, refused, sealed_copy
from tests.preset_harness import LAST, OTHERS_LAST, with_vectors, write_table
from tests.saving_harness import same_weights
from tests.shared_words_harness import MODELS, claim, claims, outputs, rows, write_folder


@pytest.fixture
def short(presets, tmp_path):
    """A saved bundle whose last words are all other words of the table, in its order."""
    return with_vectors(write_table(presets, words=OTHERS_LAST)).save(tmp_path / "short", shared_words=True)


@pytest.mark.slow
@pytest.mark.parametrize("case", MODELS)
def test_words_that_are_all_others_of_the_table_are_left_to_it(presets, tmp_path, case):
    model, arguments = MODELS[case]
    new_bundle = with_vectors(write_table(presets, words=OTHERS_LAST), model, **arguments)
    folder = new_bundle.save(tmp_path / "shared", shared_words=True)
    assert (folder / "vocabulary.txt").read_text().split() == list(WORDS[:5])
    assert write_folder(folder)["shared_words"]["others"] == len(LAST)
    again = zoo.load(folder)
    assert same_weights(again, new_bundle)
    assert again.vocabulary == new_bundle.vocabulary
    assert outputs(again) == outputs(new_bundle)
    assert again.fingerprint() == new_bundle.fingerprint()
    again.save(tmp_path / "whole")
    assert (tmp_path / "whole" / "vocabulary.txt").read_text().split() == list(WORDS)


def test_no_word_is_left_to_a_table_whose_vector_the_model_has_not(presets, tmp_path):
    new_bundle = with_vectors(write_table(presets, words=OTHERS_LAST), own=("film", WORDS[-1]))
    folder = new_bundle.save(tmp_path / "shared", shared_words=True)
    assert (folder / "vocabulary.txt").read_text().split() == list(WORDS)
    assert "others" not in write_folder(folder)["shared_words"]
    assert same_weights(zoo.load(folder), new_bundle)


def words_of(*words):
    def change(folder):
        (folder / "vocabulary.txt").write_text("".join(f"{word}\n" for word in words))

    return change


def number_of_others(value):
    def change(folder):
        claims({**write_folder(folder)["shared_words"], "others": value})(folder)

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (number_of_others(-1), "must be a number of them; received -1"),
        (number_of_others(True), "must be a number of them; received True"),
        (number_of_others("9"), "must be a number of them; received '9'"),
        (number_of_others(10**12), "1,000,000,000,000 words of tiny_7d follow; it lacks 9 of them"),
        (number_of_others(0), "config.json says"),
        (words_of(*WORDS[:6]), "9 words of tiny_7d follow; it lacks 8 of them"),
        (words_of(*WORDS[1:5]), "9 words of tiny_7d follow; it lacks 10 of them"),
        (words_of(*WORDS[:4]), "another word's"),
        (words_of(*WORDS[:5], "more"), "another word's"),
        (rows(lambda indices: np.append(indices, [3] * 9)), "rows, config.json says"),
        (claim(rows=10**12), "config.json says"),
        (claim(first=10**12), "config.json says"),
    ],
)
def test_no_claim_about_other_words_is_trusted(short, tmp_path, change, message):
    copy = sealed_copy(short, tmp_path / "copy")
    change(copy)
    refused(copy, message)
