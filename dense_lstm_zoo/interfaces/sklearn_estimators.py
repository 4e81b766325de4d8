"""A classifier of texts and a tagger as estimators of scikit-learn, over ``train`` and its bundles."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_consistent_length, column_or_1d

from dense_lstm_zoo.classification.corpus import Corpus
from dense_lstm_zoo.classification.split import Split
from dense_lstm_zoo.interfaces.estimator import ZooEstimator, with_options_of
from dense_lstm_zoo.interfaces.inputs import (
    Labels,
    SampleWeights,
    Texts,
    TokenRows,
    indicators,
    tagged_split,
    targets_of,
    texts_of,
    token_lists,
    with_own_dtype,
)
from dense_lstm_zoo.tagging.corpus import TaggingCorpus

if TYPE_CHECKING:
    from sklearn.utils import Tags

_PUBLIC = "dense_lstm_zoo.sklearn"  # where pickles look for the classes
_NAME = "texts"  # of the corpus, which bundles record


class TextClassifier(ClassifierMixin, ZooEstimator):
    """A classifier of texts that scikit-learn can search, cross-validate, calibrate and pickle.

    ``fit`` trains with ``train``, which holds out a tenth of the texts as dev, stratified, and keeps the epoch that is
    best on them. ``bundle_`` is what it returns: ``bundle_.save("runs/mine")`` writes it to a folder. A pickle holds
    the bundle's files.

    Args:
        model: A registered classifier. See ``list_models(task="classification")``.
        recipe: As for ``train``.
        seed: As for ``train``. The same seed, texts and settings make the same model.
        run_dir: The folder to write the bundle to. None writes none.
        overwrite: Whether ``run_dir`` may be replaced, as each ``fit`` of a search writes it.
        **options: Options of ``train``, such as ``epochs`` or ``effort``, and arguments of the model, such as
            ``units``. ``get_params`` returns those that were given. The baseline is left out unless ``baseline=True``.

    Attributes:
        classes_: The labels of the training, sorted, with their own type. Where texts have several labels, the columns
            of ``y`` by their names or places.
        bundle_: The trained model.

    Raises:
        ValueError: An unknown option, with near matches. Values are checked by ``fit``.

    Example:
        ``TextClassifier("bilstm", epochs=8, units=64).fit(texts, labels).predict(["A fine film ."])``
    """

    __module__ = _PUBLIC
    _task: ClassVar[str] = "classification"
    _settings: ClassVar[dict[str, Any]] = {"baseline": False}

    @with_options_of("classification")
    def __init__(
        self,
        model: str = "bilstm",
        *,
        recipe: str | None = None,
        seed: int = 1,
        run_dir: str | Path | None = None,
        overwrite: bool = False,
        **options: Any,
    ) -> None:
        self._set({"model": model, "recipe": recipe, "seed": seed})
        self._set({"run_dir": run_dir, "overwrite": overwrite, **options})

    def fit(self, X: Texts, y: Labels) -> Self:
        """Train the model.

        Args:
            X: Texts: a list or an array of strings, a column, or a table of one column.
            y: A label for each, of any type that sorts: strings, integers, booleans. Where texts have several labels,
                or none, a matrix of 0 and 1 (texts, labels), dense or sparse, or a table of such columns.

        Returns:
            The estimator itself.

        Raises:
            TypeError: Anything but texts, such as one string, rows of ids or None among them.
            ValueError: No texts, another number of labels, a label that is missing, fewer than two classes, or an
                option out of range.
        """
        texts = texts_of(X)
        if not texts:
            raise ValueError("X holds no texts; fit needs at least some of each class.")
        classes, targets = targets_of(y)
        check_consistent_length(texts, targets)
        places = targets if targets.ndim == 1 else map(np.flatnonzero, targets)
        labels = [place.tolist() for place in places]
        corpus = Corpus(_NAME, tuple(map(str, classes)), Split(texts, labels), None, None)
        self.bundle_, self.classes_ = self._train(corpus), classes
        return self

    def predict(self, X: Texts) -> np.ndarray:
        """Return the likeliest label of each text, from ``classes_``.

        Where texts have several labels, 0 and 1 (texts, classes) are returned: 1 from a label's threshold on.

        Args:
            X: Texts as for ``fit``. Empty texts, unknown words and an empty list are allowed.

        Raises:
            NotFittedError: ``fit`` has not been called.
            TypeError: As for ``fit``.
        """
        bundle = self._trained()
        places: np.ndarray = bundle.predict_indices(texts_of(X))
        labels: np.ndarray = places.astype(int) if bundle.is_several else self.classes_[places]
        return labels

    def predict_proba(self, X: Texts) -> np.ndarray:
        """Return the probabilities (texts, classes) in the order of ``classes_``. Takes and raises as ``predict``."""
        probabilities: np.ndarray = self._trained().probabilities(texts_of(X))
        return probabilities

    def score(self, X: Texts, y: Labels, sample_weight: SampleWeights | None = None) -> float:
        """Return the accuracy, or where texts have several labels the share of texts with exactly the right ones.

        Args:
            X: Texts as for ``fit``.
            y: Their labels, with the type that they had in ``fit``.
            sample_weight: How much each text counts, or None.

        Raises:
            NotFittedError: ``fit`` has not been called.
            TypeError: As for ``fit``.
            ValueError: A label that is not among ``classes_``. ``scoring="accuracy"`` counts such a text as wrong.
                Or a matrix where texts have one label, or the reverse.
        """
        if self._trained().is_several:
            return float(super().score(texts_of(X), indicators(y, self.bundle_.labels)[1], sample_weight))
        labels, accepted = with_own_dtype(column_or_1d(y)), self.classes_.tolist()
        set_of_labels = set(accepted)
        for label in labels.tolist():
            if label not in set_of_labels:
                names = ", ".join(map(repr, accepted[:8])) + (", ..." if len(accepted) > 8 else "")
                raise ValueError(f"y holds the label {label!r:.80}, which is not among classes_: {names}.")
        return float(super().score(texts_of(X), labels, sample_weight))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


class SequenceTagger(ZooEstimator):
    """A tagger of tokens that scikit-learn can search, cross-validate and pickle.

    ``fit`` holds out some sentences as dev, and trains on the others with ``train``, which keeps the epoch that is best
    on dev.

    Args:
        model: A registered tagger. See ``list_models(task="tagging")``.
        dev: The share of the sentences to hold out, drawn with ``seed``.
        recipe: As for ``train``.
        seed: As for ``train``.
        run_dir: The folder to write the bundle to. None writes none.
        overwrite: Whether ``run_dir`` may be replaced.
        **options: Options of ``train`` and arguments of the model, as for ``TextClassifier``.

    Attributes:
        classes_: The tags that the model predicts, sorted.
        bundle_: The trained model. ``bundle_.predict`` also returns spans, where the tags mark some.

    Raises:
        ValueError: An unknown option, with near matches. Values are checked by ``fit``.

    Example:
        ``SequenceTagger("bilstm_tagger", epochs=8).fit(tokens, tags).predict([["Dogs", "bark"]])``
    """

    dev: float
    seed: int
    __module__ = _PUBLIC
    _task: ClassVar[str] = "tagging"
    _not_of_train: ClassVar[tuple[str, ...]] = ("dev",)

    @with_options_of("tagging")
    def __init__(
        self,
        model: str = "bilstm_tagger",
        *,
        dev: float = 0.1,
        recipe: str | None = None,
        seed: int = 1,
        run_dir: str | Path | None = None,
        overwrite: bool = False,
        **options: Any,
    ) -> None:
        self._set({"model": model, "dev": dev, "recipe": recipe, "seed": seed})
        self._set({"run_dir": run_dir, "overwrite": overwrite, **options})

    def fit(self, X: TokenRows, y: TokenRows) -> Self:
        """Train the model.

        Args:
            X: Sentences, each a list of tokens.
            y: For each a list of tags, one for each token.

        Returns:
            The estimator itself.

        Raises:
            TypeError: Anything but lists of lists of strings.
            ValueError: No sentences, other numbers of tags than of tokens, or an option out of range.
        """
        split = tagged_split(X, y)
        if not len(split):
            raise ValueError("X holds no sentences; fit needs at least some.")
        corpus = TaggingCorpus(_NAME, split, None, None).with_dev(self.dev, self.seed)
        self.bundle_ = self._train(corpus)
        self.classes_ = np.array(self.bundle_.labels)
        return self

    def predict(self, X: TokenRows) -> list[list[str]]:
        """Return the tags of each sentence.

        Args:
            X: Sentences as for ``fit``. Sentences without tokens, unknown words and an empty list are allowed.

        Raises:
            NotFittedError: ``fit`` has not been called.
            TypeError: As for ``fit``.
        """
        return [sentence.tags for sentence in self._trained().predict(token_lists("X", X))]

    def predict_proba(self, X: TokenRows) -> list[np.ndarray]:
        """Return the probabilities of all tags (tokens, classes) of each sentence, in the order of ``classes_``.

        With a conditional random field (``crf=True``), ``predict`` returns the likeliest sequence of tags, in which a
        tag need not be the likeliest one of its token. Takes and raises as ``predict``.
        """
        probabilities: list[np.ndarray] = self._trained().probabilities(token_lists("X", X))
        return probabilities

    def score(self, X: TokenRows, y: TokenRows) -> float:
        """Return the accuracy per token. Takes sentences and tags as ``fit``, and raises the same errors.

        A tag that the model does not know counts as wrong. If most are unknown, a warning says so.
        """
        return float(self._trained().evaluate(tagged_split(X, y))["accuracy"])
