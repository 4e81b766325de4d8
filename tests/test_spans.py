"""Spans of a tagger's answers: schemes by conlleval's rules, places in raw text, exact probabilities, other forms."""

import itertools
import math
import random
import unicodedata

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dense_lstm_zoo_runtime.answers import TaggedSentence, fields
from dense_lstm_zoo_runtime.chain import Chain, Field
from dense_lstm_zoo_runtime.offsets import places, places_between_spaces
from dense_lstm_zoo_runtime.rules import VERSIONS
from dense_lstm_zoo_runtime.schemes import SchemeError, scheme_of
from dense_lstm_zoo_runtime.span_forms import Span
from dense_lstm_zoo_runtime.spans import SpanReader
from dense_lstm_zoo_runtime.text import Tokenizer

# By hand, from the rules of conlleval: tags, the name of their scheme, and the spans.
BY_HAND = {
    "IO": ("O I-A I-A I-B O I-B", "IO", [("A", 1, 3), ("B", 3, 4), ("B", 5, 6)]),
    "IOB1": ("I-A I-A B-A I-B O I-A", "BIO or IOB1", [("A", 0, 2), ("A", 2, 3), ("B", 3, 4), ("A", 5, 6)]),
    "BIO": ("B-A I-A B-A O B-B I-B", "BIO or IOB1", [("A", 0, 2), ("A", 2, 3), ("B", 4, 6)]),
    "IOBES": ("B-A I-A E-A S-A O B-B E-B", "IOBES", [("A", 0, 3), ("A", 3, 4), ("B", 5, 7)]),
    "BILOU": ("B-A I-A L-A U-A O B-B L-B", "BILOU", [("A", 0, 3), ("A", 3, 4), ("B", 5, 7)]),
    "BMES": ("B-A M-A E-A S-A O B-B E-B", "BMES", [("A", 0, 3), ("A", 3, 4), ("B", 5, 7)]),
    "BIO, broken": ("I-A I-B O B-A B-A I-B I-B", "BIO or IOB1", [("A", 0, 1), ("B", 1, 2), ("A", 3, 4), ("A", 4, 5)]),
    "IOBES, broken": ("I-A S-A I-A E-A E-A O B-A B-A E-B", "IOBES", [("A", 0, 1), ("A", 1, 2), ("A", 2, 4)]),
    "BILOU, broken": ("B-A U-A I-A O L-A L-A B-A O", "BILOU", [("A", 0, 1), ("A", 1, 2), ("A", 2, 3)]),
    "BMES, broken": ("M-A M-A S-A M-A O E-A B-A O", "BMES", [("A", 0, 2), ("A", 2, 3), ("A", 3, 4)]),
    "without types": ("B I O B B E S", "IOBES", [("", 0, 2), ("", 3, 4), ("", 4, 6), ("", 6, 7)]),
}
BY_HAND["BIO, broken"][2].append(("B", 5, 7))
BY_HAND["IOBES, broken"][2].extend([("A", 4, 5), ("A", 6, 7), ("A", 7, 8), ("B", 8, 9)])
BY_HAND["BILOU, broken"][2].extend([("A", 4, 5), ("A", 5, 6), ("A", 6, 7)])
BY_HAND["BMES, broken"][2].extend([("A", 5, 6), ("A", 6, 7)])
WRITINGS = ("{prefix}-{label}", "{prefix}_{label}", "{label}-{prefix}", "{label}_{prefix}")


@pytest.mark.parametrize("name", BY_HAND)
def test_spans_are_those_of_conllevals_rules(name):
    tags, scheme, expected = BY_HAND[name]
    names = {*tags.split(), "O"}
    assert scheme_of(names).name == scheme
    assert list(scheme_of([*names, "RARE"]).spans(tags.split())) == expected


# For each scheme a span's tags by its length, written down from its definition.
ENCODED = {
    "IO": lambda n: "I" * n,
    "BIO": lambda n: "B" + "I" * (n - 1),
    "IOBES": lambda n: "S" if n == 1 else "B" + "I" * (n - 2) + "E",
    "BILOU": lambda n: "U" if n == 1 else "B" + "I" * (n - 2) + "L",
    "BMES": lambda n: "S" if n == 1 else "B" + "M" * (n - 2) + "E",
}
LABELS = ("LOC", "PER-NAME", "a_b", "B", "É")
SPANS = st.lists(st.tuples(st.integers(0, 2), st.sampled_from(LABELS), st.integers(1, 4)), max_size=6)


def encoded(spans, scheme, writing):
    """Return tags, and the label, first token and end of each span. In IO and IOB1 equal neighbours need a gap."""
    tags, rows = [], []
    for gap, label, length in spans:
        is_next = bool(rows) and gap == 0 and rows[-1][2] == len(tags) and rows[-1][0] == label
        gap = 1 if is_next and scheme == "IO" else gap
        tags += ["O"] * gap
        prefixes = ENCODED["IO" if scheme == "IOB1" else scheme](length)
        if scheme == "IOB1" and is_next:
            prefixes = "B" + prefixes[1:]
        rows.append((label, len(tags), len(tags) + length))
        tags += [writing.format(prefix=prefix, label=label) for prefix in prefixes]
    return tags, rows


@pytest.mark.parametrize("writing", WRITINGS)
@pytest.mark.parametrize("scheme", [*ENCODED, "IOB1"])
@given(spans=SPANS)
@settings(max_examples=30, deadline=None)
def test_spans_are_decoded_as_they_were_encoded(scheme, writing, spans):
    tags, rows = encoded(spans, scheme, writing)
    every = "".join(ENCODED["BIO" if scheme == "IOB1" else scheme](n) for n in (1, 2, 3))
    names = [writing.format(prefix=prefix, label="X") for prefix in every]
    assert list(scheme_of([*names, *tags, "O"]).spans(tags)) == rows


@pytest.mark.parametrize(
    ("tags", "message", "is_doubtful"),
    [
        (["NOUN", "VERB", "X"], "do not mark spans: 'NOUN' is not like B-LOC", False),
        (["N", "NP", "S"], "do not mark spans: 'N'", False),
        (["S", "U"], "do not mark spans: 'S'", False),
        (["N_S", "V_S"], "do not mark spans: 'N_S'", False),
        (["O", "RARE"], "do not mark spans: 'O'", False),
        ([], "do not mark spans", False),
        (["LOC", "PER", "O"], "do not mark spans: 'LOC'", False),
        (["B-A", "I-A", "E-A", "L-A", "O"], "mix schemes: no scheme has B, E, I, L together", True),
        (["B-A", "M-A", "I-A", "O"], "mix schemes: no scheme has B, I, M together. Accepted: IO, IOB1, BIO", True),
        (["B-A", "A-I", "O"], "not all written in one way", True),
        (["B-LOC", "I-LOC", "LOC", "O"], "not all written in one way: 'LOC' is not like B-LOC", True),
    ],
)
def test_tags_that_mark_no_spans_or_in_several_ways_are_named(tags, message, is_doubtful):
    with pytest.raises(SchemeError, match=message) as caught:
        scheme_of(tags)
    assert caught.value.is_doubtful == is_doubtful


def test_a_label_that_ends_like_a_prefix_is_split_once():
    assert scheme_of(["B-X-B", "I-X-B", "O"]).part("I-X-B") == ("I", "X-B")
    assert scheme_of(["X-Y-B", "X-Y-I", "O"]).part("X-Y-I") == ("I", "X-Y")
    assert scheme_of(["B-", "I-", "O"]).part("B-") == ("B", "")


TOKENIZERS = [Tokenizer(rules) for rules in VERSIONS.values()]
HARD = [
    "",
    "   ",
    "\u200b\ufeff \t",
    "I  met\tDr. Müller\u200b-Lüdenscheidt\u2060 in  São Paulo…",
    "😀👩\u200d👩\u200d👧 Zoe\u0301's 𝒜 ﬁsh — “quoted” ½㎏",
    "e\u0301e\u0301 \u1112\u1161\u11ab가\u11a8 \u0915\u093c \u0344x\u0f73",
    "نص ﷺ كلام",
    "a\u2028b\x00c\x85d \ud800e \ue000 ",
    "¨ a´b ﾞｶﾞ don't!",
    "x" * 50 + " " * 20 + "\u0301\u0301 y",
]


def is_letter(character):
    return unicodedata.category(character)[0] in "LN"


@pytest.mark.parametrize("tokenize", TOKENIZERS, ids=list(map(str, VERSIONS)))
@pytest.mark.parametrize("text", HARD, ids=range(len(HARD)))
def test_places_of_hard_texts_hold_their_tokens(tokenize, text):
    check_places(text, tokenize(text))


@given(
    st.text(
        st.one_of(st.sampled_from("ab .,'\"-$%1\u0301\u0323ﬁ½…—“’😀\u200d\u200b\t\u1100\u1161\ue000"), st.characters())
    )
)
@example("\u0958a\u0301")
@example("\U0001ccd6")
@settings(max_examples=400, deadline=None)
def test_places_of_any_text_hold_their_tokens(text):
    for tokenize in TOKENIZERS:
        check_places(text, tokenize(text))


def check_places(text, tokens):
    token_places = places(text, tokens)
    assert len(token_places) == len(tokens)
    last = (0, 0)
    covered = set()
    for token, (start, end) in zip(tokens, token_places, strict=True):
        assert 0 <= start < end <= len(text)
        assert last[0] <= start
        assert last[1] <= start or last[1] - 1 <= start  # neighbours share one cluster at most
        last = (start, end)
        covered.update(range(start, end))
        # A single token of the part's own characters, but for what the tokeniser changes.
        own = unicodedata.normalize("NFKC", text[start:end].encode("utf-8", "replace").decode())
        letters = {c for c in token if is_letter(c) and c.isascii()}
        if all(unicodedata.category(c) != "Cn" for c in own):  # the tokeniser's Unicode is newer than Python's
            assert not letters - set(own)
        if text[start:end].isascii():
            assert text[start:end] == token
    for i, character in enumerate(text):
        assert i in covered or not is_letter(character)


def test_tokens_of_other_rules_are_searched_for_in_order():
    assert places("Rome and Rome", ["rome", "and", "Rome"]) == [(0, 4), (5, 8), (9, 13)]
    assert places("ab", ["ab", "zz"]) == [(0, 2), (2, 2)]
    assert places_between_spaces(["New", "", "York"]) == [(0, 3), (4, 4), (5, 9)]


def probability_by_enumeration(scores, transitions, start, end, decode):
    """Return the probability of each span, by listing every sequence of tags."""
    count = scores.shape[1]
    weights, sums = {}, {}
    for path in itertools.product(range(count), repeat=len(scores)):
        score = start[path[0]] + end[path[-1]] + sum(scores[t, tag] for t, tag in enumerate(path))
        weights[path] = math.exp(score + sum(transitions[a, b] for a, b in itertools.pairwise(path)))
    total = math.fsum(weights.values())
    for path, weight in weights.items():
        for span in decode(path):
            sums[span] = sums.get(span, 0) + weight / total
    return sums


@pytest.mark.parametrize(
    "tags",
    [
        "O B-A I-A B-B I-B",
        "O I-A I-B",
        "O B-A I-A E-A S-A B-B",
        "A_U A_B A_L A_I O",
        "B M E S",
        "O RARE B-A I-A",
    ],
)
@pytest.mark.parametrize("length", [1, 2, 4])
def test_a_spans_probability_is_the_sum_over_all_sequences_that_have_it(tags, length):
    labels, rng = tags.split(), np.random.default_rng(length)
    count = len(labels)
    scores, transitions = rng.normal(size=(length, count)) * 2, rng.normal(size=(count, count)) * 2
    start, end = rng.normal(size=(2, count))
    scheme = scheme_of(labels)
    expected = probability_by_enumeration(
        scores, transitions, start, end, lambda path: scheme.spans([labels[i] for i in path])
    )
    chain = Chain(labels, scheme, transitions, start, end)
    spans = list(expected)
    np.testing.assert_allclose(chain.probabilities(scores, spans), [expected[span] for span in spans], rtol=1e-9)
    assert chain.probabilities(scores, []) == []


def test_a_spans_probability_is_finite_for_long_texts_and_large_scores():
    labels = ["B-A", "I-A", "O"]
    rng = random.Random(1)
    scores = np.array([[rng.uniform(-300, 300) for _ in labels] for _ in range(3000)])
    chain = Chain(labels, scheme_of(labels), np.full((3, 3), -900.0), np.zeros(3), np.zeros(3))
    spans = list(scheme_of(labels).spans([labels[i] for i in scores.argmax(axis=1)]))
    shares = chain.probabilities(scores, spans)
    assert all(0 <= share <= 1 for share in shares)
    assert max(shares) > 0.99
    with pytest.raises(ValueError, match=r"transitions must be finite numbers \(3, 3\); received \(2, 2\)"):
        Chain(labels, scheme_of(labels), np.zeros((2, 2)), np.zeros(3), np.zeros(3))


@pytest.mark.parametrize("length", [0, 1, 4])
def test_a_tags_probability_is_the_sum_over_all_sequences_that_have_it(length):
    rng = np.random.default_rng(length)
    scores, transitions = rng.normal(size=(length, 3)) * 2, rng.normal(size=(3, 3)) * 2
    start, end = rng.normal(size=(2, 3))
    expected = np.zeros((length, 3))
    shares = probability_by_enumeration(scores, transitions, start, end, lambda path: enumerate(path)) if length else {}
    for (t, tag), share in shares.items():
        expected[t, tag] = share
    np.testing.assert_allclose(Field(3, transitions, start, end).marginals(scores), expected, rtol=1e-9)
    shares = Field(3, np.full((3, 3), -900.0), start, end).marginals(rng.normal(size=(2000, 3)) * 300)
    np.testing.assert_allclose(shares.sum(axis=1), 1)


def test_an_answer_has_spans_or_says_why_not():
    reader = SpanReader(["B-LOC", "I-LOC", "O"])
    answer = reader.answer(
        "in  São\tPaulo 😀", ["in", "São", "Paulo", "😀"], ["O", "B-LOC", "I-LOC", "O"], [1, 0.5, 0.5, 1]
    )
    assert answer.spans == [Span("LOC", "São\tPaulo", 4, 13, 0.25, 1, 3)]
    assert answer.text[4:13] == answer.spans[0].text
    assert fields(answer)["spans"] == [
        {
            "label": "LOC",
            "text": "São\tPaulo",
            "start": 4,
            "end": 13,
            "confidence": 0.25,
            "first_token": 1,
            "end_token": 3,
        }
    ]
    (span,) = reader.answer(["New", "York"], ["New", "York"], ["I-LOC", "I-LOC"], [1.0, 1.0]).spans
    assert (span.text, span.start, span.end) == ("New York", 0, 8)
    assert reader.answer("", [], [], []).spans == reader.answer("  ", [], [], []).spans == []
    answer = SpanReader(["NOUN", "VERB"]).answer("Go", ["Go"], ["VERB"], [1.0])
    with pytest.raises(ValueError, match="The tags do not mark spans: 'NOUN'"):
        _ = answer.spans
    assert "spans" not in fields(answer)
    with pytest.raises(ValueError, match="does not say in which scheme"):
        _ = TaggedSentence(["Go"], ["VERB"], [1.0]).spans


def spacys_words_and_spaces(words, text):
    """Rebuild a text as ``Doc.from_json`` of spaCy 3.8 does, from words: white space between two is one word more."""
    rebuilt, at = [], 0
    for word in (word for word in words if not word.isspace()):
        start = text.index(word, at)
        rebuilt += [text[at:start]] if start > at else []
        rebuilt.append(word)
        at = start + len(word) + (text[start + len(word) : start + len(word) + 1] == " ")
    return rebuilt + ([text[at:]] if at < len(text) else [])


def check_spacy(text):
    reader, tokens = SpanReader(["B-LOC", "I-LOC", "O"]), TOKENIZERS[-1](text)
    doc = reader.answer(
        text, tokens, (["B-LOC", "O", "B-LOC"] * len(tokens))[: len(tokens)], [1.0] * len(tokens)
    ).to_spacy()
    assert list(doc) == ["text", "ents", "tokens"]
    assert doc["text"] == text
    words = [text[token["start"] : token["end"]] for token in doc["tokens"]]
    assert words == spacys_words_and_spaces(words, text)
    starts, ends = ([token[edge] for token in doc["tokens"]] for edge in ("start", "end"))
    last = 0
    for ent in doc["ents"]:
        assert ent["start"] in starts
        assert ent["end"] in ends
        assert last <= ent["start"] < ent["end"]
        last = ent["end"]


@pytest.mark.parametrize("text", ["  in  São \t Paulo , x\n", "a   b", "a\n\u200b ﷺb ", *HARD])
def test_spacys_tokens_make_up_hard_texts(text):
    check_spacy(text)


@given(st.text("ab cd .,'\"-$%  \t\n\u0301ﬁ½…—“’😀\u200d\u200b日\x1céﷺ"))
@settings(max_examples=200, deadline=None)
def test_spacys_tokens_make_up_any_text(text):
    check_spacy(text)


def test_spacys_form_of_a_sentence():
    reader = SpanReader(["B-LOC", "I-LOC", "O"])
    answer = reader.answer("in Rome.", ["in", "Rome", "."], ["O", "B-LOC", "O"], [1.0] * 3)
    assert answer.to_spacy() == {
        "text": "in Rome.",
        "ents": [{"start": 3, "end": 7, "label": "LOC"}],
        "tokens": [{"id": 0, "start": 0, "end": 2}, {"id": 1, "start": 3, "end": 7}, {"id": 2, "start": 7, "end": 8}],
    }


def test_a_span_may_end_with_a_token_without_characters():
    reader = SpanReader(["B-A", "I-A", "O"])
    answer = reader.answer(["New", "York", ""], ["New", "York", ""], ["B-A", "I-A", "I-A"], [1.0] * 3)
    assert answer.to_spacy() == {
        "text": "New York ",
        "ents": [{"start": 0, "end": 8, "label": "A"}],
        "tokens": [{"id": 0, "start": 0, "end": 3}, {"id": 1, "start": 4, "end": 8}],
    }


def test_brats_lines_have_their_places_in_the_file():
    reader = SpanReader(["B-LOC", "I-LOC", "O"])
    answer = reader.answer("in New\r\n York", ["in", "New", "York"], ["O", "B-LOC", "I-LOC"], [1.0] * 3)
    assert answer.to_brat() == "T1\tLOC 3 6;8 13\tNew  York\n"
    assert answer.to_brat(7, 100) == "T7\tLOC 103 106;108 113\tNew  York\n"
    untyped = SpanReader(["B", "I", "O"]).answer("a b", ["a", "b"], ["B", "O"], [1.0] * 2)
    assert untyped.to_brat() == "T1\tSPAN 0 1\ta\n"
    assert untyped.to_spacy()["ents"][0]["label"] == "SPAN"
    odd = SpanReader(["B-A B", "I-A B", "O"]).answer("a", ["a"], ["B-A B"], [1.0])
    with pytest.raises(ValueError, match="brat's format cannot hold the label 'A B'"):
        odd.to_brat()
