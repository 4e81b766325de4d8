"""fastText's supervised classifier."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.frontier.peer import Part, Peer


class FastText(Peer):
    """fastText's supervised classifier (Joulin et al. 2017), with pairs of words."""

    packages = ("fasttext-numpy2-wheel",)

    def fit(self, train: Part, dev: Part) -> None:
        """Choose epochs and learning rate on dev. It runs in one thread, as more make runs differ.

        fastText reads its file in order and does not shuffle, and corpora are often sorted by label.
        """
        import random
        import tempfile

        import fasttext

        names = sorted(set(train[1]))
        self.names = names
        with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as file:
            pairs = list(zip(*train, strict=True))
            random.Random(1).shuffle(pairs)
            for text, label in pairs:
                file.write(f"__label__{names.index(label)} {_line(text)}\n")
            file.flush()

            def make(open_: tuple[int, float]) -> Any:
                epochs, rate = open_
                options = {"wordNgrams": 2, "dim": 100, "bucket": 200_000, "thread": 1, "seed": 1, "verbose": 0}
                model = fasttext.train_supervised(file.name, epoch=epochs, lr=rate, **options)
                return _FastTextLabels(model, names)

            candidates = [(epochs, rate) for epochs in (5, 15, 30, 60) for rate in (0.1, 0.25, 0.5)]
            self.model = self.keep_the_best("epochs,rate", candidates, make, dev)

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
        answers, _ = self.model.predict([_line(text) for text in texts])
        return [self.names[int(labels[0].removeprefix("__label__"))] for labels in answers]


def _line(text: str) -> str:
    return " ".join(text.lower().split())
