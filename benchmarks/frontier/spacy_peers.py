"""spaCy's text classifier and its tagger."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from benchmarks.frontier.peer import Part, Peer, accuracy


class Spacy(Peer):
    """spaCy's components, trained from nothing, as its quickstart makes them for a CPU."""

    packages = ("spacy",)
    component = "textcat"
    epochs = 10

    def _examples(self, part: Part) -> list[Any]:
        from spacy.training import Example

        examples = []
        for text, label in zip(*part, strict=True):
            cats = {name: float(name == label) for name in self.names}
            examples.append(Example.from_dict(self.pipeline.make_doc(text), {"cats": cats}))
        return examples

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
        best, weights = -1.0, b""
        for epoch in range(1, self.epochs + 1):
            random.shuffle(examples)
            for batch in minibatch(examples, compounding(16.0, 128.0, 1.002)):
                self.pipeline.update(batch, sgd=optimizer, drop=0.2)
            with self.pipeline.use_params(optimizer.averages):
                score = accuracy(self.predict(dev[0]), dev[1])
                if score > best:
                    best, weights, self.settings = score, self.pipeline.to_bytes(), f"epoch={epoch}"
        self.pipeline.from_bytes(weights)

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
