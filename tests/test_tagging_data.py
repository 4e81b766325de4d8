"""Corpora for taggers: columns and CoNLL-U as they come, the published ones, a user's own, rare tags."""

import gzip
import subprocess
import sys
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dense_lstm_zoo.data import tagging
from dense_lstm_zoo.data.columns import ColumnFile
from dense_lstm_zoo.data.tagging import (
    TaggedSplit,
    TaggingCorpus,
    is_right,
    merge_rare_tags,
    read_column_files,
    read_columns,
    read_conll2000,
    read_ud_ewt,
)

COLUMNS = "Dogs NNS B-NP\nbark VBP B-VP\n. . O\n\nGo VB B-VP\n"
DOGS = [["Dogs", "bark", "."], ["Go"]]
CHUNKS = [["B-NP", "B-VP", "O"], ["B-VP"]]
CONLLU = """\
# newdoc id = dogs
# sent_id = dogs-1
# text = Dogs don't bark at New York.
1	Dogs	dog	NOUN	NNS	Number=Plur	4	nsubj	_	_
2-3	don't	_	_	_	_	_	_	_	_
2	do	do	AUX	VBP	_	4	aux	_	_
3	n't	not	PART	RB	_	4	advmod	_	_
4	bark	bark	VERB	VB	_	0	root	_	_
4.1	bark	bark	VERB	VB	_	_	_	0:exroot	_
5	at	at	ADP	IN	_	6	case	_	_
6	New York	New York	PROPN	NNP	_	4	obl	_	SpaceAfter=No
7	.	.	PUNCT	.	_	4	punct	_	_

# sent_id = dogs-2
# text = _
1	_	_	PUNCT	NFP	_	0	root	_	_
"""
WORDS = [["Dogs", "do", "n't", "bark", "at", "New York", "."], ["_"]]
UNIVERSAL = [["NOUN", "AUX", "PART", "VERB", "ADP", "PROPN", "PUNCT"], ["PUNCT"]]
PENN = [["NNS", "VBP", "RB", "VB", "IN", "NNP", "."], ["NFP"]]


@pytest.fixture
def write(tmp_path):
    """Write a file and return its path."""

    def _write(content, name="train.txt"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return _write


def fails(match, path, **options):
    with pytest.raises(ValueError, match=match) as caught:
        read_columns(path, **options)
    assert str(path) in str(caught.value)


def numbered(sentences):
    """Sentences of one token each, which is its number, with tags in turn."""
    return TaggedSplit([[str(i)] for i in range(sentences)], [["AB"[i % 2]] for i in range(sentences)])


def written(split, separator=" "):
    """A split as a file in columns."""
    pairs = [zip(tokens, tags, strict=True) for tokens, tags in zip(split.tokens, split.tags, strict=True)]
    return "\n".join("".join(f"{token}{separator}{tag}\n" for token, tag in sentence) for sentence in pairs)


def test_importing_the_readers_loads_no_tensorflow():
    code = "import sys, dense_lstm_zoo.data.tagging, dense_lstm_zoo.data.demo_tagging; sys.exit('keras' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_the_real_chunks_have_their_published_counts_and_the_last_tenth_of_train_is_dev(data_folder):
    folder = data_folder / "conll2000"
    corpus = read_conll2000("conll2000", [folder / "train.txt", folder / "test.txt"])
    assert str(corpus).startswith(
        "conll2000: 8,043 train (190,731 tokens), 893 dev (20,996 tokens), 2,012 test (47,377 "
    )
    assert "; 22 tags: B-ADJP, B-ADVP, B-CONJP" in str(corpus)
    assert corpus.train.num_tokens + corpus.dev.num_tokens == 211_727
    # The first and the last sentence of each file, by eye.
    assert " ".join(corpus.train.tokens[0][:8]) == "Confidence in the pound is widely expected to"
    assert " ".join(corpus.train.tags[0][:8]) == "B-NP B-PP B-NP I-NP B-VP I-VP I-VP I-VP"
    blocks = (folder / "train.txt").read_text().strip().split("\n\n")
    for split, block in ((corpus.train, blocks[8042]), (corpus.dev, blocks[8043]), (corpus.dev, blocks[8935])):
        rows = [line.split() for line in block.split("\n")]
        at = 0 if block == blocks[8043] else -1
        assert split.tokens[at] == [row[0] for row in rows]
        assert split.tags[at] == [row[2] for row in rows]
    # A row of the token "#" begins as a comment does.
    assert Counter(token for tokens in corpus.test.tokens for token in tokens)["#"] == (
        (folder / "test.txt").read_text().count("\n# # ")
    )


def test_the_real_web_treebank_has_its_published_counts_with_both_kinds_of_tags(data_folder):
    paths = [data_folder / "ud_english_ewt" / f"en_ewt-ud-{part}.conllu" for part in ("train", "dev", "test")]
    for column, num_tags, first in (("upos", 17, "PROPN PUNCT PROPN PUNCT ADJ"), ("xpos", 49, "NNP HYPH NNP : JJ")):
        corpus = read_ud_ewt("ewt", paths, column=column)
        sizes = "ewt: 12,544 train (204,577 tokens), 2,001 dev (25,147 tokens), 2,077 test (25,094 tokens) sentences; "
        assert str(corpus).startswith(f"{sizes}{num_tags} tags: ")
        assert corpus.train.tokens[0][:5] == ["Al", "-", "Zaman", ":", "American"]
        assert corpus.train.tags[0][:5] == first.split()
    # Each sentence's words, joined, are its raw text without the spaces.
    text = [line[9:] for line in paths[2].read_text().split("\n") if line.startswith("# text = ")]
    assert ["".join(tokens).replace(" ", "") for tokens in corpus.test.tokens][:500] == [
        line.replace(" ", "") for line in text[:500]
    ]


def test_a_file_that_is_not_the_published_one_is_named_with_its_counts(write, monkeypatch):
    monkeypatch.setattr(tagging, "_CONLL2000_SIZES", ((2, 4), (1_000, 4)))
    monkeypatch.setattr(tagging, "_UD_EWT_SIZES", ((2, 8), (2, 8), (2, 9)))
    columns, test = write(COLUMNS), write(COLUMNS, "test.txt")
    conllu, last = write(CONLLU, "train.conllu"), write(CONLLU, "test.conllu")
    with pytest.raises(
        ValueError, match=r"test\.txt: found 2 sentences of 4 tokens, expected 1,000 of 4; it is not the"
    ):
        read_conll2000("conll2000", [columns, test])
    with pytest.raises(
        ValueError, match=r"test\.conllu: found 2 sentences of 8 tokens, expected 2 of 9; it is not the"
    ):
        read_ud_ewt("ewt", [conllu, conllu, last], column="upos")
    with pytest.raises(ValueError, match=r"'pos'.* Accepted: upos, xpos"):
        read_ud_ewt("ewt", [conllu] * 3, column="pos")


def test_the_published_readers_take_the_columns_of_their_format(write, monkeypatch):
    monkeypatch.setattr(tagging, "_CONLL2000_SIZES", ((2, 4), (2, 4)))
    monkeypatch.setattr(tagging, "_UD_EWT_SIZES", ((2, 8), (2, 8), (2, 8)))
    columns, conllu = write(COLUMNS), write(CONLLU, "train.conllu")
    chunks = read_conll2000("conll2000", [columns, columns])
    assert (chunks.train, chunks.dev) == (TaggedSplit(DOGS[:1], CHUNKS[:1]), TaggedSplit(DOGS[1:], CHUNKS[1:]))
    assert chunks.test == TaggedSplit(DOGS, CHUNKS)
    for column, tags in (("upos", UNIVERSAL), ("xpos", PENN)):
        words = read_ud_ewt("ewt", [conllu] * 3, column=column)
        assert words.train == words.dev == words.test == TaggedSplit(WORDS, tags)


@pytest.mark.parametrize(
    "content",
    [
        COLUMNS,
        COLUMNS.rstrip("\n"),
        f"\n\n  \n{COLUMNS}\n\t\n\n",
        COLUMNS.replace("\n\n", "\n\n \n\n\n"),
        COLUMNS.replace("\n", "\r\n"),
        f"-DOCSTART- -X- O\n\n{COLUMNS}\n-DOCSTART-\n\n",
        COLUMNS.replace("\n\n", "\n-DOCSTART- -X- -X- -X-\n"),
        COLUMNS.replace(" ", "\t"),
        COLUMNS.replace(" ", "   \t ").replace("\n", "  \n"),
        COLUMNS.encode("utf-8-sig"),
        gzip.compress(COLUMNS.encode(), mtime=0),
    ],
)
@pytest.mark.parametrize("name", ["train.txt", "train.gz"])
def test_columns_are_read_however_they_are_laid_out(write, content, name):
    path = write(content, name)
    assert read_columns(path) == read_columns(str(path), tag_column=2) == TaggedSplit(DOGS, CHUNKS)
    assert read_columns(path, token_column=-3, tag_column=1).tags == [["NNS", "VBP", "."], ["VB"]]


def test_cells_keep_all_white_space_that_separates_no_columns(write):
    tokens = ["1\u202f000\u00a0", "\x85\u2028", "caf\u00e9"]
    assert read_columns(write("".join(f"{token}  X\n" for token in tokens))).tokens == [tokens]
    assert read_columns(write("a X\n\u00a0 \u2028\n")) == TaggedSplit([["a", "\u00a0"]], [["X", "\u2028"]])
    path = write("New York\tNNP\n# \t#\n")
    assert read_columns(path, separator="\t") == TaggedSplit([["New York", "#"]], [["NNP", "#"]])
    path = write("a, b ,c\n\nd,e,\n")
    assert read_columns(path, separator=",", tag_column=1) == TaggedSplit([["a"], ["d"]], [["b"], ["e"]])


@pytest.mark.parametrize("name", ["train.conllu", "train.CONLLU.gz", "train.txt"])
@pytest.mark.parametrize(
    "change", [str, lambda text: "\n\n" + text.replace("\n", "\r\n"), lambda text: text + "\n# end"]
)
def test_conllu_is_known_by_its_name_or_its_content_and_has_words_only(write, name, change):
    content = change(CONLLU).encode()
    path = write(gzip.compress(content, mtime=0) if name.endswith(".gz") else content, name)
    assert ColumnFile(path).is_conllu
    assert read_columns(path) == read_columns(path, token_column=1, tag_column=3) == TaggedSplit(WORDS, UNIVERSAL)
    assert read_columns(path, tag_column=4) == TaggedSplit(WORDS, PENN)
    lemmas = read_columns(path, token_column=2)
    assert (lemmas.tokens[0][:3], lemmas.tags) == (["dog", "do", "not"], UNIVERSAL)
    assert read_columns(path, tag_column=9).tags == [["_"] * 5 + ["SpaceAfter=No", "_"], ["_"]]


def test_a_first_token_that_looks_like_a_comment_is_a_token(write):
    path = write("# # I-NP\n1.8 CD I-NP\n\n# # B-NP\n")
    assert not ColumnFile(path).is_conllu
    assert read_columns(path) == TaggedSplit([["#", "1.8"], ["#"]], [["I-NP", "I-NP"], ["B-NP"]])
    without_comments = write("\n".join(line for line in CONLLU.split("\n") if "# " not in line and "-3" not in line))
    assert read_columns(without_comments, token_column=1, tag_column=3, separator="\t").tags[1] == ["PUNCT"]


def test_sentences_may_have_one_token_or_thousands(write):
    split = TaggedSplit([["w"], ["w"] * 5000, ["w"]], [["A"], ["B"] * 5000, ["A"]])
    assert read_columns(write(written(split))) == split


def test_a_column_file_is_read_again_and_again_with_the_numbers_of_its_lines(write):
    file = ColumnFile(write(f"\n-DOCSTART- -X- O\n{COLUMNS}"))
    expected = [[(3, "Dogs NNS B-NP"), (4, "bark VBP B-VP"), (5, ". . O")], [(7, "Go VB B-VP")]]
    assert list(file) == list(file) == [[(number, row.split()) for number, row in rows] for rows in expected]


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("", {}, "is empty: it has no sentence"),
        ("\n \n\n-DOCSTART- -X- O\n\n", {}, "is empty: it has no sentence"),
        ("\nDogs\nbark\n", {}, r"line 2: found 1 column \(Dogs\), expected at least 2: a token and its tag"),
        (
            COLUMNS,
            {"tag_column": 3},
            r"line 1: found 3 columns \(Dogs, NNS, B-NP\), expected at least 4 for tag_column=3",
        ),
        (COLUMNS, {"token_column": -4}, r"line 1: found 3 columns .* expected at least 4 for token_column=-4"),
        (COLUMNS, {"tag_column": 0}, "has 3 columns, in which token_column=0 and tag_column=0 are the same one"),
        (COLUMNS, {"token_column": 2}, "token_column=2 and tag_column=-1 are the same one"),
        (
            COLUMNS.replace(" VBP", ""),
            {},
            r"line 2: found 2 columns \(bark, B-VP\), expected 3 as in line 1\. If cells",
        ),
        (
            "\n\n" + COLUMNS.replace("VB ", "VB x "),
            {},
            r"line 7: found 4 columns \(Go, VB, x, B-VP\), expected 3 as in line 3",
        ),
        (
            "a\tX\nb\t\n",
            {"separator": "\t"},
            r"line 2: found nothing in tag_column=-1, expected a tag: 2 columns \(b, \)",
        ),
        ("a\tX\n\n\n \tX\n", {"separator": "\t"}, r"line 4: found nothing in token_column=0, expected a token"),
        ("a\tX\nb\tX\tY\n", {"separator": "\t"}, r"line 2: found 3 columns \(b, X, Y\), expected 2 as in line 1\.$"),
        (b"a X\n\ncaf\xe9 X\n", {}, r'line 3 is not utf-8: byte 0xe9 .* such as encoding="latin-1"'),
        (gzip.compress(b"a X\n" * 30_000 + b"caf\xe9 X\n", mtime=0), {}, "line 30001 is not utf-8: byte 0xe9"),
        (gzip.compress(COLUMNS.encode(), mtime=0)[:-9], {}, "is a truncated or damaged gzip file"),
    ],
)
def test_what_is_wrong_with_columns_is_said_with_file_and_line(write, content, options, message):
    fails(message, write(content), **options)


@pytest.mark.parametrize(
    ("old", "new", "options", "message"),
    [
        (
            "\tVERB\tVB\t",
            "\tVERB\t",
            {},
            r"line 8: found 9 columns \(4, bark, .*\) between tabs, expected 10 \(CoNLL-U\)",
        ),
        ("5\tat", "five\tat", {}, r"line 10: found 'five', expected a token's number \(CoNLL-U\), such as 1"),
        ("\tADP\t", "\t_\t", {}, "line 10: found nothing in tag_column=3, expected a tag: 10 columns"),
        ("\tADP\t", "\t\t", {}, "line 10: found nothing in tag_column=3, expected a tag"),
        ("\tADP\t", "\t_\t", {"tag_column": -7}, "line 10: found nothing in tag_column=-7, expected a tag"),
        ("\tIN\t", "\t_\t", {"tag_column": 4}, "line 10: found nothing in tag_column=4, expected a tag"),
        ("\tbark\tbark\t", "\t\tbark\t", {}, "line 8: found nothing in token_column=1, expected a token"),
        ("\tdog", "\tdog", {"tag_column": 10}, "line 4: found 10 columns .* expected at least 11 for tag_column=10"),
        ("\tdog", "\tdog", {"tag_column": 1}, "token_column=1 and tag_column=1 are the same one"),
    ],
)
def test_what_is_wrong_with_conllu_is_said_with_file_and_line(write, old, new, options, message):
    assert old in CONLLU
    fails(message, write(CONLLU.replace(old, new), "train.conllu"), **options)


def test_arguments_that_cannot_be_are_refused(write):
    path = write(COLUMNS)
    with pytest.raises(FileNotFoundError, match=r"Did you mean 'train\.txt'"):
        read_columns(path.with_name("trian.txt"))
    with pytest.raises(ValueError, match="is a folder"):
        read_columns(path.parent)
    with pytest.raises(ValueError, match="'utf-8' or 'latin-1'; received 'klingon'"):
        read_columns(path, encoding="klingon")
    for separator in ("", 3):
        with pytest.raises(ValueError, match=f"separator must be None .*; received {separator!r}"):
            read_columns(path, separator=separator)
    for column in ("0", 1.0, True, None):
        with pytest.raises(ValueError, match=f"tag_column must be a number, .*; received {column!r}"):
            read_columns(path, tag_column=column)


@pytest.mark.parametrize(
    ("tokens", "tags", "message"),
    [
        ([["a"]], [], "received 1 sentences and tags of 0"),
        ([["a"], ["b", "c"]], [["X"], ["X"]], "Sentence 2 needs .* received 2 tokens and 1 tags"),
        ([["a"], []], [["X"], []], "Sentence 2 needs at least one token .* received 0 tokens and 0 tags"),
        (["ab"], [["X", "X"]], "Sentence 1 must be a list of tokens"),
        ([["a", "b"]], ["XX"], "Sentence 1 must be a list of tokens"),
    ],
)
def test_a_split_needs_a_tag_for_each_token(tokens, tags, message):
    with pytest.raises(ValueError, match=message):
        TaggedSplit(tokens, tags)


# Every character but those that lay out a file: blanks, ends of lines, the mark that begins a file in utf-8.
cells = st.text(st.characters(exclude_categories=["Cs"], exclude_characters=" \t\r\n\ufeff"), min_size=1, max_size=6)
splits = st.lists(st.lists(st.tuples(cells, cells), min_size=1, max_size=5), min_size=1, max_size=5)


@given(splits, st.sampled_from([" ", "\t", "  "]), st.booleans())
@settings(max_examples=150, deadline=None)
def test_columns_that_were_written_are_read_back(tmp_path_factory, sentences, separator, zipped):
    split = TaggedSplit(*([[pair[i] for pair in sentence] for sentence in sentences] for i in (0, 1)))
    content = written(split, separator).encode()
    path = tmp_path_factory.getbasetemp() / "written.txt"
    path.write_bytes(gzip.compress(content, mtime=0) if zipped else content)
    assert read_columns(path) == read_columns(path, separator=separator) == split


@pytest.mark.parametrize(("sentences", "held_out"), [(2, 1), (9, 1), (10, 1), (39, 3), (40, 4)])
def test_without_a_dev_file_the_last_tenth_of_the_sentences_is_held_out(write, sentences, held_out):
    whole = numbered(sentences)
    corpus = read_column_files("mine", train_file=write(written(whole)))
    assert corpus.train.tokens + corpus.dev.tokens == whole.tokens
    assert corpus.train.tags + corpus.dev.tags == whole.tags
    assert (len(corpus.dev), corpus.test) == (held_out, None)
    with pytest.raises(ValueError, match=r"one\.txt has one sentence, .* name a dev_file"):
        read_column_files(train_file=write("a X\nb X\n", "one.txt"))


def test_own_files_are_the_parts_they_were_given_for_with_the_same_options(write):
    names = {"train": "café\tx\tA\n\nb\tx\tB\n", "dev": "b\tx\tC\nb\tx\tC\n", "test": "c d\tx\tA\n"}
    parts = {part: write(text.encode("latin-1"), part) for part, text in names.items()}
    corpus = read_column_files(
        "mine",
        train_file=parts["train"],
        dev_file=str(parts["dev"]),
        test_file=parts["test"],
        token_column=0,
        tag_column=2,
        separator="\t",
        encoding="latin-1",
    )
    assert corpus == TaggingCorpus(
        "mine",
        TaggedSplit([["café"], ["b"]], [["A"], ["B"]]),
        TaggedSplit([["b", "b"]], [["C", "C"]]),
        TaggedSplit([["c d"]], [["A"]]),
    )
    assert corpus.tag_names == ("A", "B")
    assert str(corpus) == "mine: 2 train (2 tokens), 1 dev (2 tokens), 1 test (1 tokens) sentences; 2 tags: A, B"


def test_only_the_first_eight_of_many_tags_are_shown():
    names = [f"T{i}" for i in range(9)]
    corpus = TaggingCorpus("mine", TaggedSplit([names], [names[::-1]]), None, None)
    assert str(corpus) == "mine: 1 train (9 tokens) sentences; 9 tags: T0, T1, T2, T3, T4, T5, T6, T7, ..."


@pytest.mark.parametrize(
    ("min_tag_count", "train", "dev", "test"),
    [
        (1, "AAABBC", "ABCR", "RR"),
        (2, "AAABBR", "ABRR", "RR"),
        (3, "AAARRR", "ARRR", "RR"),
    ],
)
def test_rare_tags_and_unseen_ones_become_one(min_tag_count, train, dev, test):
    def split(tags):
        return TaggedSplit([list(map(str, range(len(tags))))], [["RARE" if tag == "R" else tag for tag in tags]])

    corpus = TaggingCorpus("mine", split("AAABBC"), split("ABCD"), split("DE"))
    before = repr(corpus)
    merged = merge_rare_tags(corpus, min_tag_count)
    assert merged == TaggingCorpus("mine", split(train), split(dev), split(test))
    assert merge_rare_tags(merged, min_tag_count) == merged
    assert repr(corpus) == before
    assert merge_rare_tags(TaggingCorpus("mine", corpus.train, None, None), min_tag_count).dev is None
    # What a perfect guesser of the gold tags gets is all but the rare ones.
    gold = [tag for tags in merged.dev.tags for tag in tags]
    assert [is_right(tag, tag) for tag in gold] == [tag != "R" for tag in dev]


def test_rare_is_never_right_and_other_tags_are_right_if_they_are_the_same():
    assert [is_right(gold, predicted) for gold in ("A", "RARE") for predicted in ("A", "B", "RARE")] == [
        *(True, False, False),
        *(False, False, False),
    ]


def test_counts_that_leave_nothing_to_learn_are_refused():
    corpus = TaggingCorpus("mine", numbered(5), None, None)
    with pytest.raises(
        ValueError, match="min_tag_count=4 leaves no tag; the most frequent is A with 3 tokens in train"
    ):
        merge_rare_tags(corpus, 4)
    merged = TaggingCorpus("mine", TaggedSplit([["a"] * 4], [["RARE", "RARE", "RARE", "A"]]), None, None)
    with pytest.raises(ValueError, match="min_tag_count=2 leaves no tag"):
        merge_rare_tags(merged, 2)
    for count in (0, 1.5, True):
        with pytest.raises(ValueError, match="min_tag_count must be an integer of at least 1"):
            merge_rare_tags(corpus, count)
