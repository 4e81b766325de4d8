"""Soft labels of tokens: probabilities in memory and in files, the loss of a student tagger, and its runs."""

import json

import numpy as np
import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo import tasks
from dense_lstm_zoo.data import soft_sentences
from dense_lstm_zoo.tagging.corpora import read_column_files
from dense_lstm_zoo.tagging.corpus import TaggedSplit, TaggingCorpus, merge_rare_tags
from dense_lstm_zoo.tagging.job import TaggingJob

TOKENS = [["Dogs", "bark"], ["Go"], ["a", "b", "c"]]
NAMES = ["VERB", "NOUN", "DET"]  # not sorted
MATRICES = [[[0.2, 0.7, 0.1], [0.6, 0.4, 0]], None, [[0.1, 0.2, 0.7], [0.5, 0.25, 0.25], [0, 1, 0]]]
OWN = [None, ["VERB"], ["DET", "VERB", "VERB"]]


def soft(**changes):
    return TaggedSplit(TOKENS, **{"tags": OWN, "probabilities": MATRICES, "tag_names": NAMES, **changes})


def written(folder, lines, columns="Dogs _\nbark _\n\nGo VERB\n"):
    (folder / "soft.conll").write_text(columns)
    (folder / "soft.probabilities.jsonl").write_text("".join(f"{line}\n" for line in lines))
    return folder / "soft.conll"


def line(*items, **more):
    return json.dumps({"probabilities": list(items) or None, **more})


GOOD = [line({"NOUN": 0.75, "VERB": 0.25}, {"VERB": 1}, teacher="mine"), line()]


def test_matrices_stand_for_tags_where_a_sentence_has_none():
    split = soft(teachers=("an oracle",))
    assert split.tags == [["NOUN", "VERB"], ["VERB"], ["DET", "VERB", "VERB"]]
    assert split.is_labelled.tolist() == [False, True, True]
    assert split.probabilities[1].tolist() == [[1, 0, 0]]
    assert [each.dtype for each in split.probabilities] == [np.float32] * 3
    part = split.select([2, 0])
    assert part.is_labelled.tolist() == [True, False]
    np.testing.assert_allclose(part.probabilities[1], MATRICES[0], rtol=1e-6)
    assert part.teachers == ("an oracle",)
    assert TaggingCorpus("mine", split.select([0]), None, None).tag_names == ("DET", "NOUN", "VERB")  # DET is unlikely
    first = TaggingCorpus("mine", split, None, None).first_texts({"train": 1}).train
    assert first.is_soft
    assert len(first) == 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tag_names": ["A"]}, "probabilities need tag_names, at least two different tags"),
        ({"tag_names": NAMES[:2]}, r"Sentence 1 has 2 tokens, and there are 2 tags; .* of shape \(2, 3\)"),
        ({"tags": [None, ["VERBS"], None]}, "sentence 2: 'VERBS'. Did you mean 'VERB'"),
        ({"tags": None}, "Sentence 2 has neither a tag nor probabilities"),
        ({"probabilities": MATRICES[:2]}, "received 3 sentences, 2 matrices"),
        ({"probabilities": [*MATRICES[:2], MATRICES[2][:2]]}, r"Sentence 3 has 3 tokens, .* of shape \(2, 3\)"),
        ({"probabilities": [*MATRICES[:2], [[1, 0, 0], [0.5, 0.4, 0], [0, 1, 0]]]}, "Sentence 3, token 2: .* must"),
        ({"probabilities": [[[-1, 1, 1], [1, 0, 0]], *MATRICES[1:]]}, "Sentence 1, token 1: .* must not be negative"),
        ({"probabilities": [[[1, 0, np.nan], [1, 0, 0]], *MATRICES[1:]]}, "token 1: .* must be finite"),
        ({"tags": [None, ["VERB"], ["DET", "VERB"]]}, "received 3 tokens and 2 tags"),
    ],
)  # fmt: skip
def test_wrong_matrices_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        soft(**changes)
    with pytest.raises(TypeError, match="Sentence 1: probabilities must be numbers"):
        soft(probabilities=[["many", "few"], *MATRICES[1:]])


def test_probabilities_of_rare_tags_are_added_up():
    train = soft(tags=[None, ["VERB"], None])
    merged = merge_rare_tags(TaggingCorpus("mine", train, None, None), min_tag_count=2).train
    assert merged.tag_names == ("NOUN", "RARE", "VERB")
    np.testing.assert_allclose(merged.probabilities[0], [[0.7, 0.1, 0.2], [0.4, 0, 0.6]], rtol=1e-6)
    assert merged.tags == [["NOUN", "VERB"], ["VERB"], ["RARE", "VERB", "NOUN"]]
    assert merged.is_labelled.tolist() == [False, True, False]
    unlikely = merge_rare_tags(TaggingCorpus("mine", train.select([0]), None, None), min_tag_count=1)
    assert unlikely.tag_names == ("DET", "NOUN", "VERB")


def test_dev_is_held_out_of_sentences_with_tags_of_their_own():
    corpus = TaggingCorpus("mine", soft(), None, None)
    for seed in range(4):
        dev = corpus.with_dev(0.5, seed).dev
        assert dev.tokens in ([TOKENS[1]], [TOKENS[2]])
        assert not dev.is_soft
        assert dev.labelled.all()
    taught = TaggingCorpus("mine", soft(tags=None, probabilities=[MATRICES[0], [[1, 0, 0]], MATRICES[2]]), None, None)
    assert not taught.with_dev(0.5).dev.labelled.any()


def test_dev_and_test_with_tags_of_their_own_are_scored_by_these_alone():
    train = TaggedSplit([["a", "b"], ["c"]], [["NOUN", "VERB"], ["ADV"]])
    own = soft(tags=[["NOUN"] * len(tokens) for tokens in TOKENS])
    assert own.is_soft
    job = TaggingJob(TaggingCorpus("mine", train, own, own), tasks.find("tagging").resolve({"vectors": None}, seed=1))
    for part in (job.corpus.dev, job.corpus.test):
        assert not part.is_soft
        assert part.tags == own.tags


def test_a_tag_named_as_rare_tags_are_is_refused():
    train = TaggedSplit([["a", "b"], ["c"]], [["NOUN", "RARE"], ["ADV"]])
    with pytest.raises(ValueError, match="mine has a tag 'RARE', which stands for rare tags"):
        TaggingJob(TaggingCorpus("mine", train, train, None), tasks.find("tagging").resolve({"vectors": None}, seed=1))


def test_a_file_in_columns_has_its_probabilities_beside_it(tmp_path):
    corpus = read_column_files("mine", train_file=written(tmp_path, GOOD), dev_file=written_dev(tmp_path))
    assert corpus.tag_names == ("NOUN", "VERB")
    assert corpus.train.tags == [["NOUN", "VERB"], ["VERB"]]
    assert corpus.train.is_labelled.tolist() == [False, True]
    assert corpus.train.teachers == ("mine",)
    assert [each.tolist() for each in corpus.train.probabilities] == [[[0.75, 0.25], [0, 1]], [[0, 1]]]
    alone = read_column_files("mine", train_file=tmp_path / "soft.conll")
    assert alone.dev is None
    assert alone.with_dev().dev.tokens == [["Go"]]  # the one with a tag of its own
    (tmp_path / "folder").mkdir()
    for name, target in (("soft.conll", "train.conll"), ("soft.probabilities.jsonl", "train.probabilities.jsonl")):
        (tmp_path / name).rename(tmp_path / "folder" / target)
    assert zoo.load_corpus(tmp_path / "folder").train.is_soft


def written_dev(folder):
    (folder / "dev.conll").write_text("Go VERB\n")
    return folder / "dev.conll"


def test_what_is_written_is_read_again(tmp_path):
    names, shares = ['say "so"', "ÄRT"], np.array([[0.25, 0.75], [1 - 1e-9, 1e-9]])
    path = written(tmp_path, [soft_sentences.to_line(shares, names, "mine"), line()], "a _\nb _\n\nc ÄRT\n")
    read = read_column_files("mine", train_file=path, dev_file=written_dev(tmp_path)).train
    assert read.tag_names == tuple(names)
    np.testing.assert_allclose(read.probabilities[0], shares, atol=1e-6)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (GOOD[:1], r"soft\.probabilities\.jsonl has 1 lines; .*soft\.conll has 2 sentences"),
        ([*GOOD, line()], r"has 3 lines; .* has 2 sentences"),
        ([line({"NOUN": 1, "VERB": 0}), line()], "line 1: probabilities of 1 tokens; the .* 2 tokens, 'Dogs bark'"),
        ([line({"NOUN": 0.5, "VERB": 0.4}, {"VERB": 1}), line()], r"line 1, token 1 \('Dogs'\): .* must add up to 1"),
        ([line({"NOUN": -0.5, "VERB": 1.5}, {"VERB": 1}), line()], r"token 1 \('Dogs'\): .* must not be negative"),
        ([line({"NOUN": "much", "VERB": 1}, {"VERB": 1}), line()], "the probability of 'NOUN' must be a number"),
        ([line({}, {"VERB": 1}), line()], r"token 1 \('Dogs'\) has no probabilities"),
        ([line(0.5, 0.5), line()], "must be a list with an object for each token"),
        ([line(), line()], "has probabilities of fewer than two tags"),
        ([line({"NOUN": 1}, {"VERBS": 1}), line()], r"soft\.conll, line 4: 'VERB'. Did you mean 'VERBS'"),
        (["{", line()], "line 1 is not valid JSON"),
    ],
)  # fmt: skip
def test_wrong_files_of_probabilities_are_refused_with_their_line(lines, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        read_column_files("mine", train_file=written(tmp_path, lines), dev_file=written_dev(tmp_path))


def test_a_sentence_needs_tags_or_probabilities(tmp_path):
    path = written(tmp_path, GOOD, "Dogs _\nbark _\n\nGo _\n")
    with pytest.raises(ValueError, match=r"soft\.conll, line 4: the sentence has neither tags nor"):
        read_column_files("mine", train_file=path)


def test_a_published_corpus_takes_its_training_sentences_from_a_file(tmp_path):
    path = written(tmp_path, [line({"NOUN": 0.5, "VERB": 0.5}, {"VERB": 1}), line()])
    corpus = zoo.load_corpus("demo", task="tagging")
    taught = zoo.load_corpus("demo", task="tagging", train_file=path)
    assert taught.dev == corpus.dev
    assert taught.train.is_soft
    (tmp_path / "hard.conll").write_text("Go VERB\n\n" * 20)
    whole = zoo.load_corpus("demo", task="tagging", train_file=tmp_path / "hard.conll")
    assert (len(whole.train), whole.dev) == (20, corpus.dev)  # nothing is held out beside dev
    other = written(tmp_path, [line({"NOUM": 0.5, "VERB": 0.5}, {"VERB": 1}), line()])
    with pytest.raises(ValueError, match=r"Unknown tag for demo: 'NOUM'. Did you mean 'NUM' or 'NOUN'"):
        zoo.load_corpus("demo", task="tagging", train_file=other)
