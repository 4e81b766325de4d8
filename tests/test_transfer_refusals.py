"""Training that goes on from a trained model: what is refused, texts that the model has seen among it."""

import dataclasses
import functools

import numpy as np
import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo.bundles import text_hashes
from dense_lstm_zoo.classification.corpus import Corpus
from dense_lstm_zoo.classification.split import Split
from dense_lstm_zoo.search import trial
from dense_lstm_zoo.search.plan import plan
from dense_lstm_zoo.training import loop, prepare, request
from tests import bundle_harness
from tests.transfer_harness import (
    MODELS,
    TESTS,
    classification,
    make_sources,
    origin_of,
    prepared,
)


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    return make_sources(tmp_path_factory.mktemp("sources"))


@pytest.mark.parametrize(
    ("task", "options", "message"),
    [
        ("classification", {"units": 5}, r"encoder of another width or kind: units=4; received units=5"),
        ("classification", {"embedding_dim": 9}, r"another width or kind: embedding_dim=7; received embedding_dim=9"),
        ("tagging", {"num_layers": 3, "skip": "outputs"}, r"num_layers=4, skip='gated_outputs'; received num_layers=3"),
        ("language_model", {"max_words": 5}, r"at least the source's 16 words, which all go on; received 5"),
        ("classification", {"unfreeze_after": 1}, r"unfreeze_after=1 needs freeze"),
        ("classification", {"freeze": "encoder", "unfreeze_after": 2}, r"below epochs=2, .*; received 2"),
        ("classification", {"freeze": "encodr"}, r"value of freeze: 'encodr'\. Did you mean 'encoder'"),
        ("classification", {"force_overlap": "yes"}, r"force_overlap must be True or False; received 'yes'"),
    ],
)
def test_options_that_contradict_the_source_or_each_other_are_refused(task, options, message, sources, tmp_path):
    with pytest.raises(ValueError, match=message):
        prepared(task, sources[task], tmp_path, **options)
    assert not list(tmp_path.iterdir())


def test_a_recipe_for_another_encoder_is_refused(sources, tmp_path):
    options = {"init_from": sources["classification"]}
    checked_plan = request.check("bilstm", tmp_path / "run", options, recipe="ding2018")
    with pytest.raises(ValueError, match=r"another width or kind: .*units=4.*received .*units=300"):
        prepare.prepare(checked_plan, classification(), progress=False)


@pytest.mark.parametrize("option", [{"freeze": "encoder"}, {"force_overlap": True}])
def test_options_of_transfer_without_a_source_are_refused(option, tmp_path):
    with pytest.raises(ValueError, match=r" needs init_from"):
        prepared("classification", None, tmp_path, **option)


def test_a_source_of_another_model_and_a_folder_that_is_none_are_refused(sources, tmp_path):
    with pytest.raises(ValueError, match=r"is a gated_skip_tagger for tagging; received bilstm for classification"):
        prepared("classification", sources["tagging"], tmp_path)
    with pytest.raises(FileNotFoundError, match=r"nowhere is not a folder"):
        prepared("classification", tmp_path / "nowhere", tmp_path)


def test_vectors_of_another_length_are_refused(sources, tmp_path):
    (tmp_path / "v.txt").write_text("splendid 1 2 3\n")
    with (
        pytest.warns(UserWarning, match="another kind"),
        pytest.raises(ValueError, match=r"vectors of 3 numbers; the source is an encoder of another width, 7"),
    ):
        prepared("classification", sources["classification"], tmp_path, vectors=tmp_path / "v.txt")


# Texts that the source has seen.


def with_texts(source, folder, texts):
    """A copy of a source that was trained on these texts."""
    bundle = zoo.load(source)
    bundle.train_texts = text_hashes.hash_texts(texts)
    return bundle.save(folder / "seen")


@pytest.mark.parametrize("task", MODELS)
def test_test_texts_that_the_source_has_seen_are_refused_unless_forced(task, sources, tmp_path):
    overlapping = with_texts(
        sources[task], tmp_path, [TESTS[1].upper().replace(" !", "!").split()]
    )  # spacing is no matter
    count = r"1 of 1 of at least 4 words \(100\.0%\), such as 'it was bad and dull !'"
    message = rf"seen was trained on test texts of mine: {count}.*force_over"
    with pytest.raises(ValueError, match=message):
        prepared(task, overlapping, tmp_path)
    assert origin_of(prepared(task, overlapping, tmp_path, force_overlap=True))["overlap"] == {"test": 1}
    assert "overlap" not in origin_of(prepared(task, sources[task], tmp_path, force_overlap=True))


def test_seen_dev_texts_are_refused_and_a_handful_or_short_ones_are_not(sources, tmp_path):
    overlapping = with_texts(sources["classification"], tmp_path, [text.split() for text in ("a b c d", "good film")])
    many = [f"another text number {i}" for i in range(200)]

    def corpus(part, *extra_texts):
        split = Split([*many, *extra_texts], [0] * (200 + len(extra_texts)))
        return dataclasses.replace(classification(), **{part: split})

    with pytest.raises(ValueError, match=r"trained on dev texts of mine: 3 of 203 of at least 4 words \(1\.5%\)"):
        prepared("classification", overlapping, tmp_path, corpus("dev", *["a b c d"] * 3))
    prepared("classification", overlapping, tmp_path, corpus("test", "a b c d", *["good film"] * 20))


def test_a_source_that_does_not_say_what_it_was_trained_on_gives_a_warning(sources, tmp_path):
    bundle = zoo.load(sources["classification"])
    bundle.train_texts = None
    bundle.save(tmp_path / "old")
    assert text_hashes.FILE not in {file.name for file in (tmp_path / "old").iterdir()}
    with pytest.warns(UserWarning, match=r"old does not record the texts it was trained on"):
        prepared("classification", tmp_path / "old", tmp_path)


@pytest.mark.parametrize(
    "content",
    [np.array([2, 1], "<u8"), np.array([1, 2], "<f8"), np.array([[1, 2]], "<u8"), np.array([{}], object)],
    ids=["not sorted", "not hashes", "not a row", "pickled"],
)
def test_hashes_from_a_stranger_are_checked(content, sources, tmp_path):
    folder = bundle_harness.sealed_copy(sources["classification"], tmp_path / "copy")
    np.save(folder / text_hashes.FILE, content, allow_pickle=True)
    bundle_harness.refused(folder, r"train_texts\.npy is damaged")


def test_hashes_that_claim_more_than_their_file_are_refused_before_memory_is_taken(sources, tmp_path):
    folder = bundle_harness.sealed_copy(sources["classification"], tmp_path / "copy")
    with (folder / text_hashes.FILE).open("wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "<u8", "fortran_order": False, "shape": (1 << 50,)})
    bundle_harness.refused(folder, r"train_texts\.npy is damaged: it claims uint64")


def test_a_sweeps_trial_checks_the_test_texts_that_are_scored_after_it(sources, tmp_path, monkeypatch):
    overlapping = with_texts(sources["classification"], tmp_path, [TESTS[1].split()])
    spec = {"model": "bilstm", "arguments": {"init_from": str(overlapping)}, "pause_after": None}
    monkeypatch.setattr(trial, "read_spec", lambda folder: spec)
    monkeypatch.setattr(trial, "training_runs", lambda spec: [("seed1", None, classification(), 1)])
    with pytest.raises(ValueError, match="trained on test texts of mine"):
        trial.run(tmp_path / "trial")


def test_a_sweep_goes_on_from_a_source_and_cannot_search_what_that_decides(sources, monkeypatch):
    folder = sources["classification"]
    monkeypatch.chdir(folder.parent)
    options = {"init_from": folder.name, "freeze": "encoder"}
    sweep = plan("bilstm", "demo", tuner="grid", space={"dropout": [0.1, 0.5]}, **options)
    assert sweep.arguments["init_from"] == str(folder.resolve())
    assert sweep.arguments["freeze"] == "encoder"
    with pytest.raises(ValueError, match=r"init_from decides units: a sweep cannot search them\. It can search: .*l2,"):
        plan("bilstm", "demo", tuner="grid", space={"dropout": [0.1], "units": [4, 8]}, **options)


def test_each_fold_is_checked_for_itself(sources, tmp_path, monkeypatch):
    texts = [f"{a} {b} {c} film" for a in ("good", "bad") for b in ("very", "short", "long") for c in ("the", "it")]
    corpus = Corpus("mine", ("no", "yes"), Split(texts, [0, 1] * 6), None, None)
    fold = [set(corpus.fold(i, 2).test.texts) for i in (1, 2)]
    overlapping = with_texts(sources["classification"], tmp_path, [text.split() for text in fold[1]])
    trained_folds = []
    monkeypatch.setattr(loop, "_fit", lambda run, *_: trained_folds.append(set(run.job.corpus.test.texts)) or exit())
    options = {"folds": 2, "init_from": overlapping, "progress": False}
    with pytest.raises(ValueError, match="trained on test texts of mine: 6 of 6"):
        zoo.run_protocol("bilstm", corpus, tmp_path / "folds", only_folds=[2], **options)
    assert not trained_folds
    with pytest.raises(ValueError, match="trained on dev texts of mine"):  # drawn from the rest
        zoo.run_protocol("bilstm", corpus, tmp_path / "others", only_folds=[1], **options)


@pytest.mark.slow
def test_sst_shares_its_sentences_with_mr_and_subj_and_not_with_trec_and_cr(data_folder):
    from dense_lstm_zoo.classification.job import ClassificationJob
    from dense_lstm_zoo.training.overlap import check_overlap

    sst = zoo.load_corpus("sst2")
    hashes = text_hashes.hash_texts(ClassificationJob.token_rows(sst.train))
    check = functools.partial(check_overlap, hashes, "sst", ClassificationJob)
    assert check(zoo.load_corpus("trec")) == {}
    assert check(zoo.load_corpus("cr").fold(1)) == {}
    for name in ("mr", "subj"):
        with pytest.raises(ValueError, match=f"sst was trained on test texts of {name}: "):
            check(zoo.load_corpus(name).fold(1))
