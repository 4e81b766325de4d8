"""A trained classifier: prediction on raw texts, evaluation, export to a SavedModel."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dense_lstm_zoo import checks
from dense_lstm_zoo.bundle import Bundle
from dense_lstm_zoo.classification.task import TASK
from dense_lstm_zoo.classification.text_ids import TextToIds, pad_features
from dense_lstm_zoo.classification.vocabulary import Vocabulary
from dense_lstm_zoo.data.text import to_bytes
from dense_lstm_zoo.task import Task

if TYPE_CHECKING:
    import tensorflow as tf

    from dense_lstm_zoo.classification.corpus import Split
    from dense_lstm_zoo.classification.explain import Explanation

_CHUNK = 4096  # texts held at a time by predict_stream


@dataclass(frozen=True)
class Prediction:
    """A text, its predicted label and probability, and the probability of every label."""

    text: str
    label: str
    probability: float
    probabilities: dict[str, float]


@dataclass(eq=False, repr=False)
class ClassificationBundle(Bundle):
    """A trained sentence classifier."""

    vocabulary: Vocabulary

    read_vocabulary: ClassVar[Callable[..., Vocabulary]] = Vocabulary.read
    task: ClassVar[Task] = TASK

    @functools.cached_property
    def text_to_ids(self) -> TextToIds:
        """The layer that turns raw texts into the model's ids."""
        return self.vocabulary.text_to_ids()

    @functools.cached_property
    def logits_of(self) -> Callable[[Any], tf.Tensor]:
        """The model as one graph for any batch and length."""
        from dense_lstm_zoo.classification.batches import logits_of

        return logits_of(self.model, self.text_to_ids.signature)

    def predict(self, texts: Sequence[str]) -> list[Prediction]:
        """Classify raw texts; empty texts and unknown words are allowed.

        Args:
            texts: A sequence of strings.

        Returns:
            One ``Prediction`` per text, in order.

        Raises:
            TypeError: A single string, a table or a dictionary in place of a sequence, or an item that is not a string,
                such as None; the message gives its position.
        """
        return list(self.predict_stream(texts))

    def predict_stream(self, texts: Iterable[str]) -> Iterator[Prediction]:
        """Classify texts as they come, in constant memory: one prediction per text, in order."""
        for chunk in checks.text_chunks(texts, _CHUNK):
            for text, row in zip(chunk, _softmax(self._logits(chunk)), strict=True):
                best = int(np.argmax(row))
                by_label = dict(zip(self.labels, row.tolist(), strict=True))
                yield Prediction(text, self.labels[best], float(row[best]), by_label)

    def probabilities(self, texts: Sequence[str]) -> np.ndarray:
        """Return the probabilities (texts, classes) of raw texts; raises the same errors as ``predict``."""
        found = [_softmax(self._logits(chunk)) for chunk in checks.text_chunks(texts, _CHUNK)]
        return np.concatenate(found) if found else np.empty((0, len(self.labels)), np.float32)

    def explain(self, text: str) -> Explanation:
        """Show which words influenced the prediction for a text, and which the pooling attended to, layer by layer.

        Args:
            text: A raw string.

        Returns:
            Tokens with their saliency, for every classifier; shares per layer for models with dynamic interaction, per
            head for those with self-attention.

        Raises:
            TypeError: ``text`` is not a string.
        """
        from dense_lstm_zoo.classification.explain import Explanation, share_names

        if not isinstance(text, str):
            raise TypeError(f"explain takes one string; received {text!r:.80}.")
        tokens, ids = self.text_to_ids.read(to_bytes([text]))
        found = {name: values.numpy()[0] for name, values in self._explained(pad_features(ids)).items()}
        shares = np.exp(found["logits"] - found["logits"].max())
        best = int(shares.argmax())
        return Explanation(
            text=text,
            label=self.labels[best],
            probability=float(shares[best] / shares.sum()),
            tokens=[token.decode() for token in tokens.to_list()[0]],
            saliency=found["saliency"],
            layers=share_names(self.model),
            shares=found["shares"],
        )

    @functools.cached_property
    def _explained(self) -> Callable[[Any], dict[str, tf.Tensor]]:
        import tensorflow as tf

        from dense_lstm_zoo.classification.explain import explainer

        return tf.function(explainer(self.model), input_signature=[self.text_to_ids.signature])

    def _logits(self, texts: Sequence[str]) -> np.ndarray:
        from dense_lstm_zoo.classification.batches import predict_logits

        return predict_logits(self.logits_of, self.text_to_ids.encode(texts))

    def evaluate(self, split: Split, label_names: Sequence[str] | None = None) -> dict[str, float]:
        """Score the model on labelled texts.

        Args:
            split: Texts with labels, such as ``load_corpus("trec").test``.
            label_names: Names of the split's labels; the bundle's own by default.

        Returns:
            ``accuracy``, ``loss`` (mean cross-entropy) and ``texts`` (how many).

        Raises:
            ValueError: No texts, or a label that the model does not know.
        """
        return self.assess(split, label_names)[0]

    def analyse(self, split: Split, label_names: Sequence[str] | None = None) -> dict[str, Any]:
        """Analyse the errors on labelled texts, given as to ``evaluate``; see ``classification.analysis.analyse``."""
        return self.assess(split, label_names)[1]

    def assess(self, split: Split, label_names: Sequence[str] | None = None) -> tuple[dict[str, float], dict[str, Any]]:
        """Return the results of ``evaluate`` and ``analyse`` from one pass over the texts."""
        from dense_lstm_zoo.classification.analysis import analyse

        names = list(label_names) if label_names is not None else self.labels
        if not len(split):
            raise ValueError("evaluate needs at least one text; received none.")
        for name in {names[label] for label in split.labels}:
            if name not in self.labels:
                raise checks.unknown_name("label", name, self.labels)
        labels = np.array([self.labels.index(names[label]) for label in split.labels])
        logits = self._logits(split.texts).astype(np.float64)
        shifted = logits - logits.max(axis=1, keepdims=True)
        log_probabilities = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
        scores = {
            "accuracy": float((logits.argmax(axis=1) == labels).mean()),
            "loss": float(-log_probabilities[np.arange(len(labels)), labels].mean()),
            "texts": len(labels),
        }
        return scores, analyse(split.texts, labels, np.exp(log_probabilities), self.labels)


def _softmax(logits: np.ndarray) -> np.ndarray:
    exp = np.exp(logits - logits.max(axis=1, keepdims=True))
    return exp / exp.sum(axis=1, keepdims=True)
