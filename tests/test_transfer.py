"""Training that goes on from a trained model: what goes on, what is new, and what is refused."""

import dataclasses
import functools
import shutil
import signal
import subprocess
import sys

import keras
import numpy as np
import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo import files
from dense_lstm_zoo.classification.corpus import Corpus, Split
from dense_lstm_zoo.data import text_hashes
from dense_lstm_zoo.language.corpus import LanguageCorpus
from dense_lstm_zoo.registry import network
from dense_lstm_zoo.search import trial
from dense_lstm_zoo.search.plan import plan
from dense_lstm_zoo.tagging.corpus import TaggedSplit, TaggingCorpus
from dense_lstm_zoo.training import loop, request
from dense_lstm_zoo.training.freezing import Freeze
from tests import bundle_harness
from tests.training_harness import interrupt, train

MODELS = {"classification": "bilstm", "tagging": "gated_skip_tagger", "language_model": "dense_lstm_lm"}
ARGUMENTS = {"classification": {"kernel": "native"}, "tagging": {"crf": True}, "language_model": {}}
LABELS = bundle_harness.LABELS
# Known words, two words of which the source knows nothing: one occurs twice, the other once.
TEXTS = ["the film was good !", "it was very bad", "the film was short , splendid", "splendid but long , dull"] * 1
TESTS = ["the good film was very very long", "it was bad and dull !"]


def classification(labels=LABELS, texts=TEXTS, name="mine", tests=TESTS):
    def split(texts):
        return Split(list(texts), [i % len(labels) for i in range(len(texts))])

    return Corpus(name, tuple(labels), split([*texts, texts[0]]), split(tests[:1]), split(tests[1:]))


def tagging(labels=("T0", "T1", "T2", "T3"), texts=TEXTS, name="mine", tests=TESTS):
    def split(texts):
        tokens = [text.split() for text in texts]
        return TaggedSplit(tokens, [[labels[i % len(labels)] for i in range(len(row))] for row in tokens])

    return TaggingCorpus(name, split(texts), split(tests[:1]), split(tests[1:]))


def language_model(texts=TEXTS, name="mine", tests=TESTS):
    return LanguageCorpus(name, list(texts) * 9, list(tests[:1]), list(tests[1:]))


CORPORA = {"classification": classification, "tagging": tagging, "language_model": language_model}
OPTIONS = {"language_model": {"batch_size": 2, "num_steps": 4, "min_count": 10}}  # a word that occurs twice in TEXTS


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """A bundle of each task with weights large enough to show, and hashes of a text it was trained on."""
    found = {}
    for task, model in MODELS.items():
        bundle = bundle_harness.bundle(model, **ARGUMENTS[task])
        rng = np.random.default_rng(3)
        bundle.model.set_weights([rng.normal(scale=0.4, size=w.shape) for w in bundle.model.get_weights()])
        bundle.train_texts = text_hashes.hash_texts([["a", "text", "seen", "before"]])
        bundle.config["training"]["dataset"] = "reviews"
        found[task] = bundle.save(tmp_path_factory.mktemp("sources") / task)
    return found


def prepared(task, source, folder, corpus=None, **given):
    """A run that is ready to start."""
    given = {"epochs": 2, **OPTIONS.get(task, {}), "init_from": source, **given}
    corpus = CORPORA[task]() if corpus is None else corpus
    return loop._prepare(request.check(MODELS[task], folder / "run", given), corpus, progress=False)


def bundle_of(run):
    return run.job.bundle(run.model, run.config, None, None)


def origin_of(run):
    return run.config["training"]["init_from"]


def encoder(model):
    return [w for layer in network(model).layers if layer.name in ("encoder", "stack") for w in layer.get_weights()]


def words_of(run):
    return run.job.words.vocabulary.words if run.task.name != "language_model" else run.job.vocabulary.words


# What goes on.


def test_a_classifier_for_the_same_labels_begins_with_the_predictions_of_its_source(sources, tmp_path):
    source = zoo.load(sources["classification"])
    run = prepared("classification", sources["classification"], tmp_path, classification(LABELS[::-1]))
    texts = ["the film was very good", "bad , bad !", "it was short"]
    ours, theirs = bundle_of(run).predict(texts), source.predict(texts)
    assert [p.label for p in ours] == [p.label for p in theirs]
    for our, their in zip(ours, theirs, strict=True):
        assert our.probabilities == pytest.approx(their.probabilities)
    assert len({round(p.probability, 6) for p in theirs}) > 1
    assert origin_of(run)["head"] == "kept"


def test_a_crf_tagger_for_the_same_tags_begins_with_the_tags_of_its_source(sources, tmp_path):
    source = zoo.load(sources["tagging"])
    run = prepared("tagging", sources["tagging"], tmp_path, tagging(("T3", "T1", "T0", "T2")))
    assert run.job.corpus.tag_names == ("T0", "T1", "T2", "T3")
    texts = [["the", "film", "was", "very", "good", "!"], ["it", "bad"]]
    ours, theirs = bundle_of(run).predict(texts), source.predict(texts)
    assert [row.tags for row in ours] == [row.tags for row in theirs]


def test_tags_in_another_order_take_their_rows_of_the_crf_along(tmp_path):
    source = bundle_harness.bundle("gated_skip_tagger", crf=True)
    source.labels = ["T2", "T0", "T3", "T1"]
    source.model.crf.transitions.assign(np.arange(16.0).reshape(4, 4))
    source.model.crf.start.assign([20.0, 21.0, 22.0, 23.0])
    source.train_texts = text_hashes.hash_texts([])
    run = prepared("tagging", source.save(tmp_path / "source"), tmp_path)
    moved = run.model.crf.transitions.numpy()
    for i, before in enumerate(source.labels):
        for j, after in enumerate(source.labels):
            assert moved[int(before[1]), int(after[1])] == 4 * i + j
        assert run.model.crf.start.numpy()[int(before[1])] == 20 + i


def test_a_language_model_begins_with_the_scores_of_its_source_on_the_words_both_know(sources, tmp_path):
    source = zoo.load(sources["language_model"])
    frozen = prepared("language_model", sources["language_model"], tmp_path, freeze="encoder")
    assert frozen.job.vocabulary.words == source.vocabulary.words  # no word that would never be trained
    text = ["the film was good"]
    assert bundle_of(frozen).score(text)[0].log_probability == pytest.approx(source.score(text)[0].log_probability)
    run = prepared("language_model", sources["language_model"], tmp_path)
    known = len(source.vocabulary)
    assert run.job.vocabulary.words == (*source.vocabulary.words, "splendid")
    assert origin_of(run)["new_words"] == 1
    for name, axis in {"embedding": 0, "softmax": 1, "logits": 0}.items():
        ours, theirs = (network(m).get_layer(name).get_weights()[0] for m in (run.model, source.model))
        np.testing.assert_array_equal(np.take(ours, range(known), axis), theirs)
        new = np.take(ours, known, axis)
        assert np.abs(new - theirs.mean(axis=axis)).max() < 5 * 0.1 * theirs.std()


@pytest.mark.parametrize("task", ["classification", "tagging"])
def test_for_other_labels_the_encoder_goes_on_and_the_last_layer_is_new(task, sources, tmp_path):
    source = zoo.load(sources[task])
    run = prepared(task, sources[task], tmp_path, CORPORA[task](("a", "b")))
    for ours, theirs in zip(encoder(run.model), encoder(source.model), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert network(run.model).get_layer("logits").get_weights()[0].shape[1] == 2
    assert origin_of(run) == {
        "name": task,
        "model": MODELS[task],
        "dataset": "reviews",
        "sha256": files.sha256(sources[task] / "manifest.json"),
        "freeze": None,
        "unfreeze_after": None,
        "head": "new",
        "new_words": origin_of(run)["new_words"],
    }


@pytest.mark.parametrize("task", ["classification", "tagging"])
def test_words_go_on_and_those_of_the_new_texts_come_first_and_are_trained(task, sources, tmp_path):
    source = zoo.load(sources[task])
    run = prepared(task, sources[task], tmp_path)
    words, frozen = words_of(run), run.config["arguments"]["num_frozen_words"]
    of_texts = set(" ".join(TEXTS).split())
    assert set(words) == set(source.vocabulary.words) | {"splendid"}  # "dull" occurs once
    assert set(words[:-frozen]) <= of_texts
    assert not set(words[-frozen:]) & of_texts
    ours, theirs = (network(m).get_layer("embedding").get_matrix() for m in (run.model, source.model))
    np.testing.assert_allclose(ours[:2], theirs[:2], rtol=1e-6)
    for row, word in enumerate(words, start=2):
        if word != "splendid":
            np.testing.assert_allclose(ours[row], theirs[2 + source.vocabulary.words.index(word)], rtol=1e-6)
        else:
            assert np.abs(ours[row] - theirs.mean(axis=0)).max() < 5 * 0.1 * theirs.std()
    assert origin_of(run)["new_words"] == 1
    never = prepared(task, sources[task], tmp_path, freeze="embedding")
    assert set(words_of(never)) == set(source.vocabulary.words)
    later = prepared(task, sources[task], tmp_path, freeze="embedding", unfreeze_after=1)
    assert set(words_of(later)) == set(words)


def test_new_words_get_their_vectors_and_the_files_first_words_join_the_frozen_ones(sources, tmp_path):
    rows = {"splendid": 1.5, "dull": -2.0, "unrelated": 3.0}
    (tmp_path / "v.txt").write_text("".join(f"{word} {' '.join([str(x)] * 7)}\n" for word, x in rows.items()))
    options = {"vectors": tmp_path / "v.txt", "vector_words": 3, "freeze": "embedding"}
    with pytest.warns(UserWarning, match=r"trained with the vectors none, not v\.txt"):
        run = prepared("classification", sources["classification"], tmp_path, **options)
    matrix, words = run.model.get_layer("embedding").get_matrix(), words_of(run)
    for word, value in rows.items():
        assert matrix[2 + words.index(word)].tolist() == [value] * 7
    assert words[-1] == "unrelated"
    assert origin_of(run)["new_words"] == 2


def test_vectors_are_remembered_through_several_trainings(sources, tmp_path, recwarn):
    (tmp_path / "v.txt").write_text("splendid 1 2 3 4 5 6 7\n")
    first = zoo.load(sources["classification"])
    first.config["training"]["vectors"] = "v.txt"
    second = bundle_of(prepared("classification", first.save(tmp_path / "first"), tmp_path))
    second.history, second.train_texts = first.history, first.train_texts
    assert second.config["training"]["vectors"] is None
    run = prepared("classification", second.save(tmp_path / "second"), tmp_path, vectors=tmp_path / "v.txt")
    assert origin_of(run)["vectors"] == "v.txt"
    assert not [str(w.message) for w in recwarn if "another kind" in str(w.message)]


def test_a_static_copy_of_the_word_vectors_goes_on_with_its_words(tmp_path):
    source = bundle_harness.bundle("cnn_mc")
    source.train_texts = text_hashes.hash_texts([])
    static = np.random.default_rng(1).normal(size=(source.vocabulary.size, 7)).astype("float32")
    source.model.get_layer("static_embedding").set_matrix(static)
    given = {"epochs": 2, "init_from": source.save(tmp_path / "source")}
    run = loop._prepare(request.check("cnn_mc", tmp_path / "run", given), classification(), progress=False)
    ours, words = run.model.get_layer("static_embedding").get_matrix(), words_of(run)
    for word in source.vocabulary.words:
        np.testing.assert_array_equal(ours[2 + words.index(word)], static[2 + source.vocabulary.words.index(word)])
    splendid = 2 + words.index("splendid")
    np.testing.assert_array_equal(ours[splendid], run.model.get_layer("embedding").get_matrix()[splendid])


def test_characters_go_on_and_new_ones_are_appended(sources, tmp_path):
    source = zoo.load(sources["tagging"])
    texts = [*TEXTS, "zzz \u00e9\u00e9\u00e9"]
    run = prepared("tagging", sources["tagging"], tmp_path, tagging(texts=texts))
    chars = run.job.words.vocabulary.chars
    assert chars.startswith(bundle_harness.CHARS)
    assert set(chars) == set(bundle_harness.CHARS) | set("".join(texts)) - {" "}
    ours, theirs = (network(m).get_layer("affixes").get_weights()[0] for m in (run.model, source.model))
    np.testing.assert_array_equal(ours[: len(theirs)], theirs)
    assert len(ours) == len(chars) + 2
    never = prepared("tagging", sources["tagging"], tmp_path, tagging(texts=texts), freeze="encoder")
    assert never.job.words.vocabulary.chars == bundle_harness.CHARS


def test_a_crf_that_the_source_has_not_makes_the_last_layer_new(sources, tmp_path):
    run = prepared("tagging", sources["tagging"], tmp_path, crf=False)
    assert origin_of(run)["head"] == "new"


def test_a_language_models_softmax_samples_by_the_ranks_of_the_new_text(tmp_path):
    bundle = bundle_harness.bundle("dense_lstm_lm", sampled_softmax=4)
    bundle.train_texts = text_hashes.hash_texts([["a", "text", "seen", "before"]])
    source = bundle.save(tmp_path / "source")
    texts = [*TEXTS, " ".join(["splendid"] * 50)]
    run = prepared("language_model", source, tmp_path, language_model(texts))
    run.job.fit_data(run.model, run.config, tmp_path)
    words, order = words_of(run), run.model._window_step().sampler._order
    assert words[order[0]] == "splendid"
    assert words.index("splendid") > 10
    np.testing.assert_array_equal(np.sort(order), np.arange(len(words)))


# What is refused.


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
    given = {"init_from": sources["classification"]}
    asked = request.check("bilstm", tmp_path / "run", given, recipe="ding2018")
    with pytest.raises(ValueError, match=r"another width or kind: .*units=4.*received .*units=300"):
        loop._prepare(asked, classification(), progress=False)


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
    seen = with_texts(sources[task], tmp_path, [TESTS[1].upper().replace(" !", "!").split()])  # spacing is no matter
    message = r"seen was trained on test texts of mine: 1 of 1 \(100\.0%\), such as 'it was bad and dull !'.*force_over"
    with pytest.raises(ValueError, match=message):
        prepared(task, seen, tmp_path)
    assert origin_of(prepared(task, seen, tmp_path, force_overlap=True))["overlap"] == {"test": 1}
    assert "overlap" not in origin_of(prepared(task, sources[task], tmp_path, force_overlap=True))


def test_seen_dev_texts_are_refused_and_a_handful_or_short_ones_are_not(sources, tmp_path):
    seen = with_texts(sources["classification"], tmp_path, [text.split() for text in ("a b c d", "good film")])
    many = [f"another text number {i}" for i in range(200)]

    def corpus(part, *known):
        split = Split([*many, *known], [0] * (200 + len(known)))
        return dataclasses.replace(classification(), **{part: split})

    with pytest.raises(ValueError, match=r"trained on dev texts of mine: 3 of 203 \(1\.5%\)"):
        prepared("classification", seen, tmp_path, corpus("dev", *["a b c d"] * 3))
    prepared("classification", seen, tmp_path, corpus("test", "a b c d", *["good film"] * 20))


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
    seen = with_texts(sources["classification"], tmp_path, [TESTS[1].split()])
    spec = {"model": "bilstm", "arguments": {"init_from": str(seen)}, "pause_after": None}
    monkeypatch.setattr(trial, "read_spec", lambda folder: spec)
    monkeypatch.setattr(trial, "parts", lambda spec: [("seed1", None, classification(), 1)])
    with pytest.raises(ValueError, match="trained on test texts of mine"):
        trial.run(tmp_path / "trial")


def test_a_sweep_goes_on_from_a_source_and_cannot_search_what_that_decides(sources, monkeypatch):
    folder = sources["classification"]
    monkeypatch.chdir(folder.parent)
    options = {"init_from": folder.name, "freeze": "encoder"}
    found = plan("bilstm", "demo", tuner="grid", space={"dropout": [0.1, 0.5]}, **options)
    assert found.arguments["init_from"] == str(folder.resolve())
    assert found.arguments["freeze"] == "encoder"
    with pytest.raises(ValueError, match=r"init_from decides units: a sweep cannot search them\. It can search: .*l2,"):
        plan("bilstm", "demo", tuner="grid", space={"dropout": [0.1], "units": [4, 8]}, **options)


def test_each_fold_is_checked_for_itself(sources, tmp_path, monkeypatch):
    texts = [f"{a} {b} {c} film" for a in ("good", "bad") for b in ("very", "short", "long") for c in ("the", "it")]
    corpus = Corpus("mine", ("no", "yes"), Split(texts, [0, 1] * 6), None, None)
    fold = [set(zoo.classification.corpus.cross_validation_fold(corpus, i, 2).test.texts) for i in (1, 2)]
    seen = with_texts(sources["classification"], tmp_path, [text.split() for text in fold[1]])
    begun = []
    monkeypatch.setattr(loop, "_fit", lambda run, *_: begun.append(set(run.job.corpus.test.texts)) or exit())
    options = {"folds": 2, "init_from": seen, "progress": False}
    with pytest.raises(ValueError, match="trained on test texts of mine: 6 of 6"):
        zoo.run_protocol("bilstm", corpus, tmp_path / "folds", only_folds=[2], **options)
    assert not begun
    with pytest.raises(ValueError, match="trained on dev texts of mine"):  # drawn from the rest
        zoo.run_protocol("bilstm", corpus, tmp_path / "others", only_folds=[1], **options)


# Freezing.


def test_an_optimiser_begins_anew_when_everything_is_trained():
    keras.utils.set_random_seed(1)
    model = keras.Sequential(
        [keras.Input((1,)), *(keras.layers.Dense(1, use_bias=False, name=name) for name in ("encoder", "logits"))]
    )
    model.compile(keras.optimizers.Adam(0.01), "mse")
    model.optimizer.build(model.trainable_variables)
    seen = []

    class Watch(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            seen.append(float(model.layers[0].get_weights()[0][0, 0]))

    start = float(model.layers[0].get_weights()[0][0, 0])
    x = np.ones((8, 1), "float32")
    model.fit(x, 100 * x, batch_size=1, epochs=2, verbose=0, callbacks=[Watch(), Freeze("encoder", 1)])
    assert seen[:8] == [start] * 8
    # Adam's first step is as long as its learning rate; without a new beginning it would be 3 times as long.
    assert abs(seen[8] - start) == pytest.approx(0.01, rel=1e-3)
    assert all(variable.trainable for variable in model.variables[:2])


FINE_TUNING = {
    "classification": {"freeze": "encoder"},
    "tagging": {"freeze": "embedding"},
    "language_model": {
        "freeze": "encoder",
        "optimizer": "adam",
        "learning_rate": 0.01,
        "average": 0.9,
        "weight_decay": 0.1,
    },
}


def chosen(model, freeze):
    """The weights that are frozen and the others, by name."""
    layers = [*network(model).layers, *([model.crf] if hasattr(model, "crf") else [])]
    head = ("logits", "softmax", "crf")
    names = {layer.name for layer in layers}
    still = {"embedding"} if freeze == "embedding" else names.difference(head)
    frozen, others = ([layer for layer in layers if (layer.name in still) == kept] for kept in (True, False))
    return ([w for layer in part for w in layer.get_weights()] for part in (frozen, others))


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A trained source of each task."""
    folder = tmp_path_factory.mktemp("trained")
    found = {}
    for task in MODELS:
        train(folder / task, task, epochs=1)
        found[task] = folder / task
    return found


@pytest.mark.parametrize("task", MODELS)
def test_frozen_weights_stay_as_they_are_bit_for_bit(task, trained, tmp_path):
    options = FINE_TUNING[task]
    bundle = train(tmp_path / "run", task, init_from=trained[task], epochs=2, force_overlap=True, **options)
    ours, others = chosen(bundle.model, options["freeze"])
    theirs, before = chosen(zoo.load(trained[task]).model, options["freeze"])
    for our, their in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(our, their)
    assert any((our != their).any() for our, their in zip(others, before, strict=True))
    assert len(bundle.model.trainable_variables) == len(zoo.load(trained[task]).model.trainable_variables)


def tuned(folder, source, **options):
    settings = {"init_from": source, "epochs": 4, "freeze": "encoder", "unfreeze_after": 2, "seed": 6}
    return train(folder, **{**settings, "force_overlap": True, **options})


@pytest.fixture(scope="module")
def whole(trained, tmp_path_factory):
    """A fine-tuned model that nothing interrupted."""
    return tuned(tmp_path_factory.mktemp("tuned") / "whole", trained["classification"])


def test_after_unfreezing_everything_is_trained_and_the_record_says_so(whole, trained):
    theirs, _ = chosen(zoo.load(trained["classification"]).model, "encoder")
    ours, _ = chosen(whole.model, "encoder")
    if whole.metrics["best_epoch"] > 2:
        assert any((our != their).any() for our, their in zip(ours, theirs, strict=True))
    assert whole.config["training"]["init_from"]["unfreeze_after"] == 2


@pytest.mark.parametrize("epoch", [1, 2, 3])
def test_an_interrupted_fine_tuning_ends_with_the_same_weights(epoch, whole, trained, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        interrupt(patch, epoch=epoch, batch=2)
        with pytest.raises(KeyboardInterrupt):
            tuned(tmp_path / "run", trained["classification"])
    if epoch == 1:
        with pytest.raises(ValueError, match="unfreeze_after was 2 and is 3"):
            tuned(tmp_path / "run", trained["classification"], unfreeze_after=3)
        other = zoo.load(trained["classification"])
        other.config["note"] = "another source"
        shutil.copytree(other.save(tmp_path / "other" / "classification"), tmp_path / "same" / "classification")
        with pytest.raises(ValueError, match=r"sha256 was '[0-9a-f]{64}' and is "):
            tuned(tmp_path / "run", tmp_path / "same" / "classification")
    bundle = tuned(tmp_path / "run", trained["classification"])
    for ours, theirs in zip(bundle.model.get_weights(), whole.model.get_weights(), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert bundle.history["loss"].tolist() == whole.history["loss"].tolist()


def test_patience_waits_for_the_unfreezing(tmp_path):
    from dense_lstm_zoo.training.checkpoint import Checkpoint
    from dense_lstm_zoo.training.state_files import Progress

    with Checkpoint(tmp_path / "state", {}, 2, at_least=3) as checkpoint:
        checkpoint.progress = Progress([{}] * 4, best_epoch=1)
        assert not checkpoint.is_done
        checkpoint.progress = Progress([{}] * 5, best_epoch=1)
        assert checkpoint.is_done
        checkpoint.progress = Progress([])


def test_a_bundle_carries_the_hashes_of_all_texts_it_learnt_from_and_says_where_it_comes_from(whole, trained, tmp_path):
    source = zoo.load(trained["classification"])
    corpus = dataclasses.replace(classification(("positive", "negative")), name="more")
    bundle = train(tmp_path / "more", dataset=corpus, init_from=trained["classification"], epochs=1)
    expected = {text_hashes.text_hash(text.split()) for text in TEXTS}
    assert expected <= set(bundle.train_texts.tolist())
    assert set(bundle.train_texts.tolist()) - expected == set(source.train_texts.tolist()) - expected
    again = train(tmp_path / "again", init_from=tmp_path / "more", epochs=1, force_overlap=True)
    parent = again.config["training"]["init_from"]
    assert (parent["name"], parent["dataset"], parent["init_from"]["dataset"]) == ("more", "more", "demo")
    card = (tmp_path / "again" / "README.md").read_text()
    assert "Trained further from more, a bilstm trained on more (manifest " in card
    np.testing.assert_array_equal(zoo.load(tmp_path / "again").train_texts, again.train_texts)


SCRIPT = """
import sys
from tests.test_transfer import tuned
tuned(sys.argv[1], sys.argv[2], progress=True)
"""


@pytest.mark.slow
def test_kill_9_in_mid_fine_tuning_ends_with_the_same_weights(whole, trained, tmp_path):
    arguments = [sys.executable, "-c", SCRIPT, str(tmp_path / "run"), str(trained["classification"])]
    for last in ("Epoch 2/4", "Epoch 4/4"):  # once while the encoder is frozen, once after
        process = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, bufsize=1)
        for line in process.stdout:
            if last in line:
                break
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert not (tmp_path / "run").exists()
    subprocess.run(arguments, check=True, capture_output=True)
    for ours, theirs in zip(zoo.load(tmp_path / "run").model.get_weights(), whole.model.get_weights(), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.slow
def test_sst_shares_its_sentences_with_mr_and_subj_and_not_with_trec_and_cr(data_folder):
    from dense_lstm_zoo.classification.corpus import cross_validation_fold
    from dense_lstm_zoo.classification.job import ClassificationJob
    from dense_lstm_zoo.training.overlap import check_overlap

    sst = zoo.load_corpus("sst2")
    seen = text_hashes.hash_texts(ClassificationJob.token_rows(sst.train))
    check = functools.partial(check_overlap, seen, "sst", ClassificationJob)
    assert check(zoo.load_corpus("trec")) == {}
    assert check(cross_validation_fold(zoo.load_corpus("cr"), 1)) == {}
    for name in ("mr", "subj"):
        with pytest.raises(ValueError, match=f"sst was trained on test texts of {name}: "):
            check(cross_validation_fold(zoo.load_corpus(name), 1))
