"""The Kneser-Ney baseline for language models: by hand on small texts, and on the demo corpus."""

import functools

import pytest

from tests.kneser_ney import FALLBACK, KneserNey, discounts, perplexity
from tests.training_harness import tokenised

# What an interpolated modified Kneser-Ney 5-gram of train reaches on test, the floor for a recurrent language model.
FIVE_GRAM_TEST_PERPLEXITY = 17.04


def test_the_discounts_are_those_of_chen_and_goodman():
    # n1, n2, n3, n4 = 10, 4, 2, 1, so that Y = 10 / (10 + 2 * 4) = 5 / 9.
    counts = [1] * 10 + [2] * 4 + [3] * 2 + [4] + [17]
    d1, d2, d3 = 1 - 2 * (5 / 9) * 4 / 10, 2 - 3 * (5 / 9) * 2 / 4, 3 - 4 * (5 / 9) * 1 / 2
    assert discounts(counts) == pytest.approx((0, d1, d2, d3))
    assert discounts([1, 1, 2]) == FALLBACK
    assert discounts([1] * 24 + [2] * 6 + [3] * 6 + [4] * 19) == FALLBACK


def test_a_bigram_model_of_two_sentences_has_the_probabilities_worked_by_hand():
    model = KneserNey([["a", "b"], ["a", "c"]], order=2)
    # Seen before a: <s>; before b: a; before c: a; before <eos>: b and c. Each gives up 0.5, or 1 of a count of 2. That
    # is 2.5 of 5 in all, spread over a, b, c, <eos> and <unk>.
    unigrams = {"a": 0.5 / 5 + 0.1, "b": 0.5 / 5 + 0.1, "c": 0.5 / 5 + 0.1, "<eos>": 1 / 5 + 0.1, "<unk>": 0.1}
    assert {word: model.probability(word) for word in model.vocabulary} == pytest.approx(unigrams)
    assert model.probability("a", ("<s>",)) == pytest.approx((2 - 1) / 2 + 1 / 2 * 0.2)
    assert model.probability("b", ("a",)) == pytest.approx((1 - 0.5) / 2 + (0.5 + 0.5) / 2 * 0.2)
    assert model.probability("c", ("b",)) == pytest.approx(0.5 * 0.2)
    assert model.probability("<eos>", ("<unk>",)) == pytest.approx(0.3)
    # p(a | <s>) p(b | a) p(<eos> | b), and p(<unk> | <s>) p(<eos> | <unk>)
    train = [["a", "b"], ["a", "c"]]
    assert perplexity(train, [["a", "b"]], order=2) == pytest.approx((0.6 * 0.35 * 0.65) ** (-1 / 3))
    assert perplexity(train, [["z"]], order=2) == pytest.approx((0.05 * 0.3) ** (-1 / 2))
    assert perplexity(train, [["a", "b"], ["z"]], order=2) == pytest.approx(
        (0.6 * 0.35 * 0.65 * 0.05 * 0.3) ** (-1 / 5)
    )


def test_a_trigram_model_counts_sentence_starts_plainly_and_other_bigrams_by_what_they_follow():
    model = KneserNey([["a"], ["a"], ["b"], ["c", "a"]], order=3)
    # The unigrams a, b, c, <eos> follow 2, 1, 1 and 2 words: 3 of 6 are given up, over a, b, c, <eos> and <unk>.
    p_a, p_end = 1 / 6 + 0.1, 1 / 6 + 0.1
    assert model.probability("a") == pytest.approx(p_a)
    # "<s> a" is counted twice, "<s> b" and "<s> c" once: 1, 0.5 and 0.5 of 4 are given up.
    after_begin = (2 - 1) / 4 + 2 / 4 * p_a
    assert model.probability("a", ("<s>",)) == pytest.approx(after_begin)
    # "a <eos>" occurs three times and after two words, <s> and c; "<s> a <eos>" twice.
    after_a = (2 - 1) / 2 + 1 / 2 * p_end
    assert model.probability("<eos>", ("a",)) == pytest.approx(after_a)
    assert model.probability("<eos>", ("<s>", "a")) == pytest.approx((2 - 1) / 2 + 1 / 2 * after_a)
    assert model.probability("<eos>", ("b", "a")) == pytest.approx(after_a)


@functools.cache
def five_gram():
    return KneserNey(tokenised("train"))


@pytest.mark.parametrize(
    "context",
    [
        "",
        "<s>",
        "<s> the",
        "the old",
        "that the women near",
        "old the . near",
        "<s> <unk> the",
        "only for",
        "queen <unk>",
    ],
)
def test_probabilities_sum_to_1_after_contexts_seen_and_unseen(context):
    model = five_gram()
    probabilities = [model.probability(word, tuple(context.split())) for word in model.vocabulary]
    assert all(probability > 0 for probability in probabilities)
    assert sum(probabilities) == pytest.approx(1)


def test_a_5_gram_model_of_train_has_the_stated_perplexity_on_test():
    assert perplexity(tokenised("train"), tokenised("test")) == pytest.approx(FIVE_GRAM_TEST_PERPLEXITY, rel=0.02)


def test_longer_contexts_hardly_help_an_n_gram_model():
    # Otherwise the corpus would hold nothing for a recurrent model to find.
    trigram = perplexity(tokenised("train"), tokenised("test"), order=3)
    assert trigram < 1.02 * FIVE_GRAM_TEST_PERPLEXITY
