"""Teachers of taggers: their forms, their sentences, and a labelling that is interrupted."""

import json

import numpy as np
import pandas as pd
import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo.cli import main
from dense_lstm_zoo.tagging.corpora import read_columns
from dense_lstm_zoo.tagging.corpus import TaggedSplit, TaggingCorpus
from dense_lstm_zoo.teaching import token_teaching
from tests import bundle_harness

SENTENCES = [["the", "film", "was", "good"], ["it", "was", "bad", "!"], ["caf\u00e9"], ["so", "n't", "#short", ","]]
TAGS = ["NOUN", "VERB", "DET"]


def by_length(sentences):
    """A teacher that counts characters: long words are nouns."""
    rows = []
    for tokens in sentences:
        shares = np.array([min(len(token), 9) / 10 for token in tokens])
        rows.append(np.stack([shares, 1 - shares, 0 * shares], axis=1))
    return rows


def quiet(teacher, texts=SENTENCES, **options):
    return zoo.teach(teacher, texts, **{"progress": False, **options})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """An untrained tagger."""
    bundle = bundle_harness.with_random_weights(bundle_harness.bundle("bilstm_tagger"))
    return bundle.save(tmp_path_factory.mktemp("teacher") / "run")


@pytest.mark.parametrize("name", ["soft.conll", pytest.param("soft.conll.gz", marks=pytest.mark.slow)])
def test_the_files_of_a_teacher_are_read_as_they_were_written(name, folder, tmp_path):
    teacher = zoo.load(folder)
    result = zoo.teach(folder, SENTENCES, output=tmp_path / name, progress=False)
    split = read_columns(tmp_path / name)
    assert split.tokens == SENTENCES
    assert not split.labelled.any()
    assert set(split.tag_names) == set(teacher.labels)
    order = [teacher.labels.index(tag) for tag in split.tag_names]
    for own, expected in zip(split.probabilities, teacher.probabilities(SENTENCES), strict=True):
        np.testing.assert_allclose(own, expected[:, order], atol=1e-5)
    assert split.teachers == (result.teacher,)
    assert result.teacher.startswith("run, a bilstm_tagger trained on none (manifest ")
    beside = "soft.probabilities.jsonl.gz" if name.endswith(".gz") else "soft.probabilities.jsonl"
    assert sorted(path.name for path in tmp_path.iterdir()) == [name, beside]


def test_raw_text_is_split_as_the_teacher_splits_it(folder, tmp_path):
    texts = ["It wasn't good, was it?", "", "  ", "caf\u00e9 #1!"]
    (tmp_path / "raw.txt").write_text("\n".join(texts))
    result = zoo.teach(zoo.load(folder), tmp_path / "raw.txt", output=tmp_path / "soft.conll", progress=False)
    expected = [sentence.tokens for sentence in zoo.load(folder).predict([texts[0], texts[3]])]
    assert read_columns(tmp_path / "soft.conll").tokens == expected
    assert result.left_out == {"empty": 2}


@pytest.mark.parametrize("form", ["txt", "conll", "jsonl", "csv"])
def test_words_come_from_every_kind_of_file(form, tmp_path):
    contents = {
        "txt": "\n".join(map(" ".join, SENTENCES)),
        "conll": "\n\n".join("\n".join(f"{token} X" for token in tokens) for tokens in SENTENCES),
        "jsonl": "\n".join(json.dumps({"tokens": tokens}) for tokens in SENTENCES),
        "csv": pd.DataFrame({"text": [" ".join(tokens) for tokens in SENTENCES]}).to_csv(index=False),
    }
    (tmp_path / f"raw.{form}").write_text(contents[form])
    quiet(by_length, tmp_path / f"raw.{form}", output=tmp_path / "soft.conll", labels=TAGS)
    tokens = read_columns(tmp_path / "soft.conll").tokens
    assert tokens[:3] == SENTENCES[:3]
    assert len(tokens) == 4


def test_several_teachers_are_averaged_whatever_the_order_of_their_tags(tmp_path):
    rows = [{"DET": 0.25, "VERB": 0.75}] * 4
    (tmp_path / "other.jsonl").write_text(json.dumps({"tokens": SENTENCES[0], "probabilities": rows}) + "\n")
    result = quiet([by_length, tmp_path / "other.jsonl"], output=tmp_path / "soft.conll", labels=["DET", *TAGS[:2]])
    split = read_columns(tmp_path / "soft.conll")
    order = [["DET", *TAGS[:2]].index(tag) for tag in split.tag_names]
    by_function = by_length(SENTENCES)
    expected = [(by_function[0] + np.array([0.25, 0, 0.75])) / 2, by_function[1]]  # DET, NOUN, VERB
    for own, each in zip(split.probabilities, expected, strict=False):
        np.testing.assert_allclose(own, each[:, order], atol=1e-6)
    assert result.teacher == "by_length and other.jsonl"


def answers(folder, kind):
    path = folder / f"answers.{'conll' if kind.startswith('columns') else 'jsonl'}"
    tags = [["DET", "NOUN", "VERB", "VERB"], ["DET", "VERB", "VERB", "NOUN"]]
    pairs = list(zip(SENTENCES[:2], tags, strict=True))
    if path.suffix == ".conll":
        columns = ["\n".join(f"{token} {tag}" for token, tag in zip(*pair, strict=True)) for pair in pairs]
        path.write_text("\n\n".join(columns))
    else:
        more = {"probabilities": [0.5] * 4} if kind == "predictions" else {}
        path.write_text("".join(json.dumps({"tokens": tokens, "tags": own, **more}) + "\n" for tokens, own in pairs))
    return path


@pytest.mark.parametrize("kind", ["columns", "tags", "predictions"])
def test_files_of_other_models_are_teachers(kind, tmp_path):
    result = quiet(answers(tmp_path, kind), output=tmp_path / "soft.conll")
    assert (result.texts, result.left_out) == (2, {"without an answer": 2})
    split = read_columns(tmp_path / "soft.conll")
    assert split.tags == [["DET", "NOUN", "VERB", "VERB"], ["DET", "VERB", "VERB", "NOUN"]]
    assert set(split.probabilities[0].ravel().tolist()) == {0, 1}
    again = quiet(answers(tmp_path, kind), None, output=tmp_path / "again.conll")  # the file's own sentences
    assert again.texts == 2


def test_training_sentences_keep_their_tags_and_scored_ones_are_left_out(tmp_path):
    train, scored = TaggedSplit([["a", "cat"]], [["DET", "NOUN"]]), TaggedSplit([["It", "was", "BAD"]], [TAGS])
    corpus = TaggingCorpus("mine", TaggedSplit([["go", "a", "cat"]], [["VERB", *train.tags[0]]]), scored, train)
    texts = [*SENTENCES, SENTENCES[0], "A cat!", ["white space"], ["-DOCSTART-"], ["###MEDLINE:", "95"]]
    texts += [["\ufeffa", "b"], ["a\ufeff"]]
    result = quiet(by_length, texts, output=tmp_path / "soft.conll", dataset=corpus, train_texts=True)
    of_columns = {
        "with white space in a token": 1,
        "with a byte order mark in a token": 2,
        "with a mark between documents, such as -DOCSTART-": 2,
    }
    assert result.left_out == {"in dev": 1, "repeated": 1, "in test": 1, **of_columns}
    assert result.labelled == 1
    taught = corpus.with_train(zoo.load_corpus(tmp_path / "soft.conll"))
    assert taught.train.tokens[0] == ["go", "a", "cat"]
    assert taught.train.tags[0] == ["VERB", "DET", "NOUN"]
    assert taught.train.labelled.tolist() == [True, False, False, False]
    assert taught.tag_names == corpus.tag_names
    own = quiet(by_length, None, output=tmp_path / "own.conll", dataset=corpus)
    assert (own.texts, own.labelled) == (1, 1)


def test_a_tag_of_the_training_sentences_that_columns_cannot_hold_is_refused_before_any_work(tmp_path):
    train = TaggedSplit([["go", "a", "cat"]], [["full verb", "DET", "NOUN"]])
    corpus = TaggingCorpus("mine", train, train, None)
    with pytest.raises(ValueError, match="A file in columns cannot hold the tag 'full verb'; rename it"):
        quiet(pytest.fail, None, output=tmp_path / "soft.conll", dataset=corpus, labels=["DET", "NOUN"])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"tags": [1, 2]}, "has no answer: expected"),
        ({"tags": [None, "X"]}, "has no answer: expected"),
        ({"tags": ["X", ["Y"]]}, "has no answer: expected"),
        ({"probabilities": {"X": 1, "Y": 0}}, "must be a list with an object for each token"),
        ({"probabilities": 0.5}, "must be a list with an object for each token"),
    ],
)
def test_answers_of_another_shape_are_refused_by_their_line(more, message, tmp_path):
    (tmp_path / "answers.jsonl").write_text(json.dumps({"tokens": ["a", "b"], **more}) + "\n")
    with pytest.raises(ValueError, match=rf"answers\.jsonl, line 1.*{message}"):
        quiet(tmp_path / "answers.jsonl", None, output=tmp_path / "soft.conll")


def test_tags_are_different_and_a_file_beside_that_is_anothers_is_named(tmp_path):
    for tags in (["A", "A", "B"], ["A", "A ", "B"], {"A", "B"}):
        with pytest.raises((ValueError, TypeError), match="labels must be"):
            quiet(by_length, output=tmp_path / "soft.conll", labels=tags)
    (tmp_path / "soft.probabilities.jsonl").write_text("mine")
    for overwrite in (False, True):
        with pytest.raises(FileExistsError, match=r"soft\.probabilities\.jsonl already exists, and .*soft\.conll, to"):
            quiet(by_length, output=tmp_path / "soft.conll", labels=TAGS, overwrite=overwrite)


def test_a_labelling_whose_teacher_died_goes_on_where_it_was(tmp_path, capsys):
    sentences = [[f"word{j}" for j in range(1 + i % 3)] + [str(i)] for i in range(11)]
    questions, is_ill = [], True

    def dying(batch):
        if len(questions) >= 4 and is_ill:
            raise ConnectionError("the endpoint is gone")
        questions.extend(batch)
        return by_length(batch)

    options = {"labels": TAGS, "batch_size": 2}
    quiet(by_length, sentences, output=tmp_path / "whole.conll", **options)
    with pytest.raises(ConnectionError, match="the endpoint is gone"):
        quiet(dying, sentences, output=tmp_path / "soft.conll", **{**options, "progress": True})
    assert "stopped after 4 of 11 texts; the same call goes on from there" in capsys.readouterr().out
    unfinished = tmp_path / "soft.conll.unfinished" / "answers.f32"
    with unfinished.open("ab") as file:  # as a kill in the middle of a batch leaves it: one whole sentence, and more
        file.write(bytes(4 * 3 * (len(sentences[4]) + 1)))
    with pytest.raises(ValueError, match="other settings: the texts are others"):
        quiet(dying, sentences[:-1], output=tmp_path / "soft.conll", **options)
    is_ill = False
    quiet(dying, sentences, output=tmp_path / "soft.conll", **options)
    assert questions == sentences
    assert (tmp_path / "soft.conll").read_bytes() == (tmp_path / "whole.conll").read_bytes()
    own, whole = ((tmp_path / f"{name}.probabilities.jsonl").read_text() for name in ("soft", "whole"))
    assert own.replace("dying", "by_length") == whole
    assert len(list(tmp_path.iterdir())) == 4


def constant(answer):
    return lambda sentences: [answer] * len(sentences)


@pytest.mark.parametrize(
    ("teacher", "options", "error", "message"),
    [
        (by_length, {}, ValueError, "A function does not say what its tags are"),
        (by_length, {"labels": ["one"]}, ValueError, "labels must be at least two different strings"),
        (by_length, {"labels": "NOUN"}, ValueError, "labels must be at least two different strings"),
        (by_length, {"labels": ["_", "b", "c"]}, ValueError, "cannot hold the tag '_'"),
        (by_length, {"labels": TAGS, "augment": 2}, ValueError, "augment=2 is for texts with a label each"),
        (by_length, {"labels": TAGS, "label_column": "x"}, ValueError, "label_column='x' is for texts with labels"),
        (by_length, {"labels": TAGS, "texts": []}, ValueError, "The list of sentences holds no sentence to label"),
        (by_length, {"labels": TAGS, "texts": None}, ValueError, "Say what to label"),
        (by_length, {"labels": TAGS, "texts": ["a", 3]}, TypeError, "texts"),
        (
            by_length,
            {"labels": TAGS, "output": "soft.xlsx"},
            ValueError,
            "output's name says how it is written",
        ),
        (by_length, {"labels": TAGS, "output": "soft.conllu"}, ValueError, r"soft\.conllu cannot hold tags and prob"),
        (by_length, {"labels": TAGS[:2]}, ValueError, r"of shape \(4, 3\); the sentence has 4 words, .* 2 tags"),
        (constant([[1, 0, 0]]), {"labels": TAGS}, ValueError, r"of shape \(1, 3\); the sentence has 4 words"),
        (
            constant([[0.5, 0.6, 0]] * 4),
            {"labels": TAGS},
            ValueError,
            "word 0: the probabilities of a word must add up",
        ),
        (constant([[1.5, -0.5, 0]] * 4), {"labels": TAGS}, ValueError, "must not be negative"),
        (constant(["NOUN", "VERP", "DET", "DET"]), {"labels": TAGS}, ValueError, "'VERP'. Did you mean 'VERB'"),
        (constant(["NOUN"]), {"labels": TAGS}, ValueError, "1 tags for 4 words"),
        (constant("NOUN"), {"labels": TAGS}, TypeError, "expected for each sentence a matrix"),
        (constant(None), {"labels": TAGS}, ValueError, "has no answer to any of the 4 sentences"),
        (lambda sentences: [], {"labels": TAGS}, ValueError, "it returned 0 answers to 4 sentences"),
        (lambda sentences: "NOUN", {"labels": TAGS}, TypeError, "must return for each sentence"),
        ([], {"labels": TAGS}, ValueError, "The list of teachers is empty"),
        (3, {"labels": TAGS}, TypeError, "A teacher must be a trained model for tagging"),
    ],
)
def test_what_cannot_be_is_refused(teacher, options, error, message, tmp_path):
    options = {"texts": SENTENCES, **options}
    output = tmp_path / options.pop("output", "soft.conll")
    with pytest.raises(error, match=message):
        quiet(teacher, options.pop("texts"), output=output, **options)
    assert not list(tmp_path.glob("soft.c*l")) + list(tmp_path.glob("*.jsonl"))


def test_other_tags_are_refused_with_a_near_match(folder, tmp_path):
    corpus = TaggingCorpus("mine", TaggedSplit([["a"] * 4], [["T0", "T1", "T2", "T33"]]), None, None)
    with pytest.raises(ValueError, match=r"the student does not have it: 'T3'\. Did you mean 'T33'"):
        zoo.teach(folder, SENTENCES, output=tmp_path / "soft.conll", dataset=corpus)
    with pytest.raises(ValueError, match=r"answers\.jsonl, sentence 1: 'DET'"):
        quiet(answers(tmp_path, "tags"), output=tmp_path / "soft.conll", labels=["DETS", "NOUN", "VERB"])
    with pytest.raises(
        ValueError, match=r"gives each word a tag, which a file in columns holds; name one .* soft\.conll"
    ):
        zoo.teach(folder, ["a"], output=tmp_path / "soft.csv")
    classifier = bundle_harness.bundle("bilstm")
    with pytest.raises(ValueError, match="gives each text a label, and a file in columns has a tag for each word"):
        quiet([folder, classifier], output=tmp_path / "soft.conll")
    with pytest.raises(ValueError, match="A file in columns is for tagged sentences; demo has none"):
        zoo.teach(folder, SENTENCES, output=tmp_path / "soft.conll", dataset=zoo.load_corpus("demo"))


def test_no_file_is_replaced_unasked(tmp_path):
    (tmp_path / "soft.probabilities.jsonl").write_text("mine")
    with pytest.raises(FileExistsError, match=r"soft\.probabilities\.jsonl already exists"):
        quiet(by_length, labels=TAGS, output=tmp_path / "soft.conll")
    (tmp_path / "soft.conll").write_text("mine")
    read = {"output": tmp_path / "soft.conll", "labels": TAGS, "overwrite": True}
    for teacher, texts in (
        (tmp_path / "soft.conll", SENTENCES),
        ([by_length, tmp_path / "soft.txt"], SENTENCES),  # its probabilities are beside it
        (by_length, tmp_path / "soft.conll"),
        (by_length, tmp_path / "soft.probabilities.jsonl"),
    ):
        (tmp_path / "soft.txt").write_text("mine")
        with pytest.raises(ValueError, match="is one of the files that are read; name another one"):
            quiet(teacher, texts, **read)
        assert {path.read_text() for path in tmp_path.iterdir()} == {"mine"}
    result = quiet(by_length, **read)
    assert result.texts == len(read_columns(tmp_path / "soft.conll")) == 4
    (tmp_path / "empty.txt").write_text("\n  \n")
    with pytest.raises(ValueError, match=r"empty\.txt holds no sentence to label"):
        quiet(by_length, tmp_path / "empty.txt", labels=TAGS, output=tmp_path / "new.conll")


def test_the_command_labels_sentences(folder, tmp_path, capsys):
    (tmp_path / "raw.txt").write_text("\n".join(map(" ".join, SENTENCES)))
    soft = tmp_path / "soft.conll"
    assert main(["label", str(folder), str(folder), "--file", str(tmp_path / "raw.txt"), "-o", str(soft)]) == 0
    assert "soft.conll: 4 texts with probabilities of T0, T1" in capsys.readouterr().out
    assert read_columns(soft).is_soft
    assert main(["label", str(answers(tmp_path, "tags")), "-o", str(tmp_path / "a.conll")]) == 0
    assert main(["label", str(folder), "--file", str(soft), "-o", str(soft), "--overwrite"]) == 2
    assert "soft.conll is one of the files that are read; name another one" in capsys.readouterr().err
    assert main(["label", str(folder), "--file", str(soft), "-o", str(tmp_path / "x.csv")]) == 2
    assert "gives each word a tag, which a file in columns holds" in capsys.readouterr().err


def test_a_kill_between_the_two_files_is_made_good_by_the_same_call(tmp_path, monkeypatch):
    def label():
        return quiet(by_length, output=tmp_path / "soft.conll", labels=TAGS)

    write = token_teaching.new_output

    def only_probabilities(target):
        if target.path.suffix == ".conll":
            raise KeyboardInterrupt
        return write(target)

    with monkeypatch.context() as patch:
        patch.setattr(token_teaching, "new_output", only_probabilities)
        with pytest.raises(KeyboardInterrupt):
            label()
    assert {path.name for path in tmp_path.iterdir()} == {"soft.conll.unfinished", "soft.probabilities.jsonl"}
    assert label().texts == len(read_columns(tmp_path / "soft.conll"))
