"""scikit-learn's own checks of estimators, as far as texts allow."""

import warnings
from functools import partial

import numpy as np
import pytest
from sklearn.exceptions import SkipTestWarning
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import estimator_checks_generator
from sklearn.utils.validation import validate_data

from dense_lstm_zoo.sklearn import SequenceTagger, TextClassifier
from tests.test_sklearn import TINY, TINY_TAGGER

# Checks that train nothing.
WITHOUT_DATA = (
    "check_do_not_raise_errors_in_init_or_set_params",
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_estimator_tags_renamed",
    "check_estimators_unfitted",
    "check_get_params_invariance",
    "check_mixin_order",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_set_params",
    "check_valid_tag_types",
)
# Checks that say nothing of an estimator of texts, with the reason.
NOT_OF_TEXTS = {
    "check_array_api_input": "arrays of other libraries",
    "check_complex_data": "complex numbers",
    "check_dtype_object": "numbers as objects",
    "check_estimator_sparse_array": "sparse numbers",
    "check_estimator_sparse_matrix": "sparse numbers",
    "check_estimator_sparse_tag": "sparse numbers",
    "check_estimators_dtypes": "types of numbers",
    "check_estimators_empty_data_messages": "a table without columns",
    "check_estimators_nan_inf": "numbers that are not finite",
    "check_estimators_partial_fit_n_features": "the number of columns",
    "check_f_contiguous_array_estimator": "the order of numbers in memory",
    "check_fit1d": "a table of one dimension is refused, but is a list of texts",
    "check_fit2d_1feature": "a table of one column",
    "check_fit2d_1sample": "a table of one row",
    "check_fit2d_predict1d": "a table of one dimension is refused, but is a list of texts",
    "check_n_features_in": "the number of columns",
    "check_n_features_in_after_fitting": "the number of columns",
    "check_positive_only_tag_during_fit": "negative numbers",
    "check_readonly_memmap_input": "numbers in a file",
}


class OnNumbers(TextClassifier):
    """The classifier on tables of numbers: each row becomes a text, a word per number."""

    def fit(self, X, y):
        X, y = validate_data(self, X, y, multi_output=np.asarray(y).ndim == 2)
        return super().fit(texts(X), y)

    def predict(self, X):
        self._trained()
        return super().predict(texts(validate_data(self, X, reset=False)))

    def predict_proba(self, X):
        self._trained()
        return super().predict_proba(texts(validate_data(self, X, reset=False)))

    def score(self, X, y):
        return (self.predict(X) == y).mean()

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array = False, True
        tags.classifier_tags.poor_score = True  # of words for rounded numbers
        return tags


def texts(rows):
    return [" ".join(f"{column}_{number:.0f}" for column, number in enumerate(row)) for row in rows]


def name_of(check):
    while isinstance(check, partial):
        check = check.func
    return check.__name__


CHECKS = [check for _, check in estimator_checks_generator(OnNumbers(**TINY), legacy=True)]


@pytest.mark.parametrize("name", WITHOUT_DATA)
@pytest.mark.parametrize("model", [TextClassifier(**TINY), SequenceTagger(**TINY_TAGGER)], ids=["texts", "tokens"])
def test_an_estimator_passes_the_checks_that_train_nothing(name, model):
    getattr(estimator_checks, name)(type(model).__name__, model)


@pytest.mark.parametrize("model", [TextClassifier(), SequenceTagger()], ids=["texts", "tokens"])
def test_check_estimator_itself_leaves_texts_out(model):
    with pytest.warns(SkipTestWarning, match="Can't test estimator"):
        names = [name_of(check) for _, check in estimator_checks_generator(model)]
    assert names == ["check_estimator_cloneable"]


def test_the_checks_that_are_not_of_texts_exist():
    assert set(NOT_OF_TEXTS) | set(WITHOUT_DATA) <= set(map(name_of, CHECKS))


@pytest.mark.slow
@pytest.mark.parametrize(
    "check", [check for check in CHECKS if name_of(check) not in (*NOT_OF_TEXTS, *WITHOUT_DATA)], ids=name_of
)
def test_the_classifier_passes_the_checks_that_train_it_on_rows_as_texts(check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkipTestWarning)
        check(OnNumbers(**TINY))
