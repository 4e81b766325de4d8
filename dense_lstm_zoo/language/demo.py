"""A built-in corpus for language models: English-like sentences in which distant words depend on each other.

Every sentence is derived from a small probabilistic grammar and so is grammatical by construction. It is in lower case,
with punctuation marks as tokens of their own and one space between tokens. A model has to remember:

* number: a verb agrees with its subject across prepositional phrases and relative clauses, which nest two deep: "the
  kings that the men that a girl near the old bridges knows admire often reign .";
* gender: "herself", "himself", "itself" and "themselves", with their pronouns and possessives, look back to the subject
  past people of another gender: "the actor that the women near the river trust must remember himself .";
* pairs: "either" waits for "or", "neither" for "nor", "both" for "and" and then a plural verb, "not only" for "but
  also", "if" for "then", and a quotation for its second mark;
* topic: the first noun sets one of ten topics. A sentence on music keeps to violins and rehearsals until its full stop
  across people, places and verbs that belong to no topic and so reveal nothing: "if the tenor that many women
  beyond the bridge envy keeps his violin only for himself , then he must sing .".

An n-gram model mostly does not see what decides such words. Words are drawn with a long tail, and four of them are kept
out of train, so that dev and test hold words that no model knows.
"""

import functools
import itertools
import random
import re

from dense_lstm_zoo.data.demo_grammar import Grammar, draw, drawn_from, long_tail, with_s

_SPLIT_TOKENS = {"train": 120_000, "dev": 12_000, "test": 12_000}
_SEED = 10
_LENGTH_LIMITS = (5, 35)
_KEPT_OUT_OF_TRAIN = {"gertrude", "leopold", "sullen", "grudgingly"}

# Agreements within a phrase: feminine, masculine or neuter singular, plural, or the "i" of a quotation.
_AGREEMENTS = "fmnpi"
_SINGULAR = "fmn"

# [symbol+] has an agreement of its own, and so has [symbol#], for things, which have no gender.
# "symbol:fm" is for these two agreements only.
_MARKS = {"+": drawn_from("fmnp", (4, 8, 10, 17)), "#": drawn_from("np", (3, 5))}
_RULES = {
    "sentence": (
        "16 [clause] . | 7 [clause] [because] [pronoun] [predicate] . | 4 [because] [clause] , [pronoun] [predicate] ."
        "| 4 if [clause] , then [pronoun] [predicate] . | 2 if [clause] , then [clause+] ."
        "| 3 either [clause] or [clause+] . | 3 neither the [agent] [modifiers] nor [possessive] [kin] [simple] ."
        "| 4 [subject] either [deed] or [deed] . | 4 [subject] neither [simple] nor [simple] ."
        "| 4 [subject] not only [deed] but also [deed] . | 2 [subject] [say] that [pronoun] [predicate] ."
        "| 3 both the [agent] [modifiers] and [possessive] [kin+] [predicate=p] ."
        '| 3 [subject] [say] : " [speech] . " | 3 " [speech] , " [say] [subject] .'
    ),
    "speech": "2 [clause+] | 2 i [predicate=i] | 1 if [clause+] , then i [deed=i] | 1 i either [deed=i] or [deed=i]",
    "clause": "1 [subject] [predicate]",
    "subject": "3 [det] [agent] [modifiers] | 1 [det] [adj] [agent] [modifiers]",
    "modifiers": (
        "6 | 4 [where] | 2 [where] and [where] | 6 that [admirer+] | 3 [where] that [admirer+]"
        "| 2 that [admire] [other+] | 2 that [admire] [other+] [where]"
    ),
    "admirer": "4 [other] [admire] | 4 [described] [where] [admire] | 3 [described] that [inner+] [admire]",
    "inner": "2 [other] [admire] | 1 [described] [where] [admire]",
    "other": "1 [described]",
    "other:fm": "3 [name] | 4 [described]",
    "described": "3 [det] [person] | 1 [det] [adj] [person]",
    "where": "1 [prep] [spot#]",
    "spot": "3 [det] [place] | 1 [det] [adj] [place]",
    "predicate": "8 [deed] | 3 [deed] and [deed] | 1 [deed] , [deed] and [deed]",
    "deed": "9 [simple] | 3 [adv] [plain] | 1 [can] [adv] [bare]",
    "simple": "8 [plain] | 4 [can] [bare] | 2 [want] to [bare] | 1 [seem] [adj]",
    "plain": (
        "4 [act] | 3 [act] in the [hall] | 3 [act] [where] | 3 [handle] [object] | 8 [keep] [object]"
        "| 3 [keep] [object] [where] | 3 [keep] [object] only for [reflexive] | 3 [admire] [reflexive]"
        "| 3 [admire] [other+] [where] and also [reflexive] | 2 [admire] [other+] [where] more than [reflexive]"
    ),
    "object": "3 [item#] | 2 [possessive] [thing#] | 1 [possessive] [adj] [thing#]",
    "item": "3 [det] [thing] | 1 [det] [adj] [thing]",
}
# After "can" or "to", a verb has no number, but words that refer back to the subject still agree with it.
_RULES["bare"] = re.sub(r"\[(act|handle|keep|admire)\]", r"[\1=p]", _RULES["plain"])

_NOUNS = {  # feminine | masculine | neuter
    "person": "woman girl lady aunt|man boy gentleman uncle|family crowd",
    "kin": "sister daughter mother|brother son father|rival sponsor",
    "place": "||bridge river tower garden gate market fountain wall",
}
_VERBS = {
    "keep": "keep need find buy hide sell lose bring",
    "admire": "admire know love trust praise envy remember avoid",
    "say": "say whisper reply insist",
    "seem": "seem look remain",
    "want": "want hope promise",
}
_PARTICLES = {
    "name:f": "mary anna clara julia helen agnes gertrude winifred",
    "name:m": "john peter thomas martin oliver hugo leopold barnaby",
    "adv": "often never always rarely usually sometimes secretly gladly proudly grudgingly wearily",
    "adj": "old young famous quiet clever proud strange elegant gloomy sullen drowsy",
    "prep": "near behind beside beyond",
    "because": "because while when until although before",
    "can": "can must should might may",
    "det:fmn": "the a this every",
    "det:p": "the some these many those",
}
_PRONOUNS = {
    "pronoun": "she he it they i",
    "possessive": "her his its their my",
    "reflexive": "herself himself itself themselves myself",
}
# The most frequent topic first. For each: agents; things; halls; verbs with an object; verbs without.
_TOPICS = """
soprano songstress|tenor baritone|orchestra; violin trumpet drum ballad; auditorium bandstand; play tune; sing rehearse
queen princess|king prince|dynasty; crown throne sceptre jewel; palace castle; inherit guard; reign abdicate
waitress hostess|waiter host|bistro; soup pie sauce pudding; kitchen pantry; taste stir; cook dine
witch sorceress|wizard warlock|coven; potion wand cauldron spell; dungeon crypt; enchant conjure; vanish hover
actress showgirl|actor showman|troupe; costume script mask puppet; theatre playhouse; design unpack; act improvise
mermaid fisherwoman|merman fisherman|fleet; net anchor oar raft; harbour lagoon; mend haul; swim drift
schoolgirl headmistress|schoolboy headmaster|academy; essay poem report diary; classroom library; read copy; study cram
nun abbess|monk abbot|parish; hymn candle psalm relic; chapel abbey; cherish donate; pray kneel
shepherdess milkmaid|shepherd herdsman|flock; pumpkin turnip cabbage carrot; barn stable; plant harvest; yodel toil
businesswoman landlady|businessman landlord|company; invoice loan lease bill; office bank; audit approve; invest haggle
"""
_OPEN_CLASSES = {"agent", "thing", "hall", "handle", "act", "name", "adv", "adj", *_NOUNS, *_VERBS}


@functools.cache
def demo_language_splits() -> dict[str, list[str]]:
    """Return the demo corpus for language models.

    Returns:
        The sentences of "train", "dev" and "test", about 120,000, 12,000 and 12,000 tokens, with no end marker. They
        are the same on every platform and Python version, and every call returns the same object.

    Example:
        >>> splits = demo_language_splits()
        >>> {name: sum(len(sentence.split()) for sentence in sentences) // 1000 for name, sentences in splits.items()}
        {'train': 120, 'dev': 12, 'test': 12}
    """
    rng = random.Random(_SEED)
    grammars = _topic_grammars()
    topics = long_tail(len(grammars))
    splits: dict[str, list[str]] = {}
    for name, missing in _SPLIT_TOKENS.items():
        splits[name] = []
        while missing > 0:
            words = _sentence(rng, grammars[draw(rng, topics)])
            kept_out = name == "train" and not _KEPT_OUT_OF_TRAIN.isdisjoint(words)
            if not kept_out and _LENGTH_LIMITS[0] <= len(words) <= _LENGTH_LIMITS[1]:
                splits[name].append(" ".join(words))
                missing -= len(words)
    return splits


def _sentence(rng: random.Random, grammar: Grammar) -> list[str]:
    pairs = grammar.derive(rng, _MARKS["+"](rng, ""))
    content = [word for symbol, word in pairs if symbol in _OPEN_CLASSES]
    # "mary , whom mary knows , sings and sings" would be grammatical, but nobody would say it.
    return [word for _, word in pairs] if len(content) == len(set(content)) else []


def _topic_grammars() -> list[Grammar]:
    common = Grammar(_MARKS)
    for key, rule in _RULES.items():
        symbol, _, only = key.partition(":")
        common.add_rule(symbol, only or _AGREEMENTS, rule)
    for symbol, nouns in _NOUNS.items():
        _add_nouns(common, symbol, nouns)
    for symbol, verbs in _VERBS.items():
        _add_verbs(common, symbol, verbs)
    for key, particles in _PARTICLES.items():
        symbol, _, only = key.partition(":")
        common.add_words(symbol, only or _AGREEMENTS, particles.split())
    for symbol, pronouns in _PRONOUNS.items():
        for agreement, pronoun in zip(_AGREEMENTS, pronouns.split(), strict=True):
            common.add_words(symbol, agreement, [pronoun])

    grammars = []
    for topic in _TOPICS.strip().splitlines():
        agents, things, halls, handles, acts = topic.split(";")
        grammar = Grammar(_MARKS, common.alternatives)
        _add_nouns(grammar, "agent", agents)
        _add_nouns(grammar, "thing", f"||{things}")
        grammar.add_words("hall", _AGREEMENTS, halls.split())
        _add_verbs(grammar, "handle", handles)
        _add_verbs(grammar, "act", acts)
        grammars.append(grammar)
    return grammars


def _add_nouns(grammar: Grammar, symbol: str, nouns: str) -> None:
    genders = [gender.split() for gender in nouns.split("|")]
    for agreement, singulars in zip(_SINGULAR, genders, strict=True):
        grammar.add_words(symbol, agreement, singulars)
    # Alternate the genders, so that words frequent in the singular are also frequent in the plural.
    in_turn = [noun for rank in itertools.zip_longest(*genders) for noun in rank if noun]
    grammar.add_words(symbol, "p", [with_s(noun) for noun in in_turn])


def _add_verbs(grammar: Grammar, symbol: str, verbs: str) -> None:
    grammar.add_words(symbol, _SINGULAR, [with_s(verb) for verb in verbs.split()])
    grammar.add_words(symbol, "pi", verbs.split())
