"""Corpora for taggers: columns and CoNLL-U, the published corpora, a user's own files, rare tags."""

import copy
from collections import Counter

import pytest

from dense_lstm_zoo.corpora.loader import load_corpus
from dense_lstm_zoo.tagging import corpora as tagging_files
from dense_lstm_zoo.tagging.corpora import read_column_files, read_columns, read_conll2000, read_ud_ewt
from dense_lstm_zoo.tagging.corpus import TaggedSplit, TaggingCorpus, is_right, merge_rare_tags
from tests.tagged_files import CHUNKS, COLUMNS, CONLLU, DOGS, PENN, UNIVERSAL, WORDS, write_split


def numbered(sentences):
    """Sentences of one token each, which is its number, with tags in turn."""
    return TaggedSplit([[str(i)] for i in range(sentences)], [["AB"[i % 2]] for i in range(sentences)])


@pytest.mark.slow
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


@pytest.mark.slow
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
    monkeypatch.setattr(tagging_files, "_CONLL2000_SIZES", ((2, 4), (1_000, 4)))
    monkeypatch.setattr(tagging_files, "_UD_EWT_SIZES", ((2, 8), (2, 8), (2, 9)))
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
    monkeypatch.setattr(tagging_files, "_CONLL2000_SIZES", ((2, 4), (2, 4)))
    monkeypatch.setattr(tagging_files, "_UD_EWT_SIZES", ((2, 8), (2, 8), (2, 8)))
    columns, conllu = write(COLUMNS), write(CONLLU, "train.conllu")
    chunks = read_conll2000("conll2000", [columns, columns])
    assert (chunks.train, chunks.dev) == (TaggedSplit(DOGS[:1], CHUNKS[:1]), TaggedSplit(DOGS[1:], CHUNKS[1:]))
    assert chunks.test == TaggedSplit(DOGS, CHUNKS)
    for column, tags in (("upos", UNIVERSAL), ("xpos", PENN)):
        words = read_ud_ewt("ewt", [conllu] * 3, column=column)
        assert words.train == words.dev == words.test == TaggedSplit(WORDS, tags)


def test_arguments_that_cannot_be_are_refused(write):
    path = write(COLUMNS)
    with pytest.raises(FileNotFoundError, match=r"Did you mean 'train\.txt'"):
        read_columns(path.with_name("trian.txt"))
    with pytest.raises(ValueError, match="is a folder"):
        read_columns(path.parent)
    with pytest.raises(ValueError, match="'utf-8' or 'cp1252'; received 'klingon'"):
        read_columns(path, encoding="klingon")
    for separator in ("", 3):
        with pytest.raises(ValueError, match=f"separator must be None .*; received {separator!r}"):
            read_columns(path, separator=separator)
    for column in ("0", 1.0, True, None):
        with pytest.raises(ValueError, match=f"tag_column must be an integer: .*; received {column!r}"):
            read_columns(path, tag_column=column)


@pytest.mark.parametrize(
    ("tokens", "tags", "message"),
    [
        ([["a"]], [], "received 1 sentences and tags for 0"),
        ([["a"], ["b", "c"]], [["X"], ["X"]], "Sentence 2 needs .* received 2 tokens and 1 tags"),
        ([["a"], []], [["X"], []], "Sentence 2 needs at least one token .* received 0 tokens and 0 tags"),
        (["ab"], [["X", "X"]], "Sentence 1 must be a list of tokens"),
        ([["a", "b"]], ["XX"], "Sentence 1 must be a list of tokens"),
    ],
)
def test_a_split_needs_a_tag_for_each_token(tokens, tags, message):
    with pytest.raises(ValueError, match=message):
        TaggedSplit(tokens, tags)


def test_tokens_and_tags_are_strings():
    for tokens, tags in (([["a"]], [[1]]), ([[1]], [["X"]])):
        with pytest.raises(TypeError, match="Sentence 1: tokens and tags must be strings; received 1"):
            TaggedSplit(tokens, tags)


# Every character but those that lay out a file: blanks, ends of lines, the mark that begins a file in utf-8.


@pytest.mark.parametrize(("sentences", "held_out"), [(2, 1), (9, 1), (10, 1), (39, 3), (40, 4)])
def test_without_a_dev_file_the_last_tenth_of_the_sentences_is_held_out(write, sentences, held_out):
    corpus_text = numbered(sentences)
    corpus = read_column_files("mine", train_file=write(write_split(corpus_text)))
    assert corpus.train.tokens + corpus.dev.tokens == corpus_text.tokens
    assert corpus.train.tags + corpus.dev.tags == corpus_text.tags
    assert (len(corpus.dev), corpus.test) == (held_out, None)
    with pytest.raises(ValueError, match=r"one\.txt has only one sentence, .* give a dev_file \(--dev-file\)"):
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
    assert corpus.columns == {"token_column": 0, "tag_column": 2, "separator": "\t"}
    assert corpus.tag_names == ("A", "B")
    assert str(corpus) == "mine: 2 train (2 tokens), 1 dev (2 tokens), 1 test (1 tokens) sentences; 2 tags: A, B"


def test_only_the_first_eight_of_many_tags_are_shown():
    names = [f"T{i}" for i in range(9)]
    corpus = TaggingCorpus("mine", TaggedSplit([names], [names[::-1]]), None, None)
    assert str(corpus) == "mine: 1 train (9 tokens) sentences; 9 tags: T0, T1, T2, T3, T4, T5, T6, T7, ..."


@pytest.mark.parametrize(("min_tag_count", "train"), [(1, "AAABBC"), (2, "AAABBR"), (3, "AAARRR")])
def test_rare_tags_of_training_become_one(min_tag_count, train):
    def split(tags):
        return TaggedSplit([list(map(str, range(len(tags))))], [["RARE" if tag == "R" else tag for tag in tags]])

    corpus = TaggingCorpus("mine", split("AAABBC"), split("ABCD"), split("DE"))
    before = copy.deepcopy(corpus)
    merged = merge_rare_tags(corpus, min_tag_count)
    assert merged == TaggingCorpus("mine", split(train), corpus.dev, corpus.test)
    assert merge_rare_tags(merged, min_tag_count) == merged
    assert corpus == before
    assert merge_rare_tags(TaggingCorpus("mine", corpus.train, None, None), min_tag_count).dev is None


def test_rare_is_never_right_and_other_tags_are_right_if_they_are_the_same():
    assert [is_right(gold, predicted) for gold in ("A", "RARE") for predicted in ("A", "B", "RARE")] == [
        *(True, False, False),
        *(False, False, False),
    ]


def test_counts_that_leave_nothing_to_learn_are_refused():
    corpus = TaggingCorpus("mine", numbered(5), None, None)
    with pytest.raises(
        ValueError, match="min_tag_count=4 leaves no tags; the most frequent is A with 3 tokens in train"
    ):
        merge_rare_tags(corpus, 4)
    merged = TaggingCorpus("mine", TaggedSplit([["a"] * 4], [["RARE", "RARE", "RARE", "A"]]), None, None)
    with pytest.raises(ValueError, match="min_tag_count=2 leaves no tag"):
        merge_rare_tags(merged, 2)
    for count in (0, 1.5, True):
        with pytest.raises(ValueError, match="min_tag_count must be an integer of at least 1"):
            merge_rare_tags(corpus, count)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("The,DT\ndog,NN\n", 'If "," separates them, use separator=","'),
        ("The DT\rdog NN\r\rGo VB\r", r"has carriage returns alone at the ends of its lines.*tr "),
        ("The DT\ndog NN\nGo VB\n", "has only one sentence.*Blank lines separate sentences"),
    ],
)
def test_files_in_another_form_are_refused_with_what_makes_them_columns(tmp_path, content, message):
    (tmp_path / "a.conll").write_bytes(content.encode())
    with pytest.raises(ValueError, match=message):
        load_corpus(tmp_path / "a.conll", task="tagging")


def test_column_names_in_a_file_of_columns_are_warned_of(tmp_path):
    path = tmp_path / "a.conll"
    path.write_text("Word POS\nDogs X\nbark Y\n\nGo Y\n")
    with pytest.warns(UserWarning, match=r"line 1 looks like column names: 2 columns \(Word, POS\)\. Remove it"):
        assert read_columns(path).tokens[0] == ["Word", "Dogs", "bark"]
    path.write_text("Word NOUN\nDogs X\n\nGo Y\n")
    assert read_columns(path).tags[0] == ["NOUN", "X"]
