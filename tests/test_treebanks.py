"""Files of CCGbank and of the Penn Treebank, of made-up sentences: read correctly, or refused with file and line."""

import gzip
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dense_lstm_zoo.tagging import brackets
from dense_lstm_zoo.tagging.corpora import read_file, read_files
from dense_lstm_zoo.tagging.corpus import TaggedSplit
from dense_lstm_zoo.tagging.licensed import READERS
from tests.treebank_files import AUTO, CATEGORIES, CONTENT, POS, TAGS, WORDS

EXPECTED = {"auto": CATEGORIES, "pos": TAGS, "mrg": TAGS}


@pytest.mark.parametrize("form", CONTENT)
@pytest.mark.parametrize(
    "change",
    [
        str,
        lambda text: text.rstrip("\n"),
        lambda text: text.replace("\n", "\r\n"),
        lambda text: f"\n\n{text}\n\n",
        lambda text: text.encode("utf-8-sig"),
        lambda text: gzip.compress(text.encode(), mtime=0),
    ],
)
def test_words_and_tags_are_read_however_the_lines_end(write, form, change):
    path = write(change(CONTENT[form]), f"wsj_0001.{form}")
    assert READERS[form](path) == READERS[form](str(path)) == TaggedSplit(WORDS, EXPECTED[form])


def test_ids_without_a_derivation_are_skipped_only_if_they_say_so(write):
    none = "ID=a.1 PARSER=GOLD NUMPARSE=0\n"
    assert READERS["auto"](write(none + AUTO)).tokens == WORDS
    without = "".join(line for line in AUTO.splitlines(keepends=True) if not line.startswith("ID="))
    assert READERS["auto"](write(without)) == TaggedSplit(WORDS, CATEGORIES)
    assert READERS["auto"](write("(<L S VB VB Go S>)\n")) == TaggedSplit([["Go"]], [["S"]])


def test_words_may_hold_angle_brackets_and_slashes(write):
    leaf = "(<L N NN NN {} N>)"
    words = ["<", ">", "a>b", "either\\/or", "\\*", "\\"]
    line = f"(<T N 0 {len(words)}> " + " ".join(map(leaf.format, words)) + " )\n"
    assert READERS["auto"](write(line)).tokens == [["<", ">", "a>b", "either/or", "*", "\\"]]
    assert READERS["pos"](write("1\\/2/CD \\/\\/NN/NN [/SYM ]/SYM //SYM\n")).tokens == [["1/2", "//NN", "[", "]", "/"]]


def test_trees_of_traces_alone_are_no_sentences_and_of_alternative_tags_the_first_counts(write):
    trees = "( (S (NP (-NONE- *T*-1))) )\n((X (JJ|VBN tired)))((NN dog)) (UH Oh)\n"
    assert READERS["mrg"](write(trees)) == TaggedSplit([["tired"], ["dog"], ["Oh"]], [["JJ"], ["NN"], ["UH"]])
    assert READERS["pos"](write("tired/JJ|VBN bar/|\n")) == TaggedSplit([["tired", "bar"]], [["JJ", "|"]])


@pytest.mark.parametrize(
    ("form", "content", "message"),
    [
        ("auto", "", r"has no sentences; expected derivations of CCGbank"),
        ("pos", "\n====\n\n[ ]\n", r"has no sentences; expected words with tags"),
        ("mrg", "( (-NONE- *) )\n", r"has no sentences; expected trees in brackets"),
        ("auto", "ID=a.1\n\nID=a.2\n", r"line 1 has no derivation below it; expected a line that begins with \(<T"),
        ("auto", AUTO + "\nID=a.9\n", r"line 6 has no derivation below it"),
        ("auto", "ID=a.1 PARSER=C NUMPARSE=2\n", r"line 1: NUMPARSE=2, expected one derivation"),
        ("auto", "\n(S (NP Dogs))\n", r"line 2, character 1: found '\(S \(NP Dogs\)\)', expected \(<T category"),
        ("auto", "(<T S 0 2> (<L S VB VB Go S>) )\n", r"line 1, character 31: found '\)', expected 1 more daughter of"),
        (
            "auto",
            "(<T S 0 1> (<L S VB VB Go S>) (<L . . . . .>) )",
            r"character 31: found .* expected the end of a node",
        ),
        ("auto", "(<L S VB VB Go S>) (<L . . . . .>)", r"line 1, character 20: .* the derivation is complete"),
        ("auto", "(<T S 0 1> (<L S VB VB Go S>)", r"line 1 ends within a derivation: 1 bracket not closed"),
        ("auto", "(<T S 0 1> (<L S VB Go S>) )", r"line 1, character 12: found '\(<L S VB Go S>\) \)', expected"),
        ("pos", "Dogs/NNS\nbark\n", r"line 2: found 'bark', expected a word and its tag, such as dog/NN"),
        ("pos", "either\\/or\n", r"line 1: found 'either\\\\/or', expected a word and its tag"),
        ("pos", "/NN\n", r"line 1: found '/NN', expected a word and its tag"),
        ("pos", "dog/\n", r"line 1: found 'dog/', expected a word and its tag"),
        ("mrg", "( (NN dog) )\ndog\n", r"line 2: found 'dog' outside a tree, expected \("),
        ("mrg", "( (NN dog) ) )\n", r"line 1: found '\)' outside a tree"),
        ("mrg", "\n( (S (NN dog)\n\n(VB ", r"ends within the tree that begins at line 2: a \) is missing"),
        ("mrg", "( (NN dog cat) )\n", r"line 1: found 'cat' after the word 'dog', expected \)"),
        ("mrg", "( (NN dog (NN cat)) )\n", r"line 1: found \( after the word 'dog', expected \)"),
        ("mrg", "( (S (NN dog)\ncat) )\n", r"line 2: found 'cat' after brackets, expected \)"),
        ("mrg", "( (NN) )\n", r"line 1: a bracket holds NN, expected a tag and a word"),
        ("mrg", "()\n", r"line 1: a bracket holds nothing"),
        ("mrg", "( (NN caf\udce9) )\n".encode(errors="surrogateescape"), r"line 1 is not utf-8: byte 0xe9"),
        ("pos", gzip.compress(POS.encode(), mtime=0)[:-9], "is a truncated or damaged gzip file"),
    ],
)
def test_what_is_wrong_is_said_with_file_and_line(write, form, content, message):
    path = write(content, f"wsj_0001.{form}")
    with pytest.raises(ValueError, match=message) as caught:
        READERS[form](path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("form", CONTENT)
def test_a_file_that_is_not_there_is_refused_with_near_names(write, form):
    path = write("", f"train.{form}")
    with pytest.raises(FileNotFoundError, match=rf"Did you mean 'train\.{form}'"):
        READERS[form](path.with_name(f"trian.{form}"))


def test_deep_trees_take_no_recursion(write):
    deep = 20_000
    tree = write("(" + "(X " * deep + "(NN dog)" + ")" * deep + ")\n")
    assert READERS["mrg"](tree).tokens == [["dog"]]
    derivation = write("(<T X 0 1> " * deep + "(<L NN NN NN dog NN>) " + ") " * deep + "\n")
    assert READERS["auto"](derivation).tags == [["NN"]]


def test_a_sentence_that_does_not_end_is_not_read_to_its_end(write):
    for form, text, message in (
        ("mrg", "(\n", r"line 1: the tree has more than 65,536 tokens; a bracket"),
        ("pos", "a/B\n", r"line 65537: the sentence has more than 65,536 tokens"),
    ):
        with pytest.raises(ValueError, match=message):
            READERS[form](write(text * (brackets.MOST_TOKENS + 1)))


def test_memory_for_a_file_that_is_one_endless_line_is_bounded(write):
    path = write(b"a" * (40 << 20))
    tracemalloc.start()
    with pytest.raises(ValueError, match="has more than"):
        READERS["mrg"](path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16 << 20


# What a treebank writes: no white space, no brackets, no backslash of a word's own and no byte order mark.
words = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cs", "Z", "Cc"], exclude_characters="()<>\\\ufeff"),
    min_size=1,
    max_size=5,
)
tags = words.filter(lambda tag: not set(tag) & {"/", "|"} and not tag.startswith("-NONE"))
sentences = st.lists(st.tuples(words, tags), min_size=1, max_size=6)


def tree(leaves):
    """A tree that branches to the right, as brackets and as a derivation."""
    if len(leaves) == 1:
        ((word, tag),) = leaves
        return f"({tag} {word})", f"(<L {tag} XX YY {word} {tag}_1>)"
    first, second = tree(leaves[:1]), tree(leaves[1:])
    return f"(X {first[0]}\n  {second[0]})", f"(<T X 0 2> {first[1]} {second[1]} )"


@given(st.lists(sentences, min_size=1, max_size=4))
@settings(max_examples=60, deadline=None)
def test_sentences_that_were_written_are_read_back(tmp_path_factory, corpus):
    expected = TaggedSplit(*([[pair[i] for pair in sentence] for sentence in corpus] for i in (0, 1)))
    trees = [tree(sentence) for sentence in corpus]
    escaped = ["\n".join(f"{word}/{tag}".replace("/", "\\/", word.count("/")) for word, tag in s) for s in corpus]
    texts = {
        "mrg": "".join(f"( {brackets} )\n" for brackets, _ in trees),
        "auto": "".join(f"ID=a.{i} PARSER=GOLD NUMPARSE=1\n{line}\n" for i, (_, line) in enumerate(trees)),
        "pos": "\n====\n".join(escaped),
    }
    for form, text in texts.items():
        path = tmp_path_factory.getbasetemp() / f"written.{form}"
        path.write_bytes(text.encode())
        assert READERS[form](path) == expected, form


@pytest.mark.parametrize("form", CONTENT)
def test_own_files_in_a_treebanks_format_make_a_corpus(write, form):
    train, test = write(CONTENT[form], f"train.{form}"), write(CONTENT[form], f"test.{form}")
    corpus = read_files(form, train_file=train, test_file=test)
    corpus_text = TaggedSplit(WORDS, EXPECTED[form])
    assert corpus.train.tokens + corpus.dev.tokens == WORDS
    assert (corpus.name, len(corpus.dev), corpus.test, corpus.columns) == (form, 1, corpus_text, {})
    assert read_file(form, test) == (corpus_text, ())
    with pytest.raises(ValueError, match=rf"tag_column is for columns; .*train\.{form} is read as {form}.*Received 2"):
        read_files(form, train_file=train, tag_column=2)


def test_a_blank_line_between_noun_phrases_or_before_closing_quotes_ends_no_sentence(write):
    quoted = "``/`` \n[ Dogs/NNS ]\n\n[ that/WDT ]\nbark/VBP sleep/VBP ./. \n\n''/'' \n\n"
    remaining = "[ Birds/NNS ]\nsing/VBP ./.\n\n[ Cats/NNS ]\n\n\n[ Headline/NN ]\n====\n\n[ End/NN ]\n"
    assert [" ".join(tokens) for tokens in READERS["pos"](write(quoted + remaining)).tokens] == [
        "`` Dogs that bark sleep . ''",
        "Birds sing .",
        "Cats",
        "Headline",
        "End",
    ]
