"""A built-in demo corpus: short reviews whose label depends on word order, not on word choice.

Every sentence is derived from a small context-free grammar whose main feature is the polarity. A symbol has the
polarity of the phrase it stands in, and ``[symbol~]`` has the opposite one, so a label follows from the derivation of
its sentence and is never noisy:

* contrast: "The soup was bland, but the waiter was charming." is positive. The clause after "but" wins, and so does
  the main clause beside "although", wherever the two stand;
* negation and its look-alikes: "The plot did nothing to bore us." is positive, "The plot did nothing but bore us." is
  not, and a second negation turns the label back: "Nobody could claim that the ending wasn't dull.";
* hearsay, expectations and counterfactuals: "I expected a dull film and got a charming one.", "The meal would have been
  lovely if the waiter hadn't been so rude.";
* comparison: "This phone was less annoying than the last one.".

A bag of words gets little beyond what the plain sentences give it: elsewhere, good and bad words occur under either
label, and the scope of a negation or the side of a contrast decides. Some sentences even share all their words with one
of the other label. Adjectives are drawn with a long tail, so that some occur only a few times in training.
"""

import math
import random
import re
from collections.abc import Sequence

from dense_lstm_zoo.data.demo_grammar import Grammar, draw, drawn_from

LABEL_NAMES = ("negative", "positive")

_SPLIT_SIZES = {"train": 4000, "dev": 500, "test": 1000}
_SEED = 20
_LENGTH_LIMITS = (5, 25)

# A feature is a polarity and one of the two themes of a scene.
_FEATURES = ("00", "01", "10", "11")

# Each scene is a kind of review: its subject as a whole, and the themes its clauses can speak of. A theme holds its
# nouns and its negative and positive adjectives, so that no soup is ever surly and no waiter soggy.
SCENES = (
    (
        "evening meal dinner lunch",
        (
            "soup pasta fish dessert salad bread steak curry pie coffee stew risotto",
            "bland soggy stale greasy watery tasteless burnt overcooked lukewarm rubbery rancid unappetising",
            "tasty delicious fresh flavourful hearty fragrant appetising tender scrumptious succulent zesty moreish",
        ),
        (
            "waiter chef hostess bartender manager waitress sommelier",
            "rude careless surly inattentive arrogant impatient grumpy snooty brusque condescending",
            "friendly attentive polite welcoming courteous helpful gracious cheerful hospitable personable",
        ),
    ),
    (
        "film movie show sequel",
        (
            "plot script dialogue ending story soundtrack opening finale romance twist",
            "predictable contrived muddled corny shallow lifeless pretentious incoherent hackneyed turgid trite",
            "gripping witty clever moving original absorbing thrilling poignant inventive riveting exhilarating",
        ),
        (
            "hero villain narrator heroine comedian detective lead",
            "unconvincing wooden stiff monotonous miscast hammy listless charmless",
            "convincing charismatic believable compelling magnetic funny endearing engrossing",
        ),
    ),
    (
        "phone laptop tablet gadget",
        (
            "screen battery keyboard camera speaker software charger case microphone hinge",
            "flimsy unreliable fragile defective impractical outdated erratic shoddy cumbersome temperamental",
            "reliable sturdy handy practical responsive durable robust precise dependable ingenious",
        ),
        (
            "manual helpline website tutorial newsletter app",
            "confusing unhelpful useless hopeless chaotic sloppy baffling impenetrable",
            "helpful clear useful thorough concise lucid instructive enlightening",
        ),
    ),
)
_ADJECTIVES = (
    "disappointing awful dull boring annoying unpleasant mediocre terrible forgettable tiresome irritating dreadful "
    "unimpressive frustrating dismal lousy lacklustre horrid insufferable",
    "wonderful pleasant lovely charming great delightful impressive memorable likeable splendid remarkable agreeable "
    "admirable terrific marvellous enchanting",
)
_RARE_ADJECTIVES = (
    "tedious dreary horrible pathetic pitiful appalling ghastly atrocious underwhelming uninspired unremarkable "
    "wretched horrendous woeful abysmal insipid drab inferior substandard infuriating unbearable intolerable "
    "unappealing inept amateurish wearisome lamentable deplorable odious obnoxious repellent vile inane vapid grating "
    "dire hideous loathsome laughable ludicrous disagreeable abominable detestable galling vexing soporific repugnant "
    "execrable",
    "brilliant fantastic fabulous magnificent appealing engaging refreshing adorable captivating flawless glorious "
    "spectacular sensational dazzling stunning exquisite sublime impeccable phenomenal exemplary heavenly divine "
    "stellar faultless tremendous amiable congenial commendable praiseworthy laudable beguiling alluring bewitching "
    "peerless superlative masterly matchless noteworthy gratifying stupendous sterling winsome unrivalled inspired "
    "uplifting ravishing majestic creditable",
)
_VERBS = (
    "disappoint:disappointed annoy:annoyed bore:bored irritate:irritated frustrate:frustrated offend:offended "
    "exasperate:exasperated",
    "impress:impressed delight:delighted please:pleased charm:charmed amaze:amazed satisfy:satisfied "
    "enthral:enthralled",
)
# [symbol~] has the opposite polarity, and [symbol+] draws a theme of its own. Phrases that keep or turn the polarity
# share words, or "nobody" alone would decide.
# The weights keep a unigram model near 63 % and a Bi-LSTM near 96 %: more plain sentences help the one, and more
# contrasts, idioms and nested statements hurt both.
_RULES = {
    "sentence": (
        "24 [clause+] . | 56 [plain+] , and [clause+] . | 36 [plain+] , [plain+] , and [clause+] ."
        "| 6 [plain~+] , but [clause+] . | 2 [plain~+] , yet [clause+] . | 5 [concede] [plain~+] , [clause+] ."
        "| 5 [plain+] , [concede] [clause~+] . | 2 despite the [adjective~] [noun] , [clause+] ."
        "| 2 [clause+] , despite the [adjective~] [noun] . | [plain~+] , but [concede] [plain~+] , [clause+] ."
        "| 4 [plain+] , and [concede] [plain~+] , [clause+] . | 3 [comparison] . | [refute] that [comparison~] ."
        "| [confirm] that [comparison] . | 2 [plain+] , and [comparison] . | [plain~+] , but [comparison] ."
        "| [concede] [comparison~] , [clause+] . | 6 [rumour] [claim] , [right] ."
        "| 6 [rumour] that [clause~+] , [wrong] . | I expected a [general~] [whole] and got a [general] one."
        "| I got a [general] [whole] although I expected a [general~] one."
        "| what we got was a [general] [whole] , not the [general~] one that we expected."
        "| what we expected was a [general~] [whole] , not the [general] one that we got."
        "| the [whole] would have been [general~] if the [noun] hadn't been so [adjective] ."
        "| if the [noun] had been [adjective~] , the [whole] would have been [general~] ."
    ),
    "clause": "3 [plain+] | [refute] that [statement~] | [confirm] that [statement]",
    "plain": (
        "34 the [noun] [predicate] | the [noun] that [somebody] called [adjective~] [predicate]"
        "| 2 neither the [noun] nor the [noun] was [general~]"
    ),
    "statement": (
        "4 the [noun] [predicate] | [refute] that the [noun] [predicate~] | [confirm] that the [noun] [predicate]"
    ),
    "comparison": (
        "this [whole] was [far] more [general] than the last one"
        "| this [whole] was [far] less [general~] than the last one"
        "| the last [whole] was [far] more [general~] than this one"
        "| the last [whole] was [far] less [general] than this one"
    ),
    "claim": "4 that [clause+] | that [plain~+] but that [clause+] | that [concede] [plain~+] , [clause+]",
    "predicate": (
        "64 was [really] [adjective] | 14 [verbed] [us] | 2 wasn't [adjective~] | 2 was not [adjective~] at all"
        "| 40 [idiom]"
    ),
    "idiom": (
        "was nothing short of [adjective] | was nothing but [adjective] | was nothing if not [adjective]"
        "| was never less than [adjective] | was never anything but [adjective]"
        "| was not only [adjective] but also [adjective] | couldn't have been more [adjective]"
        "| was more [adjective] than [adjective~] | was [adjective] and not [adjective~]"
        "| was not [adjective~] but [adjective] | was too [adjective] to [verb~] [us]"
        "| was too [adjective] not to [verb] [us] | never failed to [verb] [us] | didn't fail to [verb] [us]"
        "| did nothing but [verb] [us] | never stopped being [adjective] | couldn't help being [adjective]"
        "| could only be called [adjective] | was anything but [adjective~] | couldn't have been less [adjective~]"
        "| was less [adjective~] than [adjective] | wasn't [adjective~] enough to [verb~] [us] | was never [adjective~]"
        "| was never once [adjective~] | was hardly [adjective~] | was far from [adjective~]"
        "| was by no means [adjective~] | was in no way [adjective~] | was the opposite of [adjective~]"
        "| didn't [verb~] [us] | failed to [verb~] [us] | did nothing to [verb~] [us] | never managed to [verb~] [us]"
        "| stopped short of being [adjective~] | could hardly be called [adjective~] | couldn't be called [adjective~]"
    ),
    "right": (
        "3 and they were right | and how right they were | and they weren't wrong | and nobody disagreed with them"
        "| which was true | which was no lie"
    ),
    "wrong": (
        "3 but they were wrong | but how wrong they were | but they weren't right | but nobody agreed with them"
        "| which was a lie | which wasn't true"
    ),
    "adjective": "2 [general] | 2 [special] | [rare]",
    "somebody": "everyone | somebody | my friends | the critics",
    "concede": "2 although | even though | though",
    "rumour": "my friends told me | the critics wrote | they told us | people kept saying",
    "refute": (
        "nobody could claim | it would be a lie to say | I can't say | I don't believe | only a fool would say"
        "| hardly anyone thought | few would agree | you would be wrong to think | it isn't true | I would never say"
        "| there is no way"
    ),
    "confirm": (
        "nobody could deny | it would be a lie to deny | I can't deny | I don't doubt | only a fool would deny"
        "| hardly anyone doubted | few would disagree | you would be wrong to doubt | it isn't false"
        "| I would never deny | there is no doubt"
    ),
    "really": "3 really | 2 truly | 2 quite | simply",
    "far": "2 far | 2 much | even",
    "us": "3 me | 3 us | my wife | my brother | my friends",
}

# "not dull but dull" and "the soup was bland, but the soup was tasty" would be contradictions.
_DISTINCT = ("whole", "noun", "special", "general", "rare", "verb", "verbed")


def generate(num_sentences: int, seed: int) -> tuple[list[str], list[int]]:
    """Derive distinct sentences from the grammar, half of them positive.

    Args:
        num_sentences: How many sentences to derive.
        seed: The same seed gives the same sentences on every platform and Python version.

    Returns:
        The texts and their labels, indices into `LABEL_NAMES`. Every even-sized prefix is exactly balanced.

    Example:
        >>> texts, labels = generate(2, seed=1)
        >>> sorted(labels)
        [0, 1]
    """
    rng = random.Random(seed)
    grammars = [_scene_grammar(*scene) for scene in SCENES]
    earlier_texts: set[str] = set()
    texts: list[str] = []
    labels: list[int] = []
    while len(texts) < num_sentences:
        # The second of each pair takes the other label: balance without a shuffle over the whole corpus.
        label = 1 - labels[-1] if len(labels) % 2 else int(rng.random() < 0.5)
        text = _sentence(rng, grammars, label)
        while text in earlier_texts or not _LENGTH_LIMITS[0] <= len(text.split()) <= _LENGTH_LIMITS[1]:
            text = _sentence(rng, grammars, label)
        earlier_texts.add(text)
        texts.append(text)
        labels.append(label)
    return texts, labels


def demo_splits() -> dict[str, tuple[list[str], list[int]]]:
    """Return the demo corpus: 4000 training, 500 dev and 1000 test sentences, no two of them the same.

    Returns:
        For each of "train", "dev" and "test" the texts and their labels, the same on every call.

    Example:
        >>> splits = demo_splits()
        >>> {name: len(texts) for name, (texts, labels) in splits.items()}
        {'train': 4000, 'dev': 500, 'test': 1000}
    """
    texts, labels = generate(sum(_SPLIT_SIZES.values()), _SEED)
    splits = {}
    start = 0
    for name, size in _SPLIT_SIZES.items():
        splits[name] = (texts[start : start + size], labels[start : start + size])
        start += size
    return splits


def _sentence(rng: random.Random, grammars: Sequence[Grammar], label: int) -> str:
    grammar = grammars[draw(rng, _uniform(len(grammars)))]
    theme = draw(rng, _uniform(2))
    pieces = []
    for symbol, piece in grammar.derive(rng, f"{label}{theme}", _DISTINCT):
        base, _, past = piece.partition(":")
        pieces.append(past if symbol == "verbed" else base)
    text = re.sub(r" (?=[.,])", "", " ".join(pieces))
    return text[0].upper() + text[1:]


def _scene_grammar(whole: str, *themes: tuple[str, str, str]) -> Grammar:
    theme_of_its_own = drawn_from("01", _uniform(2))
    marks = {
        "~": lambda _, feature: f"{1 - int(feature[0])}{feature[1]}",
        "+": lambda rng, feature: feature[0] + theme_of_its_own(rng, feature),
    }
    grammar = Grammar(marks)
    for symbol, rule in _RULES.items():
        grammar.add_rule(symbol, _FEATURES, rule)
    grammar.add_words("whole", _FEATURES, whole.split(), _uniform)
    for feature in _FEATURES:
        polarity, theme = map(int, feature)
        nouns, *special = themes[theme]
        grammar.add_words("noun", [feature], nouns.split(), _uniform)
        grammar.add_words("special", [feature], special[polarity].split(), _falling)
        grammar.add_words("general", [feature], _ADJECTIVES[polarity].split(), _falling)
        grammar.add_words("rare", [feature], _RARE_ADJECTIVES[polarity].split(), _falling)
        for symbol in ("verb", "verbed"):
            grammar.add_words(symbol, [feature], _VERBS[polarity].split(), _falling)
    return grammar


def _uniform(num_words: int) -> Sequence[float]:
    """Return cumulative frequencies that are all the same."""
    return range(1, num_words + 1)


def _falling(num_words: int) -> list[float]:
    """Return the cumulative frequencies of words, most frequent first, whose index is the square of a random number."""
    return [math.sqrt(rank / num_words) for rank in range(1, num_words + 1)]
