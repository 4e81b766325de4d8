"""Linear models on words and pairs of words, of scikit-learn."""

from __future__ import annotations

from typing import Any

from benchmarks.frontier.peer import Part, Peer


class Linear(Peer):
    """A pipeline of scikit-learn, ``model``, from texts to labels."""

    model: Any

    def predict(self, texts: list[Any]) -> list[Any]:
        """Return a label for each text."""
        return [str(label) for label in self.model.predict(texts)]


class TfIdf(Linear):
    """TF-IDF of words and pairs of words, and a logistic regression."""

    def fit(self, train: Part, dev: Part) -> None:
        """Choose the regularisation on dev."""
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline

        def make(strength: float) -> Any:
            words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=r"\S+")
            return make_pipeline(words, LogisticRegression(C=strength, max_iter=1000)).fit(*train)

        self.model = self.keep_the_best("C", (0.3, 1, 3, 10, 30), make, dev)


class NbSvm(Linear):
    """Words and pairs of words, weighed by naive Bayes (``benchmarks.nb_svm``)."""

    def fit(self, train: Part, dev: Part) -> None:
        """Choose the regularisation on dev."""
        from sklearn.feature_extraction.text import CountVectorizer
        from sklearn.pipeline import make_pipeline

        from benchmarks.nb_svm import NBSVM

        def make(strength: float) -> Any:
            words = CountVectorizer(ngram_range=(1, 2), binary=True, token_pattern=r"\S+")
            return make_pipeline(words, NBSVM(strength)).fit(*train)

        self.model = self.keep_the_best("C", (0.03, 0.1, 0.3, 1, 3), make, dev)
