"""Estimators for scikit-learn: parameters, labels of any type, searches, pickles, and what they refuse."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import dense_lstm_zoo as zoo
from dense_lstm_zoo.bundles import packing
from dense_lstm_zoo.interfaces import estimator
from dense_lstm_zoo.sklearn import SequenceTagger, TextClassifier
from tests.several_labels_harness import LABELS, examples

# A logistic regression over the encoder's features: it learns in a second.
TINY = {"units": 3, "embedding_dim": 4, "epochs": 1, "vectors": "none", "kernel": "native", "head": "convex"}
TEXTS = ["a good fine film", "a bad dull film", "good film !", "dull , bad"] * 10
STARS = [5, 1, 5, 1] * 10
SEVERAL, NAMES = map(list, zip(*examples(80, 1), strict=True))
MATRIX = np.array([[name in names for name in LABELS] for names in NAMES]).astype(int)
TINY_TAGGER = {"units": 3, "embedding_dim": 4, "char_dim": 3, "epochs": 1, "vectors": "none", "kernel": "native"}
CRF = {"class_weights": "balanced", "crf": True}
TOKENS = [["Dogs", "bark", "."], ["Cats", "sleep"]] * 10
TAGS = [["N", "V", "P"], ["N", "V"]] * 10


@pytest.fixture(scope="module")
def classifier():
    return TextClassifier("bilstm", **TINY).fit(TEXTS, STARS)


@pytest.fixture(scope="module")
def tagger():
    return SequenceTagger("bilstm_tagger", **TINY_TAGGER).fit(TOKENS, TAGS)


@pytest.fixture
def trainings(classifier, monkeypatch):
    """Let ``fit`` return a trained bundle, and list the model, the corpus and the options of each call of ``train``."""
    calls = []

    def train(model, corpus, run_dir, **options):
        calls.append((model, corpus, options))
        return classifier.bundle_

    monkeypatch.setattr(estimator, "train", train)
    return calls


def lower(texts):
    return [text.lower() for text in texts]


def test_texts_as_bytes_are_learnt_as_the_strings_that_they_are(trainings):
    texts = ["Gru\u00df", "fine"] * 20
    encoded = [text.encode() for text in texts]
    for form in (encoded, np.array(encoded)):
        TextClassifier("lstm").fit(form, STARS)
        assert trainings.pop()[1].train.texts == texts


def test_parameters_are_those_that_were_given():
    model = TextClassifier("dc_bilstm", units=3, epochs=2)
    own = {"model": "dc_bilstm", "recipe": None, "seed": 1, "run_dir": None, "overwrite": False}
    assert model.get_params() == {**own, "units": 3, "epochs": 2}
    assert model.set_params(units=4, patience=5) is model
    assert model.get_params() == {**own, "units": 4, "epochs": 2, "patience": 5}
    model.epochs = 3
    copied = clone(model)
    assert copied.get_params() == model.get_params()
    assert copied is not model
    assert repr(copied) == "TextClassifier(epochs=3, model='dc_bilstm', patience=5, units=4)"


@pytest.mark.parametrize("estimator_class", [TextClassifier, SequenceTagger])
def test_a_name_that_is_no_parameter_is_refused_with_near_matches(estimator_class):
    with pytest.raises(ValueError, match=f"parameter of {estimator_class.__name__}: 'unit'. Did you mean 'units'"):
        estimator_class(unit=3)
    with pytest.raises(ValueError, match=r"'epoch'\. Did you mean 'epochs'"):
        estimator_class().set_params(epoch=3)
    with pytest.raises(ValueError, match="'vocab_size'"):
        estimator_class(vocab_size=3)


@pytest.mark.parametrize("estimator_class", [TextClassifier, SequenceTagger])
def test_no_option_hides_a_method(estimator_class):
    assert not set(estimator_class._get_param_names()) & set(dir(estimator_class))


def test_a_wrong_value_is_refused_by_fit():
    for options, message in (
        ({"epochs": 0}, "epochs must be an integer of at least 1"),
        ({"min_count": 2}, "min_count"),
        ({"num_dense_layers": 2}, "argument of bilstm: 'num_dense_layers'"),
        ({"effort": "quik"}, "Did you mean 'quick'"),
        ({"model": "bilstm_tagger"}, "model of TextClassifier: 'bilstm_tagger'. Did you mean 'bilstm'"),
    ):
        with pytest.raises(ValueError, match=message):
            TextClassifier(**options).fit(TEXTS, STARS)


def test_train_gets_the_options_and_no_baseline(trainings):
    TextClassifier("lstm", units=np.int64(3), effort="quick").fit(TEXTS, STARS)
    TextClassifier(baseline=True, seed=4).fit(TEXTS, STARS)
    common = {"progress": False, "recipe": None, "overwrite": False}
    (first, corpus, options), (_, _, others) = trainings
    assert (first, options) == ("lstm", {**common, "seed": 1, "baseline": False, "units": 3, "effort": "quick"})
    assert others == {**common, "seed": 4, "baseline": True}
    assert (corpus.label_names, corpus.train.texts) == (("1", "5"), TEXTS)
    assert corpus.train.labels == [1, 0, 1, 0] * 10


def test_answers_are_those_of_the_bundle(classifier):
    texts = ["good film", "bad", ""]
    expected = classifier.bundle_.predict(texts)
    np.testing.assert_array_equal(classifier.predict_proba(texts), classifier.bundle_.probabilities(texts))
    assert classifier.predict(texts).tolist() == [int(prediction.label) for prediction in expected]
    assert classifier.classes_.tolist() == [1, 5]
    labels = classifier.classes_[classifier.predict_proba(texts).argmax(axis=1)]
    np.testing.assert_array_equal(classifier.predict(texts), labels)
    assert classifier.score(TEXTS, STARS) == accuracy_score(STARS, classifier.predict(TEXTS)) == 1
    assert is_classifier(classifier)
    assert classifier.predict([]).shape == (0,)
    assert classifier.predict_proba([]).shape == (0, 2)


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        (["b", "a "], ("a ", "b")),
        ([True, False], ("False", "True")),
        ([10, 9], ("9", "10")),
        ([2.0, -1.0], ("-1.0", "2.0")),
        (pd.Series(["x", "y"], dtype="category"), ("x", "y")),
        (pd.Series([3, 4], dtype="Int64"), ("3", "4")),
        (np.array([7, 5], object), ("5", "7")),
        (pd.Series([True, False], dtype=object), ("False", "True")),
        ([[1], [0]], ("0", "1")),
    ],
)
@pytest.mark.filterwarnings("ignore:A column-vector y was passed")
def test_labels_come_back_with_their_type(labels, names, trainings):
    model = TextClassifier().fit(["dull", "fine"], labels)
    ((_, corpus, _),) = trainings
    values = np.ravel(labels)
    assert corpus.label_names == names
    assert [names[place] for place in corpus.train.labels] == [str(value) for value in values]
    assert model.classes_.tolist() == sorted(values.tolist())
    assert set(map(type, model.classes_.tolist())) == set(map(type, values.tolist()))
    assert set(model.predict(TEXTS).tolist()) == set(values)
    assert model.score(["dull", "fine"], labels) == (model.predict(["dull", "fine"]) == values).mean()


@pytest.mark.parametrize(
    "texts",
    [
        ("good", "bad"),
        np.array(["good", "bad"]),
        np.array([["good"], ["bad"]], object),
        pd.Series(["good", "bad"], index=[5, 3]),
        pd.DataFrame({"review": ["good", "bad"]}),
    ],
    ids=lambda texts: type(texts).__name__,
)
def test_texts_may_be_a_sequence_a_column_or_a_table_of_one_column(texts, classifier):
    np.testing.assert_array_equal(classifier.predict_proba(texts), classifier.predict_proba(["good", "bad"]))


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ("good film", r"received one string\. Write \['good film'\]"),
        ([[3, 4], [5]], r"must hold strings; received \[3, 4\] \(list\) as item 0"),
        (np.zeros((2, 3)), r"received a ndarray of shape \(2, 3\)"),
        ([3, 4], r"received 3 \(int\) as item 0"),
        (["good", None], "received None .* as item 1.*dropna"),
        ({"text": ["good"]}, 'Pass one of them: texts\\["text"\\]'),
        (pd.DataFrame({"a": ["good"], "b": ["bad"]}), "DataFrame with the columns a, b"),
        (3, r"received 3 \(int\)"),
    ],
)
def test_what_is_no_text_is_refused(texts, message, classifier):
    for method in (classifier.predict, classifier.predict_proba):
        with pytest.raises(TypeError, match=message):
            method(texts)
    with pytest.raises(TypeError, match=message):
        TextClassifier().fit(texts, STARS)


@pytest.mark.parametrize(
    ("texts", "labels", "message"),
    [
        ([], [], "X holds no texts"),
        (TEXTS, STARS[:3], r"inconsistent numbers of samples: \[40, 3\]"),
        (TEXTS, [1] * 40, "at least two classes; y holds one class, 1"),
        (TEXTS, None, "requires y to be passed, a label for each text"),
        (TEXTS, ["a", None] * 20, r"missing label \(None or NaN\) as item 1"),
        (TEXTS, [1.0, np.nan] * 20, "missing label"),
        (TEXTS, [1.5, 2.5] * 20, "Unknown label type: continuous"),
        (TEXTS, np.array([1, "a"] * 20, object), "labels of one type; received int and str"),
        (
            TEXTS,
            [["a"], ["b", "c"]] * 20,
            r"received lists of labels, such as \['b', 'c'\].* MultiLabelBinarizer\(\)\.",
        ),
        (TEXTS, pd.Series([["a", "b"], []] * 20), "received lists of labels, .* MultiLabelBinarizer"),
        (TEXTS, [["a", "b"], ["b", "c"]] * 20, "received lists of labels, .* MultiLabelBinarizer"),
        (TEXTS, [["a"], ["b"]] * 20, r"received lists of labels, such as \['a'\].* MultiLabelBinarizer"),
        (TEXTS, [[], []] * 20, r"received lists of labels, such as \[\]"),
        (TEXTS, [[0, 1], 1] * 20, r"received lists of labels, such as \[0, 1\]"),
        (TEXTS, np.array([[0, 1], [1, 2]] * 20), "row 1, counted from 0, holds 2"),
        (TEXTS, np.array([["0", "1"]] * 40), "row 0, counted from 0, holds '0'"),
        (TEXTS, pd.DataFrame({"a": [1, None] * 20, "b": 1}), "row 1, counted from 0, holds None"),
        (TEXTS, np.eye(2), r"inconsistent numbers of samples: \[40, 2\]"),
        (TEXTS, pd.DataFrame([[0, 1]] * 40, columns=["a", "a"]), "label_names must differ"),
        (TEXTS[:4], STARS[:4], "leaves none for dev.* a recipe that needs none"),
        (TEXTS[:4], ["a", 1, "a", 1], "y must hold labels of one type; received int and str"),
        (TEXTS[:4], ["a", float("nan"), "a", "b"], "y holds a missing label .* as item 1"),
    ],
)
def test_labels_that_cannot_be_learnt_are_refused(texts, labels, message):
    with pytest.raises(ValueError, match=message):
        TextClassifier(**TINY).fit(texts, labels)


@pytest.mark.parametrize(
    "form",
    [np.array, list, sparse.csr_array, lambda y: y.tolist(), lambda y: y.astype(bool), lambda y: y.astype(float)],
    ids=["array", "list of arrays", "sparse", "lists", "booleans", "floats"],
)
def test_a_matrix_of_zeros_and_ones_makes_labels_of_it(form, trainings):
    model = TextClassifier("lstm").fit(SEVERAL, form(MATRIX))
    ((_, corpus, _),) = trainings
    assert corpus.label_names == ("0", "1", "2")
    np.testing.assert_array_equal(corpus.train.targets(3), MATRIX)
    assert model.classes_.tolist() == [0, 1, 2]


def test_the_columns_of_a_table_are_the_labels(trainings):
    columns = pd.DataFrame(MATRIX, columns=["food", "price", "staff"])
    for table in (columns, columns.astype("Int64"), columns.astype(bool)):
        model = TextClassifier("lstm").fit(SEVERAL, table)
        corpus = trainings.pop()[1]
        assert corpus.label_names == ("food", "price", "staff")
        np.testing.assert_array_equal(corpus.train.targets(3), MATRIX)
        assert model.classes_.tolist() == list(columns)


@pytest.fixture(scope="module")
def several():
    """A model of several labels, whose thresholds differ."""
    model = TextClassifier("bilstm", **TINY).fit(SEVERAL, pd.DataFrame(MATRIX, columns=["food", "price", "staff"]))
    shares = model.predict_proba(SEVERAL)
    middle = np.quantile(shares, [0.3, 0.5, 0.7]) + 1e-4
    model.bundle_.config["thresholds"] = dict(zip(model.bundle_.labels, middle.tolist(), strict=True))
    return model


def test_a_text_has_the_labels_that_reach_their_thresholds(several):
    shares, chosen = several.predict_proba(SEVERAL), several.predict(SEVERAL)
    np.testing.assert_array_equal(shares, several.bundle_.probabilities(SEVERAL))
    np.testing.assert_array_equal(chosen, shares >= list(several.bundle_.config["thresholds"].values()))
    names = [each.labels for each in several.bundle_.predict(SEVERAL)]
    assert [set(several.classes_[row > 0].tolist()) for row in chosen] == list(map(set, names))
    assert chosen.dtype == np.int64
    assert 0 < chosen.mean() < 1
    assert several.predict([]).shape == several.predict_proba([]).shape == (0, 3)
    matched = (chosen == MATRIX).all(axis=1)
    assert several.score(SEVERAL, MATRIX) == accuracy_score(MATRIX, chosen) == matched.mean() < 1
    weights = np.arange(len(MATRIX))
    assert several.score(SEVERAL, MATRIX, weights) == pytest.approx(np.average(matched, weights=weights))


def test_a_table_to_score_is_read_by_the_names_of_its_columns(several):
    table = pd.DataFrame(MATRIX, columns=several.classes_)
    assert several.score(SEVERAL, table[["staff", "food", "price"]]) == several.score(SEVERAL, MATRIX)
    for y, message in (
        (table.rename(columns={"food": "meal"}), "columns of y must be the labels, food, price, staff; they are meal"),
        (table[["food", "staff"]], "columns of y must be the labels"),
        (MATRIX[:, :2], r"matrix of 0 and 1 \(texts, 3\); received shape \(80, 2\)"),
        ([1] * 80, r"\(texts, 3\); received one label for each text"),
        ([["food"], ["food", "staff"]] * 40, "MultiLabelBinarizer"),
    ):
        with pytest.raises(ValueError, match=message):
            several.score(SEVERAL, y)


def test_several_labels_are_searched_piped_and_copied(several, monkeypatch):
    monkeypatch.setattr(estimator, "train", lambda *_, **__: several.bundle_)
    pipeline = make_pipeline(FunctionTransformer(lower), TextClassifier("lstm"))
    score = several.score(SEVERAL[:40], MATRIX[:40]), several.score(SEVERAL[40:], MATRIX[40:])
    assert tuple(cross_val_score(pipeline, SEVERAL, MATRIX, cv=2)) == score
    names = {"f1": "f1_micro", "ranking": "average_precision"}
    search = GridSearchCV(pipeline, {"textclassifier__units": [2, 3]}, cv=2, scoring=names, refit="f1")
    assert search.fit(SEVERAL, MATRIX).predict(SEVERAL).tolist() == several.predict(SEVERAL).tolist()
    assert (search.cv_results_["mean_test_ranking"] > 0).all()
    model = pickle.loads(pickle.dumps(several))
    assert model.classes_.tolist() == ["food", "price", "staff"]
    np.testing.assert_array_equal(model.predict(SEVERAL), several.predict(SEVERAL))
    assert not hasattr(clone(several), "classes_")


def test_a_label_outside_the_classes_is_refused_by_score(classifier):
    with pytest.raises(ValueError, match="y holds the label 3, which is not among classes_: 1, 5"):
        classifier.score(TEXTS[:2], [1, 3])
    with pytest.raises(ValueError, match="y holds the label '1', which is not among"):
        classifier.score(TEXTS[:2], ["1", "5"])


def test_what_needs_a_fit_says_so():
    for model, call in ((TextClassifier(), "predict predict_proba"), (SequenceTagger(), "predict predict_proba")):
        for name in call.split():
            with pytest.raises(NotFittedError, match="not fitted yet"):
                getattr(model, name)(["good"])
        with pytest.raises(NotFittedError):
            model.score([["good"]], [["a"]])


def test_a_folder_may_keep_the_bundle(tmp_path):
    model = TextClassifier(run_dir=tmp_path / "run", **TINY).fit(TEXTS, STARS)
    np.testing.assert_array_equal(zoo.load(tmp_path / "run").probabilities(TEXTS), model.predict_proba(TEXTS))
    with pytest.raises(FileExistsError, match="overwrite"):
        model.fit(TEXTS, STARS)


def test_a_pipeline_cross_validates():
    pipeline = make_pipeline(FunctionTransformer(lower), TextClassifier(**TINY))
    scores = cross_val_score(pipeline, [text.upper() for text in TEXTS], STARS, cv=2)
    assert scores.tolist() == [1, 1]


def test_a_search_sets_parameters_that_were_not_given(trainings):
    search = GridSearchCV(TextClassifier("lstm"), {"units": [2, 3]}, cv=2).fit(TEXTS, STARS)
    assert [options["units"] for _, _, options in trainings] == [2, 2, 3, 3, 2]
    assert [len(corpus.train) for _, corpus, _ in trainings] == [20] * 4 + [40]
    assert search.best_params_ == {"units": 2}
    pipeline = make_pipeline(FunctionTransformer(lower), TextClassifier("lstm"))
    GridSearchCV(pipeline, {"textclassifier__units": [4, 5]}, cv=2).fit(TEXTS, STARS)
    assert [options["units"] for _, _, options in trainings[5:]] == [4, 4, 5, 5, 4]


@pytest.mark.slow
def test_a_search_in_two_processes_trains():
    search = GridSearchCV(TextClassifier(**TINY), {"units": [2, 3]}, cv=2, n_jobs=2).fit(TEXTS, STARS)
    assert search.cv_results_["mean_test_score"].tolist() == [1, 1]
    assert search.predict(TEXTS).tolist() == STARS


def test_a_trained_model_is_calibrated(classifier):
    model = CalibratedClassifierCV(FrozenEstimator(classifier)).fit(TEXTS, STARS)
    assert model.predict(TEXTS).tolist() == STARS
    np.testing.assert_allclose(model.predict_proba(TEXTS).sum(axis=1), 1)


def test_calibration_by_folds_trains_on_the_others(trainings):
    model = CalibratedClassifierCV(TextClassifier("lstm", units=2), cv=2).fit(np.array(TEXTS, object), STARS)
    assert [(len(corpus.train), options["units"]) for _, corpus, options in trainings] == [(20, 2), (20, 2)]
    assert model.predict(TEXTS).tolist() == STARS


def test_a_black_box_is_explained_by_leaving_words_out(classifier):
    """As LIME does: a linear model of the probability of texts without some of the words."""
    words = ["a", "good", "fine", "film"]
    masks = np.random.default_rng(0).integers(0, 2, (40, 4))
    masks[0] = 1
    texts = np.array([" ".join(word for word, is_there in zip(words, mask, strict=True) if is_there) for mask in masks])
    for batch in (texts, texts.tolist()):
        shares = classifier.predict_proba(batch)
        assert shares.shape == (40, 2)
        np.testing.assert_allclose(shares.sum(axis=1), 1, atol=1e-6)
    weights = np.linalg.lstsq(np.c_[masks, np.ones(40)], shares[:, 1], rcond=None)[0]
    assert weights[:4].argmax() in (1, 2)


def test_a_pickle_holds_the_model(classifier):
    for copied in (pickle.loads(pickle.dumps(classifier)), copy.deepcopy(classifier)):
        assert copied.get_params() == classifier.get_params()
        assert copied.classes_.tolist() == classifier.classes_.tolist()
        assert copied.bundle_.fingerprint() == classifier.bundle_.fingerprint()
        assert copied.bundle_.metrics == classifier.bundle_.metrics
    np.testing.assert_array_equal(copied.predict_proba(TEXTS[:4]), classifier.predict_proba(TEXTS[:4]))
    assert b"dense_lstm_zoo.sklearn" in pickle.dumps(classifier)
    assert not hasattr(pickle.loads(pickle.dumps(clone(classifier))), "bundle_")


def test_a_pickle_holds_a_tagger(tagger):
    assert pickle.loads(pickle.dumps(tagger)).predict(TOKENS[:2]) == tagger.predict(TOKENS[:2])


def test_the_bytes_of_a_bundle_are_checked(classifier):
    content = packing.pack(classifier.bundle_)
    place = content.index(b"vocabulary.txt") + 40
    damaged = content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]
    with pytest.raises(ValueError, match="The pickle is not an archive of a bundle"):
        packing.unpack(damaged)
    with pytest.raises(ValueError, match="not an archive"):
        packing.unpack(b"nothing")


@pytest.mark.slow
def test_a_pickle_is_read_in_a_fresh_process(classifier, tmp_path):
    (tmp_path / "model.pickle").write_bytes(pickle.dumps(classifier))
    code = "import pickle, sys; print(pickle.load(open(sys.argv[1], 'rb')).predict_proba(['good', 'bad']).tolist())"
    command = [sys.executable, "-c", code, str(tmp_path / "model.pickle")]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    np.testing.assert_allclose(eval(ran.stdout), classifier.predict_proba(["good", "bad"]), atol=1e-6)


def test_a_tagger_answers_as_its_bundle(tagger):
    sentences = [*TOKENS[:2], [], ["Birds"]]
    assert tagger.predict(sentences) == [answer.tags for answer in tagger.bundle_.predict(sentences)]
    assert [len(tags) for tags in tagger.predict(sentences)] == [3, 2, 0, 1]
    shares = tagger.predict_proba(sentences)
    assert [row.shape for row in shares] == [(len(tokens), 3) for tokens in sentences]
    assert [tagger.classes_[row.argmax(axis=1)].tolist() for row in shares] == tagger.predict(sentences)
    np.testing.assert_allclose(np.concatenate(shares).sum(axis=1), 1, rtol=1e-5)
    assert tagger.classes_.tolist() == ["N", "P", "V"]
    right = [
        a == b for tags, gold in zip(tagger.predict(TOKENS), TAGS, strict=True) for a, b in zip(tags, gold, strict=True)
    ]
    assert tagger.score(TOKENS, TAGS) == pytest.approx(np.mean(right))
    assert tagger.predict([]) == []
    assert tagger.predict(np.array([["Dogs", "bark"]])) == tagger.predict([("Dogs", "bark")])
    assert tagger.bundle_.history.shape[0] == 1


def test_a_tagger_takes_weights_of_tags(tagger, monkeypatch):
    calls = []
    monkeypatch.setattr(estimator, "train", lambda *_, **options: calls.append(options) or tagger.bundle_)
    SequenceTagger(class_weights="balanced").set_params(class_weights={"N": 2.0}).fit(TOKENS, TAGS)
    assert [options["class_weights"] for options in calls] == [{"N": 2.0}]
    monkeypatch.undo()
    for options, message in (({"class_weights": {"M": 2}}, "Unknown tag in class_weights: 'M'"), (CRF, "crf=True has")):
        with pytest.raises(ValueError, match=message):
            SequenceTagger(**TINY_TAGGER, **options).fit(TOKENS, TAGS)


def test_a_tagger_holds_out_sentences(monkeypatch, tagger):
    calls = []
    monkeypatch.setattr(estimator, "train", lambda *arguments, **options: calls.append(arguments) or tagger.bundle_)
    for dev in (0.1, 0.3):
        SequenceTagger(dev=dev).fit(TOKENS, TAGS)
    assert [(len(corpus.train), len(corpus.dev)) for _, corpus, _ in calls] == [(18, 2), (14, 6)]
    rows = [*calls[0][1].train.tokens, *calls[0][1].dev.tokens]
    assert sorted(rows) == sorted(TOKENS)
    scores = cross_val_score(SequenceTagger(), TOKENS, TAGS, cv=2)
    assert scores.tolist() == [tagger.score(TOKENS[:10], TAGS[:10])] * 2


@pytest.mark.parametrize(
    ("tokens", "tags", "message"),
    [
        (["Dogs bark"], [["N", "V"]], r"X must be a list of lists of strings; received 'Dogs bark' \(str\) as item 0"),
        ("Dogs bark", TAGS, r"X must be a list of lists of strings; received 'Dogs bark' \(str\)\."),
        ([[1, 2]], [["N", "V"]], "tokens and tags must be strings; received 1"),
        ([["Dogs"]], [[1]], "tokens and tags must be strings; received 1"),
        ([["Dogs"], None], [["N"], ["V"]], r"received None \(NoneType\) as item 1"),
        (TOKENS, TAGS[:3], "20 sentences and tags for 3"),
        ([["Dogs"]], [["N", "V"]], "received 1 tokens and 2 tags"),
        (TOKENS, None, "requires y to be passed"),
        ([], [], "X holds no sentences"),
        ([["Dogs"]], [["N"]], "leaves none to train on"),
        ([["Dogs"], ["Cats"]] * 9, [["N"], ["N"]] * 9, "has one tag"),
    ],
)
def test_sentences_that_cannot_be_learnt_are_refused(tokens, tags, message):
    with pytest.raises((TypeError, ValueError), match=message):
        SequenceTagger(**TINY_TAGGER).fit(tokens, tags)
