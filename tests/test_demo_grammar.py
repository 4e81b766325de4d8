"""The English of the language models' demo corpus: agreement, references, pairs and topics, often far apart."""

import itertools
from collections import Counter

import pytest

from tests.training_harness import all_sentences, tokenised


def word_set(text):
    return set(text.split())


# What follows is a reader's knowledge of English, and does not come from the code under test.
SINGULAR_DETERMINERS = {"a", "an", "this", "every"}
PLURAL_DETERMINERS = {"some", "these", "those", "many"}
DETERMINERS = {"the"} | SINGULAR_DETERMINERS | PLURAL_DETERMINERS
ADJECTIVES = word_set("old young famous quiet clever proud strange elegant gloomy sullen drowsy")
ADVERBS = word_set("often never always rarely usually sometimes secretly gladly proudly grudgingly wearily")
PREPOSITIONS = {"near", "behind", "beside", "beyond"}
MODALS = {"can", "must", "should", "might", "may"}
CONJUNCTIONS = {"because", "while", "when", "until", "although", "before"}
NAMES = word_set(
    "mary anna clara julia helen agnes gertrude winifred john peter thomas martin oliver hugo leopold barnaby"
)
FEMININE = word_set(
    "soprano songstress queen princess waitress hostess witch sorceress actress showgirl mermaid fisherwoman "
    "schoolgirl headmistress nun abbess shepherdess milkmaid businesswoman landlady"
)
MASCULINE = word_set(
    "tenor baritone king prince waiter host wizard warlock actor showman merman fisherman schoolboy headmaster monk "
    "abbot shepherd herdsman businessman landlord"
)
NEUTER = word_set("orchestra dynasty bistro coven troupe fleet academy parish flock company")
REFERRING_WORDS = {
    "feminine": {"she", "her", "herself"},
    "masculine": {"he", "his", "himself"},
    "neuter": {"it", "its", "itself"},
    "plural": {"they", "their", "themselves"},
}
TOPICS = {
    "music": "soprano sopranos tenor tenors baritone orchestra orchestras violin violins trumpet trumpets drum "
    "auditorium bandstand play plays tune tunes sing sings rehearse rehearses",
    "court": "queen queens king kings prince princes dynasty crown crowns throne thrones sceptre palace castle inherit "
    "guards reign reigns abdicate abdicates",
    "magic": "witch witches wizard wizards coven covens potion potions wand wands cauldron dungeon enchant enchants "
    "vanish vanishes hover hovers",
    "sea": "mermaid mermaids merman mermen fisherman fishermen fleet fleets net nets anchor anchors oar oars harbour "
    "mend mends swim swims drift drifts",
}


def is_plural(noun):
    return noun not in NAMES and (noun.endswith("men") or (noun.endswith("s") and not noun.endswith("ss")))


def noun_phrase(words, start):
    """Return the places of its noun and its end."""
    if words[start] in NAMES:
        return start, start + 1
    assert words[start] in DETERMINERS, words
    noun = start + 1
    while words[noun] in ADJECTIVES:
        noun += 1
    if words[start] != "the":
        assert is_plural(words[noun]) == (words[start] in PLURAL_DETERMINERS), words
    return noun, noun + 1


def subject(words, start, pairs):
    """Return the places of its noun and its end. Relative clauses add their (noun, verb) to pairs."""
    noun, end = noun_phrase(words, start)
    while words[end] in PREPOSITIONS or (words[end] == "and" and words[end + 1] in PREPOSITIONS):
        _, end = noun_phrase(words, end + 1 + (words[end] == "and"))
    if words[end] == "that" and (words[end + 1] in DETERMINERS or words[end + 1] in NAMES):
        inner, verb = subject(words, end + 1, pairs)
        pairs.append((inner, verb))
        end = verb + 1
    elif words[end] == "that":
        pairs.append((noun, end + 1))
        _, end = noun_phrase(words, end + 2)
        if words[end] in PREPOSITIONS:
            _, end = noun_phrase(words, end + 1)
    return noun, end


def subjects_and_verbs(words):
    """The (noun, verb) of the first clause and of the relative clauses in it. Nothing where it has no such subject."""
    start = 1 if words[0] in {"if", "either", '"', *CONJUNCTIONS} else 0
    pairs = []
    if words[start] in DETERMINERS:
        noun, verb = subject(words, start, pairs)
        while words[verb] in ADVERBS or words[verb] in {"either", "neither", "not", "only"}:
            verb += 1
        if words[verb] not in MODALS:
            pairs.append((noun, verb))
    return pairs


def disagreements(words):
    return [
        (words[noun], words[verb])
        for noun, verb in subjects_and_verbs(words)
        if is_plural(words[noun]) == words[verb].endswith("s")
    ]


def gender(noun):
    return next(
        name
        for name, nouns in (
            ("feminine", FEMININE),
            ("masculine", MASCULINE),
            ("neuter", NEUTER),
            ("plural", {noun} if is_plural(noun) else ()),
        )
        if noun in nouns
    )


def referring_words(words):
    """The first subject and the words that look back to it. Nothing where a second subject could be meant."""
    start = 1 if words[0] in {"if", "neither", *CONJUNCTIONS} else 0
    second_subject = '"' in words or ("then" in words and words[words.index("then") + 1] in DETERMINERS)
    if second_subject or words[start] not in DETERMINERS:
        return None, []
    noun, end = subject(words, start, [])
    return noun, [i for i in range(end, len(words)) if words[i] in set().union(*REFERRING_WORDS.values())]


def wrong_references(words):
    noun, places = referring_words(words)
    return [words[i] for i in places if words[i] not in REFERRING_WORDS[gender(words[noun])]]


def share_above(distances, limit):
    return sum(distance > limit for distance in distances) / len(distances)


def pair_distances(words, opening, closing):
    """Return the distance of each opening from its closing. Fails where one of the two is missing."""
    places = [i for i, word in enumerate(words) if word in (opening, closing)]
    assert [words[i] for i in places] == [opening, closing] * (len(places) // 2), words
    return [second - first for first, second in zip(places[::2], places[1::2], strict=True)]


@pytest.mark.parametrize(
    ("sentence", "wrong"),
    [
        ("the kings that the men that a girl near the bridges knows admire often reign .", []),
        ("the kings that the men that a girl near the bridges know admire often reign .", [("girl", "know")]),
        ("the kings that the men that a girl near the bridges knows admires often reign .", [("men", "admires")]),
        ("the king that the men near the bridge admire and . .", [("king", "and")]),
        ("if the queens near the tower and behind a gate knows mary , then they reign .", [("queens", "knows")]),
        ("a witch that admires these women near the gates neither hover nor seems old .", [("witch", "hover")]),
        ("a witch that admire these women should hover .", [("witch", "admire")]),
    ],
)
def test_the_check_of_agreement_finds_what_is_wrong(sentence, wrong):
    assert disagreements(sentence.split()) == wrong


def test_every_verb_agrees_in_number_with_its_subject_however_far_away():
    sentences = [(words, subjects_and_verbs(words)) for words in all_sentences()]
    assert sum(bool(pairs) for _, pairs in sentences) > 0.7 * len(sentences)
    assert [wrong for words, _ in sentences for wrong in disagreements(words)] == []
    distances = [verb - noun for _, pairs in sentences for noun, verb in pairs]
    assert set(range(1, 16)) <= set(distances)
    assert share_above(distances, 6) > 0.15


def test_relative_clauses_nest_two_deep():
    depths = Counter(len(subjects_and_verbs(words)) for words in tokenised("train"))
    assert max(depths) == 3
    assert depths[3] > 0.02 * sum(depths.values())


@pytest.mark.parametrize(
    ("sentence", "wrong"),
    [
        ("the actor that the women near the river trust must remember himself .", []),
        ("the actor that the women near the river trust must remember herself .", ["herself"]),
        ("neither the orchestra near a gate nor its rival sells their violin only for itself .", ["their"]),
        ("because the queens know mary , she reign .", ["she"]),
    ],
)
def test_the_check_of_references_finds_what_is_wrong(sentence, wrong):
    assert wrong_references(sentence.split()) == wrong


def test_every_pronoun_agrees_in_gender_and_number_with_a_subject_however_far_away():
    sentences = [(words, *referring_words(words)) for words in all_sentences()]
    assert [wrong for words, _, _ in sentences for wrong in wrong_references(words)] == []
    distances = [place - noun for _, noun, places in sentences for place in places]
    assert len(distances) > 5000
    assert set(range(2, 26)) <= set(distances)
    assert share_above(distances, 6) > 0.5
    kinds = Counter(words[place] for words, _, places in sentences for place in places)
    assert set(kinds) == set().union(*REFERRING_WORDS.values())


@pytest.mark.parametrize(
    ("opening", "closing"), [("either", "or"), ("neither", "nor"), ("if", "then"), ("not", "but"), ('"', '"')]
)
def test_what_comes_in_pairs_is_closed_often_far_away(opening, closing):
    distances = [distance for words in all_sentences() for distance in pair_distances(words, opening, closing)]
    assert len(distances) > 300
    assert len(set(distances)) >= 12
    assert share_above(distances, 6) > 0.3


def test_both_waits_for_a_second_person_and_a_plural_verb():
    sentences = [words for words in all_sentences() if words[0] == "both"]
    distances = []
    for words in sentences:
        noun, end = subject(words, 1, [])
        assert words[end] == "and", words
        assert words[end + 1] in REFERRING_WORDS[gender(words[noun])], words
        verb = end + 3
        while words[verb] in ADVERBS:
            verb += 1
        assert not words[verb].endswith("s"), words
        distances.append(end)
    assert len(distances) > 300
    assert share_above(distances, 6) > 0.3


def test_a_sentence_keeps_to_one_topic_however_long_it_is():
    topic_of = {word: topic for topic, words in TOPICS.items() for word in words.split()}
    distances = []
    for words in all_sentences():
        places = [i for i, word in enumerate(words) if word in topic_of]
        assert len({topic_of[words[i]] for i in places}) <= 1, words
        distances += [second - first for first, second in itertools.pairwise(places)]
    assert len(distances) > 5000
    assert share_above(distances, 6) > 0.3
