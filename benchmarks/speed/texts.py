"""The sides that start from raw text: what a user of this package does, and what a user of stock Keras does.

Both have our tokeniser, the same vocabulary, weights of the same shapes, Adam and dropout. Ours is the package's own
path: ``zoo.build``, ``TrainingBatches`` (bucketed by length) and a bundle's ``predict``. Stock is the usual recipe:
shuffled ids in ``padded_batch``, stock layers under a mask, and a traced function over texts in their order.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import tensorflow as tf

from benchmarks.speed.measure import seconds_a_step
from benchmarks.speed.peers import SEED, stock_encoder
from dense_lstm_zoo.classification.batches import TrainingBatches
from dense_lstm_zoo.classification.bundle import ClassificationBundle
from dense_lstm_zoo.classification.vocabulary import build_vocabulary
from dense_lstm_zoo.corpora.loader import load_corpus
from dense_lstm_zoo.models import registry

BATCH = 200
PREDICT_BATCH = 256  # what the bundle uses
MODEL, RECIPE = "dc_bilstm", "ding2018"


class TextSide:
    """A corpus with a model: raw texts in, weights or labels out.

    Args:
        side: ``"ours"`` or ``"keras"``.
        corpus: A corpus whose files are on this machine.
        max_texts: Use at most this many training texts.
        kernel: The layers' ``kernel`` argument, ours only. None leaves the default.
        overrides: Model arguments in place of the recipe's (the tests' small sizes).
    """

    def __init__(
        self,
        side: str,
        corpus: str,
        max_texts: int | None = None,
        kernel: str | None = None,
        overrides: dict[str, int] | None = None,
    ) -> None:
        dataset = load_corpus(corpus)
        self.is_ours = side == "ours"
        self.texts, self.labels = dataset.train.texts[:max_texts], dataset.train.labels[:max_texts]
        self.label_names = list(dataset.label_names)
        self.vocabulary = build_vocabulary(self.texts).vocabulary
        self.text_to_ids = self.vocabulary.text_to_ids()
        self.rows = self.text_to_ids.encode(self.texts)
        self._options = {**(overrides or {}), **({"kernel": kernel} if kernel is not None and self.is_ours else {})}
        self._model: Any = None
        self._pipeline: Any = None

    def sizes(self) -> dict[str, int]:
        """Return how many texts and tokens there are."""
        return {"texts": len(self.texts), "tokens": sum(map(len, self.rows))}

    @property
    def model(self) -> Any:
        """The compiled model, built when it is first asked for."""
        if self._model is None:
            import keras

            keras.utils.set_random_seed(SEED)
            sizes = {"vocab_size": self.vocabulary.size, "num_classes": len(self.label_names)}
            arguments = registry.resolve(MODEL, {**sizes, **self._options}, RECIPE)
            self._model = registry.build(MODEL, **arguments) if self.is_ours else stock_classifier(arguments)
            config = {"arguments": arguments}
            self._bundle = ClassificationBundle(self._model, config, self.vocabulary, self.label_names, {}, None)
            spec = tf.TensorSpec((None, None), tf.int32)
            model = self._model
            self._call = tf.function(lambda ids: model(ids, training=False), input_signature=[spec])
        return self._model

    def build(self) -> None:
        """Build the model, so that no time holds it."""
        assert self.model

    def weights(self) -> list[np.ndarray]:
        """Return a copy of the weights, in the same order on both sides."""
        return self.model.get_weights()

    def set_weights(self, weights: list[np.ndarray]) -> None:
        """Take the other side's weights."""
        self.model.set_weights(weights)

    def epochs(self) -> list[float]:
        """Train two epochs. Return the seconds of the first, from raw texts on, and of the second."""
        import keras

        model, ends = self.model, []
        clock = keras.callbacks.LambdaCallback(on_epoch_end=lambda *_: ends.append(time.perf_counter()))
        started = time.perf_counter()
        self.rows = self.text_to_ids.encode(self.texts)
        if self.is_ours:
            batches = TrainingBatches(self.rows, self.labels, batch_size=BATCH, seed=SEED)
            model.fit(batches.dataset, epochs=2, callbacks=[batches, clock], verbose=0, shuffle=False)
        else:
            model.fit(self._padded_batches(), epochs=2, callbacks=[clock], verbose=0, shuffle=False)
        return [ends[0] - started, ends[1] - ends[0]]

    def _padded_batches(self) -> tf.data.Dataset:
        return padded_batches(self.rows, self.labels, BATCH)

    def predict_texts(self, steps: int) -> float:
        """Label all texts ``steps`` times, from raw text to names, and return the seconds of one pass."""
        self.build()
        if self.is_ours:
            return seconds_a_step(lambda: [prediction.label for prediction in self._bundle.predict(self.texts)], steps)
        return seconds_a_step(lambda: [self.label_names[i] for i in self.probabilities().argmax(axis=1)], steps)

    def probabilities(self) -> np.ndarray:
        """Return the probabilities of all texts, in their order."""
        self.build()
        if self.is_ours:
            return self._bundle.probabilities(self.texts)
        chunks = (self.texts[start : start + PREDICT_BATCH] for start in range(0, len(self.texts), PREDICT_BATCH))
        logits = [self._call(self.text_to_ids.padded(tf.constant(chunk))) for chunk in chunks]
        return tf.nn.softmax(tf.concat(logits, axis=0)).numpy()

    def encode_texts(self, steps: int) -> float:
        """Turn all texts into ids ``steps`` times and return the seconds of one pass."""
        return seconds_a_step(lambda: self.text_to_ids.encode(self.texts), steps)

    def iterate_batches(self, steps: int) -> float:
        """Go through an epoch of training batches without a model ``steps`` times. Return the seconds of one."""
        if self._pipeline is None:
            if self.is_ours:
                self._pipeline = TrainingBatches(self.rows, self.labels, batch_size=BATCH, seed=SEED).dataset
            else:
                self._pipeline = self._padded_batches()
        return seconds_a_step(lambda: sum(1 for _ in self._pipeline), steps)


def padded_batches(rows: Any, labels: Any, batch: int, *, shuffled: bool = True) -> tf.data.Dataset:
    """Return batches of (ids, labels) as users of stock Keras make them, from the ids and the label of each text."""
    ragged = tf.RaggedTensor.from_row_lengths(np.concatenate(rows), [len(row) for row in rows])
    dataset = tf.data.Dataset.from_tensor_slices((ragged, np.asarray(labels, np.int32)))
    # What comes out of a ragged slice is a plain tensor only behind a map.
    dataset = dataset.map(lambda ids, label: (ids, label))
    if shuffled:
        dataset = dataset.shuffle(len(rows), seed=SEED)
    return dataset.padded_batch(batch).prefetch(tf.data.AUTOTUNE)


def stock_classifier(arguments: dict[str, Any], vectors: np.ndarray | None = None) -> Any:
    """Return the compiled model of ``models.classifiers.classifier`` and ``dc_bilstm`` in stock Keras layers.

    Args:
        arguments: Every argument of ``dc_bilstm``, resolved.
        vectors: The vector of each word, which stay as they are. None trains random ones.
    """
    import keras

    ids = keras.Input((None,), dtype="int32")
    words = keras.layers.Embedding(
        arguments["vocab_size"],
        arguments["embedding_dim"],
        embeddings_initializer="uniform" if vectors is None else keras.initializers.Constant(vectors),
        trainable=vectors is None,
    )(ids)
    words = keras.layers.Dropout(arguments["embedding_dropout"])(words)
    units = [arguments["dense_units"]] * arguments["num_dense_layers"] + [arguments["top_units"]]
    pooled = keras.layers.Dropout(arguments["dropout"])(stock_encoder(units, words, ids != 0))
    regularizer = keras.regularizers.L2(arguments["l2"])
    logits = keras.layers.Dense(arguments["num_classes"], kernel_regularizer=regularizer)(pooled)
    model = keras.Model(ids, logits)
    model.compile(
        optimizer=keras.optimizers.Adam(arguments["learning_rate"]),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
        jit_compile=False,
    )
    return model
