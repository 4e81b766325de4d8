"""The part that all Keras tasks share: text in, the batches of ``train``, ``.keras`` files, presets and bundles."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar, Self, TypeGuard

import keras
import tensorflow as tf

from dense_lstm_zoo import tasks
from dense_lstm_zoo.bundles.bundle import Bundle
from dense_lstm_zoo.bundles.checks import quantised_layer, refuse_quantised_layer
from dense_lstm_zoo.data.batching import IdsSpec
from dense_lstm_zoo.data.graphs import graph
from dense_lstm_zoo.data.raw_text import holds_text
from dense_lstm_zoo.data.text import StringLayer
from dense_lstm_zoo.interfaces.compiling import AUTO, Loss, Metrics, Optimizer, check_loss, defaults_of, serialized
from dense_lstm_zoo.interfaces.epoch_rows import EpochRows, rows_of
from dense_lstm_zoo.interfaces.frozen_layers import freeze, frozen_layers
from dense_lstm_zoo.interfaces.graph_errors import clear_errors
from dense_lstm_zoo.interfaces.inputs import Labels, SampleWeights, TextData, Texts
from dense_lstm_zoo.interfaces.origins import NEW_TEXTS, Origin, checked_origin, damaged, trained_further
from dense_lstm_zoo.interfaces.shaped_steps import by_shape, over_batches
from dense_lstm_zoo.interfaces.weighing import WeightsOf, weigh_batch, weighed
from dense_lstm_zoo.layers.recurrence import kernels
from dense_lstm_zoo.machine import versions
from dense_lstm_zoo.models import registry
from dense_lstm_zoo.models.compiling import loss_scaled, uncompiled
from dense_lstm_zoo.models.ids_only import Scores
from dense_lstm_zoo.training.class_weights import Weights

_MixedIn: Any = object  # a mixin of keras.Model, whose methods it calls


class TextTask(_MixedIn):
    """Raw text to answers in a ``keras.Model``, whose first base class it is.

    A subclass says how text becomes batches. Data that are not raw text go to Keras as they are.
    """

    train_function: Any  # Keras' own
    jit_compile: bool | str
    _task: ClassVar[str]

    def _build(
        self, origin: Origin, arguments: dict[str, Any], preprocessor: StringLayer, *, compile: bool, name: str | None
    ) -> None:
        """Become a new model with these arguments, word vectors among them."""
        with uncompiled() as defaults:
            network = registry.build(origin.model, **arguments)
        self._enclose(network, name)
        self._settle(origin, preprocessor, serialized(defaults), compile=compile)

    def _settle(
        self, origin: Origin, preprocessor: StringLayer | None, defaults: Mapping[str, Any], *, compile: bool
    ) -> None:
        """Keep what the model was made from, where Keras does not look for weights, and compile it."""
        self.supports_jit = self.distribute_strategy.num_replicas_in_sync == 1  # a step is compiled for one batch
        self._untracked = SimpleNamespace(origin=origin, preprocessor=preprocessor, defaults=dict(defaults))
        if compile:
            self.compile()

    @property
    def preprocessor(self) -> Any:
        """The layer from raw text to ids. None leaves all data as they are, for ids of your own."""
        return self._untracked.preprocessor

    @preprocessor.setter
    def preprocessor(self, layer: StringLayer | None) -> None:
        self._untracked.preprocessor = layer
        self._drop_graphs()

    def compile(
        self,
        optimizer: Optimizer = AUTO,
        loss: Loss = AUTO,
        *,
        metrics: Metrics = AUTO,
        jit_compile: bool | str = False,
        auto_scale_loss: bool = True,
        **options: Any,
    ) -> None:
        """Compile the model. What is left out is as ``zoo.build`` compiles it.

        Args:
            optimizer: As for ``keras.Model.compile``.
            loss: A loss on logits.
            metrics: Metrics on logits.
            jit_compile: Whether XLA compiles the training step, once for each shape of a batch. Models with
                ``kernel="compiled"`` allow it. Of others, Keras says that it goes on without.
            auto_scale_loss: Whether the loss of a model in float16 is scaled, without which small gradients are zero.
            **options: More arguments of ``keras.Model.compile``.

        Raises:
            ValueError: A loss that takes probabilities.
        """
        defaults = self._untracked.defaults
        settings: dict[str, Any] = {"optimizer": optimizer, "loss": loss, "metrics": metrics}
        for name, value in settings.items():
            if isinstance(value, str) and value == AUTO:
                if name not in defaults:
                    raise ValueError(f"compile needs {name}=...: the model was loaded with compile=False.")
                settings[name] = keras.saving.deserialize_keras_object(defaults[name])
        check_loss(settings["loss"])
        if auto_scale_loss:
            settings["optimizer"] = loss_scaled(self, settings["optimizer"])
        super().compile(**settings, jit_compile=jit_compile, auto_scale_loss=auto_scale_loss, **options)
        self._drop_graphs()
        if not self.optimizer.built:  # a step whose first trace creates variables is traced twice
            self.optimizer.build(self.trainable_variables)

    def make_train_function(self, force: bool = False) -> None:
        """Make ``train_function`` as Keras does, or with XLA as one program for each shape of a batch."""
        if not self.jit_compile:
            super().make_train_function(force)
        elif self.train_function is None or force:
            self.train_function = over_batches(by_shape(self.train_step), self.steps_per_execution)

    def make_test_function(self, force: bool = False) -> None:
        """Make ``test_function`` as Keras does, without XLA."""
        with self._without_xla():
            super().make_test_function(force)

    def make_predict_function(self, force: bool = False) -> None:
        """Make ``predict_function`` as Keras does, without XLA."""
        if force:
            self._drop_graphs()
        with self._without_xla():
            super().make_predict_function(force)

    def quantize(self, *args: Any, **options: Any) -> None:
        """Quantise the weights as ``keras.Model.quantize`` does."""
        super().quantize(*args, **options)
        self._drop_graphs()

    def save(self, filepath: str | os.PathLike[str], *args: Any, **options: Any) -> None:
        """Save the model as ``keras.Model.save`` does, or raise ``ValueError`` for quantised layers before that."""
        refuse_quantised_layer(quantised_layer(self), "The model cannot be saved")
        super().save(filepath, *args, **options)

    def _drop_graphs(self) -> None:
        """Drop the graphs of predictions, which read the layers as they were."""
        for name in ("answers_of", "bundle"):
            vars(self._untracked).pop(name, None)

    @contextlib.contextmanager
    def _without_xla(self) -> Iterator[None]:
        """Turn XLA off for functions that take batches of any shape."""
        jit_compile, self.jit_compile = self.jit_compile, False
        try:
            yield
        finally:
            self.jit_compile = jit_compile

    def compile_from_config(self, config: dict[str, Any]) -> None:
        """Compile a loaded model as it was compiled when it was saved."""
        # An optimiser that scales the loss is saved as one, unless Keras made it by the policy of the model.
        scales = self.dtype_policy.name == "mixed_float16"
        self.compile(**keras.saving.deserialize_keras_object(config), auto_scale_loss=scales)

    def _texts_are_in(self, x: object) -> TypeGuard[Texts]:
        if not holds_text(x):
            return False
        if self.preprocessor is None:
            raise TypeError("The model's preprocessor is None, so it takes ids alone; received raw text.")
        return True

    def _is_streamed(self, x: object) -> bool:
        """Return whether raw text is read batch by batch as it comes, and not at once."""
        return hasattr(x, "element_spec")

    def _mapped(self, dataset: tf.data.Dataset) -> tf.data.Dataset:
        """Return a dataset of raw text as one of ids. Raises as ``_check_batches``."""
        self._check_batches(dataset)
        return dataset.map(self.preprocessor)

    @staticmethod
    def _check_batches(dataset: tf.data.Dataset) -> None:
        """Raise ``ValueError`` for a dataset of single texts, or of rows of them."""
        spec = dataset.element_spec
        spec = spec[0] if isinstance(spec, tuple) else spec
        if not isinstance(spec, tf.RaggedTensorSpec) and spec.shape.rank not in (1, None):
            shape = tuple(spec.shape)
            raise ValueError(
                f"A dataset must hold batches of texts (texts,), as from batch(32); it holds shape {shape}."
            )

    def _answers_of(self, signature: IdsSpec | tf.RaggedTensorSpec) -> Callable[[Any], Any]:
        """Return ``predict_step`` as one graph for any batch and length: ``predict`` makes a dataset for each call."""
        if not hasattr(self._untracked, "answers_of"):
            self._untracked.answers_of = graph(lambda ids: self.predict_step((ids,)), [signature])
        run: Callable[[Any], Any] = self._untracked.answers_of
        return run

    def fit(
        self,
        x: object = None,
        y: Labels | None = None,
        batch_size: int | None = None,
        epochs: int = 1,
        verbose: int | str = "auto",
        callbacks: Sequence[keras.callbacks.Callback] | None = None,
        validation_split: float = 0.0,
        validation_data: tuple[Any, ...] | list[Any] | tf.data.Dataset | None = None,
        shuffle: bool = True,
        class_weight: Weights = None,
        sample_weight: SampleWeights | None = None,
        initial_epoch: int = 0,
        **options: Any,
    ) -> keras.callbacks.History:
        """Train the model as ``keras.Model.fit`` does, on raw text too.

        Texts in memory come in the batches of ``train``: similar lengths together, in another order in each epoch,
        which ``keras.utils.set_random_seed`` sets. Batches of a dataset stay as they are.

        Args:
            x: Raw text, a ``tf.data.Dataset`` of batches of it, or anything that Keras takes.
            y: What belongs to each text, unless a dataset holds it.
            batch_size: Texts per batch. By default as many as ``train`` would take.
            epochs: As in Keras.
            verbose: As in Keras.
            callbacks: As in Keras.
            validation_split: The share of the texts, the last ones, to validate on.
            validation_data: Raw text with what belongs to it, (x, y) or (x, y, weights), or a dataset.
            shuffle: Whether each epoch has another order. Otherwise texts are sorted by length.
            class_weight: How much each class counts, by name or index, or ``"balanced"`` for texts in memory, which
                makes classes count the same.
            sample_weight: How much each text counts.
            initial_epoch: As in Keras.
            **options: More arguments of ``keras.Model.fit``.

        Raises:
            TypeError: Texts that are not strings.
            ValueError: No texts, or data that do not fit them or the model.
        """
        options = {**options, "epochs": epochs, "verbose": verbose, "callbacks": callbacks}
        if not isinstance(callbacks, keras.callbacks.CallbackList):
            options["callbacks"] = [*keras.tree.flatten(callbacks or []), EpochRows()]
        options |= {"initial_epoch": initial_epoch}
        data, held_out = None, None
        if self._texts_are_in(x) and not self._is_streamed(x):
            data = self._read(x, y, sample_weight)
            if validation_split and validation_data is None:
                data, held_out = data.divided(validation_split)
            x = data.training(batch_size, random.randrange(1 << 31), initial_epoch, shuffle)
        else:
            x = self._mapped(x) if self._texts_are_in(x) else x
            options |= {"y": y, "batch_size": batch_size, "sample_weight": sample_weight}
            options |= {"validation_split": validation_split}
        if hasattr(x, "element_spec"):
            shuffle = False  # Keras warns that a dataset shuffles itself
        if held_out is None:
            held_out, validation_data = self._validation(validation_data)
        if held_out is not None:
            size, steps = (options.pop(f"validation_{name}", None) for name in ("batch_size", "steps"))
            validation_data = held_out.evaluation(size or (steps and batch_size), steps)
        x, options["class_weight"] = self._weighted(x, class_weight, data)
        self._note_training()
        with clear_errors():
            return super().fit(x, shuffle=shuffle, validation_data=validation_data, **options)

    def _note_training(self) -> None:
        """Let the record of a trained model say that it is trained further."""
        origin = self._untracked.origin
        origin.thresholds = {}  # they were chosen for other weights
        if origin.temperature is not None:  # so was it, and graphs hold it
            origin.temperature = None
            self._drop_graphs()
        if origin.training["dataset"] != NEW_TEXTS:
            origin.training = trained_further(origin, head="kept")

    def _validation(self, data: Any) -> tuple[TextData | None, Any]:
        """Return validation data: raw text in memory as ``_read`` returns it, or others as Keras takes them."""
        if self._is_streamed(data):
            return None, self._mapped(data) if self._texts_are_in(data) else data
        is_pair = isinstance(data, tuple) or (isinstance(data, list) and data and not isinstance(data[0], str | bytes))
        parts = tuple(data) if is_pair else (data,)
        if data is None or not parts or not self._texts_are_in(parts[0]):
            return None, data
        return self._read(*parts), None

    def evaluate(
        self,
        x: object = None,
        y: Labels | None = None,
        batch_size: int | None = None,
        *,
        sample_weight: SampleWeights | None = None,
        **options: Any,
    ) -> Scores:
        """Score the model as ``keras.Model.evaluate`` does, on raw text too. See ``fit`` for the arguments.

        With ``steps``, the first ``steps * batch_size`` texts in memory are scored, or all without ``batch_size``. A
        language model scores its first ``steps`` windows.
        """
        if self._texts_are_in(x) and not self._is_streamed(x):
            x = self._read(x, y, sample_weight).evaluation(batch_size, options.pop("steps", None))
        else:
            x = self._mapped(x) if self._texts_are_in(x) else x
            options |= {"y": y, "batch_size": batch_size, "sample_weight": sample_weight}
        with clear_errors():
            return super().evaluate(x, **options)

    def train_on_batch(
        self,
        x: object,
        y: Labels | None = None,
        sample_weight: SampleWeights | None = None,
        class_weight: Weights = None,
        **options: Any,
    ) -> Scores:
        """Take one step as ``keras.Model.train_on_batch`` does, on raw text too.

        Args:
            x: A batch of raw text, or of ids.
            y: What belongs to each text.
            sample_weight: How much each text counts.
            class_weight: How much each class counts, by name or index.
            **options: More arguments of ``keras.Model.train_on_batch``.
        """
        weights_of, class_weight = self._weighing(class_weight, None)
        batch = self._batch(x, y, sample_weight)
        if weights_of is not None:
            batch = weigh_batch(weights_of, *batch)
        self._note_training()
        return super().train_on_batch(*batch, class_weight=class_weight, **options)

    def test_on_batch(
        self, x: object, y: Labels | None = None, sample_weight: SampleWeights | None = None, **options: Any
    ) -> Scores:
        """Score one batch as ``keras.Model.test_on_batch`` does, on raw text too."""
        return super().test_on_batch(*self._batch(x, y, sample_weight), **options)

    def predict_on_batch(self, x: object) -> Any:
        """Answer one batch as ``keras.Model.predict_on_batch`` does, on raw text too."""
        return super().predict_on_batch(self._batch(x)[0])

    def __call__(self, inputs: object, *args: Any, **options: Any) -> Any:
        """Return the logits of ids, or of raw text."""
        if self._texts_are_in(inputs):
            inputs = self.preprocessor(inputs)
        return super().__call__(inputs, *args, **options)

    def _batch(
        self, x: object, y: Labels | None = None, sample_weight: SampleWeights | None = None
    ) -> tuple[Any, Any, Any]:
        if not self._texts_are_in(x):
            return x, y, sample_weight
        with clear_errors():
            batch: tuple[Any, Any, Any] = keras.utils.unpack_x_y_sample_weight(self.preprocessor(x, y, sample_weight))
            return batch

    def _read(self, x: Texts, y: Labels | None = None, sample_weight: SampleWeights | None = None) -> TextData:
        """Return raw text in memory as examples, or raise an error that names what is wrong."""
        raise NotImplementedError

    def _weighted(self, x: object, weights: Weights, data: Any) -> tuple[Any, Any]:
        """Return batches in which classes have weights, or the same batches and weights that Keras applies.

        Args:
            x: What ``fit`` trains on.
            weights: ``class_weight`` of ``fit``.
            data: What ``_read`` returned of texts in memory, else None.
        """
        weights_of, by_index = self._weighing(weights, data)
        return (x if weights_of is None else weighed(x, weights_of)), by_index

    def _weighing(self, weights: Weights, data: Any) -> tuple[WeightsOf | None, dict[int, float] | None]:
        """Return a function from labels to their weights, or the weights of classes by index that Keras applies.

        Without weights, both are None. See ``_weighted`` for the arguments.
        """
        raise NotImplementedError

    def get_config(self) -> dict[str, Any]:
        """Return what rebuilds the model: its name and arguments, its words, labels and frozen layers."""
        preprocessor, settings = self.preprocessor, None
        if preprocessor is not None:
            settings = {"words": list(preprocessor.vocabulary.words), **preprocessor.vocabulary.settings}
        own = {"preprocessor": settings, "frozen": frozen_layers(self), "name": self.name}
        if (layer := quantised_layer(self)) is not None:
            own["quantised"] = layer  # which from_config refuses: Keras asks for the config in the middle of a save
        return {**dataclasses.asdict(self._untracked.origin), **own}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Mapping[str, Any] | None = None) -> Self:
        """Rebuild a saved model, not compiled, once its words, labels and arguments are checked.

        Raises:
            ValueError: A config that is damaged, or of a model with quantised layers.
        """
        config = dict(config)
        refuse_quantised_layer(config.pop("quantised", None), "The model cannot be loaded")
        name, settings, frozen = (config.pop(key, None) for key in ("name", "preprocessor", "frozen"))
        origin = checked_origin(cls, config)
        preprocessor = None if settings is None else cls._read_preprocessor(origin, settings)
        with damaged(cls):
            arguments = {**origin.arguments, "kernel": kernels.check_saved(origin.arguments["kernel"])}
            if frozen is not None and not (isinstance(frozen, list) and all(isinstance(path, str) for path in frozen)):
                raise ValueError("'frozen' must be a list of names of layers")
        with uncompiled() as defaults:
            network = registry.build(origin.model, **arguments)
        task = cls._around(network, origin, preprocessor, serialized(defaults), name)
        if frozen is not None:  # files of former versions do not say
            with damaged(cls):
                freeze(task, frozen)
        return task

    @classmethod
    def _read_preprocessor(cls, origin: Origin, settings: dict[str, Any]) -> StringLayer:
        """Return the preprocessor of a saved model if it fits the network, before that is built."""
        raise NotImplementedError

    @classmethod
    def _around(
        cls,
        network: keras.Model,
        origin: Origin,
        preprocessor: StringLayer | None,
        defaults: Mapping[str, Any],
        name: str | None = None,
    ) -> Self:
        """Return a task around a network that is there, not compiled."""
        task = cls.__new__(cls)
        task._enclose(network, name)
        task._settle(origin, preprocessor, defaults, compile=False)
        return task

    @classmethod
    def _from_bundle(cls, bundle: Bundle, network: keras.Model, origin: Origin, *, compile: bool) -> Self:
        """Return a task around a network with the words of a bundle, compiled as the bundle's model is."""
        preprocessor = cls._preprocessor_of(bundle.vocabulary, origin)
        task = cls._around(network, origin, preprocessor, cls._defaults_of(bundle, origin))
        if compile:
            is_same = network is bundle.model and network.compiled
            task.compile(**({"optimizer": network.optimizer} if is_same else {}))  # with its moments
        return task

    @classmethod
    def _defaults_of(cls, bundle: Any, origin: Origin) -> dict[str, Any]:
        """Return how a task of this origin is compiled by default, which is how the bundle's model is."""
        return defaults_of(bundle.model)

    @classmethod
    def _preprocessor_of(cls, vocabulary: Any, origin: Origin) -> StringLayer:
        """Return the preprocessor of a vocabulary."""
        raise NotImplementedError

    def _enclose(self, network: keras.Model, name: str | None) -> None:
        """Become a Keras model that has the layers of a network."""
        raise NotImplementedError

    def to_bundle(self) -> Bundle:
        """Return the model as a bundle, for ``predict``, ``explain``, ``export`` and the rest. They share the weights.

        Raises:
            ValueError: A task whose ``preprocessor`` is None.
        """
        origin, preprocessor = self._untracked.origin, self.preprocessor
        if preprocessor is None:
            raise ValueError("A bundle needs the words of the model; its preprocessor is None.")
        task = tasks.find(self._task)
        training = dict(origin.training)
        config = {"task": task.name, "model": origin.model, "arguments": dict(origin.arguments)}
        config |= {"text": preprocessor.vocabulary.settings, "training": training, "versions": versions()}
        config |= {"thresholds": dict(origin.thresholds)} if origin.thresholds else {}
        metrics = {} if origin.temperature is None else {"temperature": origin.temperature}
        network = self._network()
        if defaults := self._untracked.defaults:
            own = {name: keras.saving.deserialize_keras_object(defaults[name]) for name in ("loss", "metrics")}
            new = keras.saving.deserialize_keras_object(defaults["optimizer"])
            network.compile(optimizer=self.optimizer if self.compiled else new, jit_compile=False, **own)
        history = rows_of(getattr(self, "history", None), task.measure)
        bundle: Bundle = task.bundle_class(
            network, config, preprocessor.vocabulary, list(origin.labels), metrics, history
        )
        return bundle

    @property
    def _answering(self) -> Any:
        """A bundle that shares the weights, with its graphs."""
        if not hasattr(self._untracked, "bundle"):
            self._untracked.bundle = self.to_bundle()
        return self._untracked.bundle

    def _network(self) -> keras.Model:
        """Return the network as ``zoo.build`` returns it."""
        raise NotImplementedError

    def save_to_preset(self, folder: str | os.PathLike[str], **options: Any) -> Path:
        """Write the model as a preset, which ``from_preset`` and ``zoo.from_preset`` load. See ``Bundle``'s method."""
        return self.to_bundle().save_to_preset(Path(folder), **options)
