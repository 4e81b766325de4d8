"""A classifier of texts as a Keras model: strings in, probabilities out."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import keras
import numpy as np
import tensorflow as tf

from dense_lstm_zoo import checks
from dense_lstm_zoo.backend import check_tensorflow
from dense_lstm_zoo.classification.assembly import loss_and_metric
from dense_lstm_zoo.classification.batches import Examples, TrainingBatches, evaluation_batches, predict_rows
from dense_lstm_zoo.classification.bundle import ClassificationBundle
from dense_lstm_zoo.classification.datasets import model_arguments, vocabulary_of
from dense_lstm_zoo.classification.fit_inputs import labels_of, weights_of
from dense_lstm_zoo.classification.network import ClassifierNetwork
from dense_lstm_zoo.classification.options import weights_of_targets
from dense_lstm_zoo.classification.schedule import schedule
from dense_lstm_zoo.classification.vocabulary import Vocabulary
from dense_lstm_zoo.data.batching import generated, plan_batches, plan_predictions
from dense_lstm_zoo.data.frames import is_frame
from dense_lstm_zoo.data.label_columns import SETS
from dense_lstm_zoo.interfaces.arguments import check_source, resolve_own
from dense_lstm_zoo.interfaces.compiling import AUTO, Loss, Metrics, Optimizer, serialized
from dense_lstm_zoo.interfaces.graph_errors import clear_errors
from dense_lstm_zoo.interfaces.inputs import (
    Labels,
    SampleWeights,
    Texts,
    indicators,
    is_matrix,
    place_of_division,
    texts_in,
    texts_of,
)
from dense_lstm_zoo.interfaces.labelled_task import LabelledTask, column_of
from dense_lstm_zoo.interfaces.origins import Origin, plain
from dense_lstm_zoo.interfaces.preprocessors import TextPreprocessor
from dense_lstm_zoo.interfaces.weighing import WeightsOf, of_decisions, weights_by_name
from dense_lstm_zoo.models.label_sets import ExactMatch, LabelSetCrossentropy
from dense_lstm_zoo.training.class_weights import Weights
from dense_lstm_zoo_runtime.decisions import FAINT, SEVERAL
from dense_lstm_zoo_runtime.ids import UNKNOWN

_MOST_FREQUENT = 50_000
_LABELS = ("one", SEVERAL)


@dataclass(frozen=True)
class _Texts:
    """Texts as ids, with their labels and weights if they have any."""

    rows: Sequence[Any]
    labels: np.ndarray
    weights: Any = None

    def divided(self, share: float) -> tuple[_Texts, _Texts]:
        """Return the texts to train on, and the last ones, this share, to validate on."""
        place = place_of_division(len(self.rows), share)
        return self._part(slice(place)), self._part(slice(place, None))

    def _part(self, part: slice) -> _Texts:
        return _Texts(self.rows[part], self.labels[part], None if self.weights is None else self.weights[part])

    def training(self, batch_size: int | None, seed: int, epoch: int, shuffle: bool) -> tf.data.Dataset:
        """Return the batches of ``train``, from an epoch on."""
        if batch_size is None:
            batch_size = schedule(len(self.rows))["batch_size"]
        if not shuffle:
            return self.evaluation(batch_size)
        batches = TrainingBatches(self.rows, self.labels, batch_size=batch_size, seed=seed, weights=self.weights)
        batches.on_epoch_begin(epoch)
        return batches.dataset

    def evaluation(self, batch_size: int | None, steps: int | None = None) -> tf.data.Dataset:
        """Return batches sorted by length."""
        first = self._part(slice(texts_in(steps, batch_size)))
        return evaluation_batches(first.rows, first.labels, batch_size, first.weights)


@keras.saving.register_keras_serializable(package="dense_lstm_zoo")
class TextClassifier(LabelledTask, keras.Model):
    """A classifier of raw texts as a ``keras.Model``: preprocessor, encoder and softmax in one.

    It is called on raw texts or on ids and returns logits. ``predict`` returns probabilities (texts, classes). ``fit``,
    ``evaluate`` and ``predict`` take a list or an array of strings, a column of a table, or a ``tf.data.Dataset`` of
    batches of strings. Labels are names or integers from 0. With ``labels="several"``, each label has a sigmoid, and
    the labels of texts are lists of names or integers, or a matrix or a table of 0 and 1 (texts, classes).

    Args:
        model: A registered classifier. See ``list_models(task="classification")``.
        texts: The training texts, from which the vocabulary is taken.
        label_names: The labels in the order of the probabilities.
        num_classes: Their number, for labels that are integers and have no names.
        labels: The labels of a text: ``one``, or ``several``, which may also be none.
        vocabulary: A vocabulary to use, that of a bundle or of another task, instead of ``texts``. All its word
            vectors are new, and trained.
        oov: What happens to other words: ``"unk"`` or ``"drop"``. None means as in ``vocabulary``, or as in ``train``.
        max_tokens: Only the first tokens of a text are read. None means as many as in ``vocabulary``, or all.
        vectors: A word table's name or a file of word vectors to start from, with ``texts``.
        vector_words: How many of its first words are added to the vocabulary.
        recipe: A published result whose model arguments to use.
        compile: Whether to compile the model as ``zoo.build`` does.
        name: The name of the Keras model.
        **arguments: The model's own arguments, such as ``units``. See ``describe(model)``.

    Attributes:
        preprocessor: The layer from texts to ids.
        backbone: The encoder, from ids to the vector that the softmax reads.
        label_names: The labels.

    Raises:
        TypeError: Texts that are not strings.
        ValueError: An unknown model or argument (with near matches), no texts, no labels, fewer than two, or another
            number of names than ``num_classes``. ``vectors`` beside ``vocabulary``.

    Example:
        >>> texts, labels = ["a fine film", "dull"] * 4, ["pos", "neg"] * 4
        >>> model = TextClassifier("bilstm", texts=texts, label_names=["neg", "pos"], units=4, embedding_dim=8)
        >>> model.fit(texts, labels, epochs=2, verbose=0).epoch
        [0, 1]
        >>> model.predict(["a fine film"], verbose=0).shape
        (1, 2)
    """

    _task: ClassVar[str] = "classification"
    _preprocessor: ClassVar[type[TextPreprocessor]] = TextPreprocessor
    _number: ClassVar[str] = "num_classes"
    _of_head: ClassVar[tuple[str, ...]] = ("labels",)

    def __init__(
        self,
        model: str = "bilstm",
        *,
        texts: Texts | None = None,
        label_names: Iterable[Any] | None = None,
        num_classes: int | None = None,
        labels: str = "one",
        vocabulary: Vocabulary | None = None,
        oov: str | None = None,
        max_tokens: int | None = None,
        vectors: str | Path | None = None,
        vector_words: int = _MOST_FREQUENT,
        recipe: str | None = None,
        compile: bool = True,
        name: str | None = None,
        **arguments: Any,
    ) -> None:
        check_tensorflow("Keras tasks")
        names = self._names(label_names, num_classes)
        is_several = checks.one_of("labels", labels, _LABELS) == SEVERAL
        arguments = resolve_own(self._task, model, arguments, recipe, vectors)
        check_source(self, texts, vocabulary, vectors=vectors, vector_words=vector_words)
        matrix, reads_chars = None, bool(arguments.get("char_filters"))
        if vocabulary is None:
            options: dict[str, Any] = {"max_tokens": max_tokens, "vectors": vectors, "vector_words": vector_words}
            texts = texts_of(texts)
            if not texts:
                raise ValueError("texts holds no texts; the words of the model are those of the training texts.")
            vocabulary, matrix = vocabulary_of(texts, chars=reads_chars, oov=oov, **options)
        else:
            vocabulary = dataclasses.replace(
                vocabulary,
                num_frozen_words=0,  # without vectors, all are trained
                oov=vocabulary.oov if oov is None else checks.one_of("oov", oov, ("drop", "unk")),
                max_tokens=vocabulary.max_tokens if max_tokens is None else checks.integer("max_tokens", max_tokens),
            )
        vocabulary = dataclasses.replace(vocabulary, chars=vocabulary.chars if reads_chars else "")
        arguments |= model_arguments(vocabulary, names, matrix, is_several=is_several)
        origin = Origin(model, plain(arguments), list(names))
        self._build(origin, arguments, self._preprocessor_of(vocabulary, origin), compile=compile, name=name)

    @classmethod
    def _defaults_of(cls, bundle: ClassificationBundle, origin: Origin) -> dict[str, Any]:
        defaults = super()._defaults_of(bundle, origin)
        if not defaults or bundle.is_several == (_labels_in(origin) == SEVERAL):
            return defaults
        loss, metric = loss_and_metric(_labels_in(origin))
        return {**defaults, **serialized({"loss": loss, "metrics": [metric]})}

    def compile(
        self, optimizer: Optimizer = AUTO, loss: Loss = AUTO, *, metrics: Metrics = AUTO, **options: Any
    ) -> None:
        """Compile the model. What is left out is as ``zoo.build`` compiles it.

        Where a text may have several labels, ``"accuracy"`` among the metrics, weighted ones too, is the share of texts
        with exactly the right ones at thresholds of 0.5. Keras' own would compare the likeliest label alone.

        Args:
            optimizer: As for ``keras.Model.compile``.
            loss: A loss on logits.
            metrics: Metrics on logits.
            **options: More arguments of ``keras.Model.compile``.

        Raises:
            ValueError: A loss that takes probabilities.
        """
        if self.is_several:
            metrics = _with_exact_match(metrics)
            if "weighted_metrics" in options:
                options["weighted_metrics"] = _with_exact_match(options["weighted_metrics"])
        self._untracked.weighs_metrics = bool(options.get("weighted_metrics"))
        super().compile(optimizer, loss, metrics=metrics, **options)

    @classmethod
    def _with_head(cls, arguments: dict[str, Any], labels: str | None = None) -> dict[str, Any]:
        if labels is None or checks.one_of("labels", labels, _LABELS) == arguments.get("labels", "one"):
            return dict(arguments)
        return {**arguments, "labels": labels}

    @classmethod
    def _label_settings(cls, origin: Origin) -> dict[str, Any]:
        return {**super()._label_settings(origin), "labels": _labels_in(origin)}

    @property
    def is_several(self) -> bool:
        """True if a text may have several labels, or none."""
        return _labels_in(self._untracked.origin) == SEVERAL

    def _enclose(self, network: keras.Model, name: str | None) -> None:
        super().__init__(network.input, network.output, **({} if name is None else {"name": name}))

    def _network(self) -> keras.Model:
        return ClassifierNetwork(self.input, self.output)

    @property
    def backbone(self) -> keras.Model:
        """The encoder: ids to the vector that the softmax reads (batch, width). It shares the weights."""
        return keras.Model(self.input, self.get_layer("logits").input)

    def predict(
        self, x: object, batch_size: int | None = None, verbose: int | str = "auto", **options: Any
    ) -> np.ndarray:
        """Return probabilities (texts, classes) of raw texts or ids, in their order.

        Args:
            x: As for ``fit``.
            batch_size: Texts per batch. By default as many as predictions are fastest with.
            verbose: As in Keras. Of texts in memory, progress is shown only if it is asked for by 1 or 2.
            **options: More arguments of ``keras.Model.predict``, such as callbacks. With ``steps``, only as many
                batches are answered: of texts in memory the first ``steps * batch_size``, or all without
                ``batch_size``, as Keras has it.

        Raises:
            TypeError: Texts that are not strings.
        """
        if not self._texts_are_in(x) or self._is_streamed(x):
            x = self._mapped(x) if self._texts_are_in(x) else x
            with clear_errors():
                return super().predict(x, batch_size=batch_size, verbose=verbose, **options)
        texts = texts_of(x)[: texts_in(options.pop("steps", None), batch_size)]
        rows = self.preprocessor.text_to_ids.encode(texts)
        if not rows:
            return np.empty((0, len(self.label_names)), np.float32)
        if batch_size is None and verbose in ("auto", 0) and not any(options.values()):
            return predict_rows(self._answers_of(self.preprocessor.text_to_ids.signature), rows)
        examples = Examples(rows)
        plan = plan_predictions(examples.lengths)
        if batch_size is not None:
            plan = plan_batches(examples.lengths, checks.integer("batch_size", batch_size))
        dataset = generated(lambda: map(examples.collate, plan), examples.signature, len(plan)).prefetch(4)
        outputs = super().predict(dataset, verbose=verbose, **options)
        probabilities = np.empty_like(outputs)
        probabilities[np.concatenate(plan)] = outputs
        return probabilities

    def predict_step(self, data: object) -> tf.Tensor:
        """Return the probabilities of a batch, of a text without a known word even ones. ``predict`` calls it."""
        logits, origin = super().predict_step(data), self._untracked.origin
        if not (self.is_several or origin.arguments.get("char_filters")):  # as in the bundle
            words = keras.tree.flatten(keras.utils.unpack_x_y_sample_weight(data)[0])[0]
            logits *= keras.ops.where(keras.ops.any(words > UNKNOWN, axis=1, keepdims=True), 1.0, FAINT)
        logits /= origin.temperature or 1.0
        return keras.ops.sigmoid(logits) if self.is_several else keras.ops.softmax(logits)

    def _read(self, x: Texts, y: Labels | None = None, sample_weight: SampleWeights | None = None) -> _Texts:
        texts = texts_of(x)
        if not texts:
            raise ValueError("x holds no texts; at least one is needed.")
        if y is None:
            raise ValueError("y is missing: a label for each text, a name or an integer from 0.")
        labels = self._targets(y, len(texts))
        weights = None if sample_weight is None else weights_of(column_of(sample_weight), len(texts))
        return _Texts(self.preprocessor.text_to_ids.encode(texts), labels, weights)

    def _targets(self, y: Labels, num_texts: int) -> np.ndarray:
        """Return the index of each text's label (texts,), or of several 0 and 1 (texts, classes)."""
        if hasattr(y, "numpy"):
            y = y.to_list() if isinstance(y, tf.RaggedTensor) else y.numpy()
        if self.is_several and (is_frame(y) or len(getattr(y, "shape", ())) == 2) and is_matrix(y):
            _, targets = indicators(y, self.label_names)
            if len(targets) != num_texts:
                raise ValueError(f"y must have a row for each text; received {len(targets)} for {num_texts} texts.")
            return targets
        values = column_of(y)
        if self.is_several:
            _check_lists(values, len(self.label_names))
        targets, _ = labels_of(values, num_texts, self.label_names)
        if targets.ndim == 2 and not self.is_several:
            raise ValueError(
                "y must hold one label for each text; received lists of labels. labels='several' makes a model of "
                "several labels per text."
            )
        return targets

    def _batch(
        self, x: object, y: Labels | None = None, sample_weight: SampleWeights | None = None
    ) -> tuple[Any, Any, Any]:
        if self.is_several and y is not None and self._texts_are_in(x):
            y = self._targets(y, len(texts_of(x)))
        return super()._batch(x, y, sample_weight)

    def _weighing(self, weights: Weights, data: _Texts | None) -> tuple[WeightsOf | None, dict[int, float] | None]:
        names = self.label_names
        by_name = weights_by_name(weights, names, "label", is_counted=data is not None)
        if by_name is None:
            return None, None
        by_index = weights_of_targets(by_name, names, np.zeros(0, int) if data is None else data.labels)
        if not self.is_several:
            return None, by_index
        if self.compiled and not isinstance(self.loss, LabelSetCrossentropy):
            raise ValueError(
                "class_weight weighs each decision of several labels, which the model's own loss knows; the model is "
                "compiled with another. Leave out the loss or class_weight."
            )
        if getattr(self._untracked, "weighs_metrics", False):
            raise ValueError(
                "class_weight weighs each decision of several labels, and weighted_metrics take a weight for each "
                "text. Compile the model with metrics=..., or leave out class_weight."
            )
        return of_decisions(by_index), None


def _with_exact_match(metrics: Metrics) -> Any:
    """Return metrics with the accuracy of several labels in place of Keras' own, in lists, tuples and dictionaries."""
    if not keras.tree.is_nested(metrics):
        return metrics

    def exact(metric: Any) -> Any:
        is_accuracy = isinstance(metric, str) and metric.lower() in ("accuracy", "acc")
        return ExactMatch() if is_accuracy else metric

    return keras.tree.map_structure(exact, metrics)


def _labels_in(origin: Origin) -> str:
    """Return the labels of a text, ``one`` or ``several``, of a model."""
    labels: str = origin.arguments.get("labels", "one")
    return labels


def _check_lists(y: object, number: int) -> None:
    """Raise ``ValueError`` for single labels, or lists that could be the rows of a matrix of 0 and 1."""
    rows = list(y) if isinstance(y, Iterable) and not isinstance(y, str | bytes | Mapping) else []
    if rows and not any(isinstance(row, SETS) for row in rows):
        raise ValueError(
            f"y must hold a list of labels for each text, or be a matrix of 0 and 1 (texts, {number}); received "
            f"{rows[0]!r:.80} as the first item."
        )
    is_row = (isinstance(row, list | tuple) and len(row) == number and {0, 1}.issuperset(row) for row in rows)
    if rows and all(is_row):
        raise ValueError(
            f"y holds lists of {number} zeros and ones, such as {rows[0]!r:.80}: labels, or rows of a matrix? Give "
            "np.array(y) for a matrix, and names for lists of labels."
        )
