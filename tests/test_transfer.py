"""Training that goes on from a trained model: what goes on, and what is new."""

import numpy as np
import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo.bundles import text_hashes
from dense_lstm_zoo.models.registry import network
from dense_lstm_zoo.storage import files
from dense_lstm_zoo.training import prepare, request
from tests import bundle_harness
from tests.transfer_harness import (
    CORPORA,
    LABELS,
    MODELS,
    TESTS,
    TEXTS,
    bundle_of,
    classification,
    encoder,
    language_model,
    make_sources,
    origin_of,
    prepared,
    tagging,
    words_of,
)


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    return make_sources(tmp_path_factory.mktemp("sources"))


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


@pytest.mark.slow
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
    transitions = run.model.crf.transitions.numpy()
    for i, before in enumerate(source.labels):
        for j, after in enumerate(source.labels):
            assert transitions[int(before[1]), int(after[1])] == 4 * i + j
        assert run.model.crf.start.numpy()[int(before[1])] == 20 + i


def test_a_language_model_begins_with_the_scores_of_its_source_on_the_words_both_know(sources, tmp_path):
    source = zoo.load(sources["language_model"])
    frozen = prepared("language_model", sources["language_model"], tmp_path, freeze="encoder")
    assert frozen.job.vocabulary.words == source.vocabulary.words  # no word that would never be trained
    text = ["the film was good"]
    assert bundle_of(frozen).score(text)[0].log_probability == pytest.approx(source.score(text)[0].log_probability)
    run = prepared("language_model", sources["language_model"], tmp_path)
    num_words = len(source.vocabulary)
    assert run.job.vocabulary.words == (*source.vocabulary.words, "splendid")
    assert origin_of(run)["new_words"] == 1
    for name, axis in {"embedding": 0, "softmax": 1, "logits": 0}.items():
        ours, theirs = (network(m).get_layer(name).get_weights()[0] for m in (run.model, source.model))
        np.testing.assert_array_equal(np.take(ours, range(num_words), axis), theirs)
        new = np.take(ours, num_words, axis)
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


def test_words_that_are_yet_to_be_learnt_do_not_count_as_covered(sources, tmp_path, capsys):
    texts = ["der film war gut", "der film war lang", "das war gut und lang", "das war gut"]
    run = prepared("classification", sources["classification"], tmp_path, classification(texts=texts), progress=True)
    assert "The source knows 3 of the 20 words with letters of the training texts." in capsys.readouterr().out
    assert "cover 1 of 7 word types" in run.config["training"]["vector_coverage"]


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


@pytest.mark.parametrize("freeze", [None, "embedding"])
def test_a_language_models_new_words_get_their_vectors(freeze, sources, tmp_path):
    source = zoo.load(sources["language_model"])
    source_words, theirs = source.vocabulary.words, np.array(source.network.get_layer("embedding").embeddings)
    (tmp_path / "v.txt").write_text(f"splendid{' 1.5' * theirs.shape[1]}\ngood{' 9' * theirs.shape[1]}\n")
    with pytest.warns(UserWarning, match=r"trained with the vectors none, not v\.txt"):
        run = prepared("language_model", sources["language_model"], tmp_path, vectors=tmp_path / "v.txt", freeze=freeze)
    words, ours = run.job.vocabulary.words, np.array(network(run.model).get_layer("embedding").embeddings)
    assert words == (*source_words, "splendid")
    np.testing.assert_array_equal(ours, [*theirs, [1.5] * theirs.shape[1]])
    assert run.config["training"]["new_word_vectors"] == "v.txt"
    (tmp_path / "v.txt").write_text("splendid 1 2\n")
    with (
        pytest.warns(UserWarning, match="trained with the vectors none"),
        pytest.raises(ValueError, match=f"vectors of 2 numbers; the source's words have {theirs.shape[1]}"),
    ):
        prepared("language_model", sources["language_model"], tmp_path, vectors=tmp_path / "v.txt")


def test_a_language_model_that_goes_on_has_no_perplexity_by_frequency(sources, tmp_path):
    bundle = bundle_of(prepared("language_model", sources["language_model"], tmp_path))
    bundle.rescore(test=TESTS[:1])
    assert bundle.evaluation["by_rank"] == []
    assert "frequency" not in bundle.task.module("report").markdown(bundle.evaluation, "mine")


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
    options = {"epochs": 2, "init_from": source.save(tmp_path / "source")}
    run = prepare.prepare(request.check("cnn_mc", tmp_path / "run", options), classification(), progress=False)
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
