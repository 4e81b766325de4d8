"""Training a sentence classifier: labelled texts, word vectors, accuracy."""

from __future__ import annotations

import dataclasses
import hashlib
import math
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dense_lstm_zoo import tasks
from dense_lstm_zoo.classification import baseline, convex_head, distillation, encoder_source
from dense_lstm_zoo.classification.batches import TrainingBatches, evaluation_batches, logits_of, predict_rows
from dense_lstm_zoo.classification.bundle import ClassificationBundle
from dense_lstm_zoo.classification.convex_head import ConvexHead
from dense_lstm_zoo.classification.corpus import Corpus
from dense_lstm_zoo.classification.dev_curve import DevCurve
from dense_lstm_zoo.classification.embedding import features_of, standardization_of
from dense_lstm_zoo.classification.label_sets import accuracy, weights_of_decisions
from dense_lstm_zoo.classification.options import SCORES, DevLoss, DevScore, class_weights, options_for
from dense_lstm_zoo.classification.split import Split
from dense_lstm_zoo.classification.vocabulary import Vocabulary, build_vocabulary, carry_vocabulary
from dense_lstm_zoo.data.batching import MAX_TOKENS, lengths_of
from dense_lstm_zoo.data.cells import first_names
from dense_lstm_zoo.data.tokens import token_stream
from dense_lstm_zoo.tasks.options import Options
from dense_lstm_zoo.training import taught
from dense_lstm_zoo.training.class_weights import in_config
from dense_lstm_zoo.training.job import FitData, WordVectorJob

if TYPE_CHECKING:
    import keras
    import pandas as pd

    from dense_lstm_zoo.bundles.folder import BundleFolder
    from dense_lstm_zoo.corpora.corpus import AnyCorpus

_SMALL_DEV = 50  # texts
_DEV_FRACTION = 0.1  # where an epoch is chosen and the recipe says nothing
_PROBED, _CHUNK = 1_000, 2_000  # texts by which encoders are compared; that are read between two looks at the clock
_FITTED = 100_000  # texts on which a last layer is fitted at most, as their features are held in memory


def _is_head_alone(options: Options) -> bool:
    """Return whether the last layer alone is trained, for which no epoch has to be chosen on dev."""
    return bool(options.head) and options.epochs == 1


class ClassificationJob(WordVectorJob):
    """Trains a classifier and keeps the epoch with the best dev accuracy. Makes a dev set if the corpus has none."""

    CORPUS, NEEDS = Corpus, "A classifier needs a Corpus of labelled texts"
    OTHER_SOURCES = f"; {' and '.join(encoder_source.MODELS)} also goes on from a language model"
    cross_validation: dict[str, Any] | None = None  # of a last layer that was fitted without dev texts
    held_out: tuple[np.ndarray, np.ndarray] | None = None  # logits of it and labels, likewise
    corpus: Corpus
    PARTS: ClassVar[tuple[str, ...]] = ("label_names", "train", "dev", "test")

    def __init__(self, corpus: Corpus, options: Options, source: Any = None) -> None:
        options = options_for(corpus, options)
        taught.check(corpus, options, "columns probability_NAME")
        taught.check_temperature(options)
        self.learns_agreement = corpus.dev is None and corpus.train.is_soft and not corpus.train.labelled.any()
        self.class_weight = class_weights(options.class_weights, corpus)
        self.corpus, self.options = corpus, options
        self.labels_per_text = "several" if corpus.is_several else "one"
        self.corpus = self.with_dev_part(corpus, options)
        if options.calibrate and self.corpus.dev is None:
            raise ValueError("calibrate=True needs dev texts; the recipe holds none out. Give some, or leave it out.")
        if self.corpus.dev is None and len(corpus.train) < 2:
            raise ValueError(
                "A last layer that is fitted alone and without dev texts is scored by cross-validation, which needs at "
                f"least two training texts; received {len(corpus.train)}. Give more, or dev texts."
            )
        self.source = source
        vectors: dict[str, Any] = {"vectors": options.vectors, "vector_words": options.vector_words}
        if source is None:
            self.words = build_vocabulary(self.corpus.train.texts, oov=options.oov, **vectors)
        else:
            self.words = carry_vocabulary(
                source.vocabulary,
                source.word_matrix(),
                self.corpus.train.texts,
                learns=options.learns_words,
                learns_chars=options.learns_chars,
                oov=options.oov,
                seed=options.seed,
                **vectors,
            )
            self.new_words = self.words.new

    @classmethod
    def with_dev_part(cls, corpus: Corpus, options: Options) -> Corpus:
        """Return a corpus with a dev part, except where a recipe holds none out and fits the last layer alone."""
        if options.dev_fraction or not _is_head_alone(options):
            return corpus.with_dev(options.dev_fraction or _DEV_FRACTION, options.seed)
        return corpus

    @classmethod
    def read_other_source(
        cls,
        model: str,
        folder: BundleFolder,
        config: Mapping[str, Any],
        options: Options,
        arguments: Mapping[str, Any],
        recipe: str | None,
    ) -> encoder_source.EncoderSource | None:
        """Read a text encoder, or a language model as one, for a model over the layers of one."""
        if model not in encoder_source.MODELS or not tasks.find(config["task"]).text_encoder:
            return None
        return encoder_source.read_encoder_source(model, folder, config, options, arguments, recipe)

    @property
    def labels(self) -> list[str]:
        """Names of the classes."""
        return list(self.corpus.label_names)

    @staticmethod
    def token_rows(part: Split) -> Iterator[list[str]]:
        """Yield the tokens of each text, in lower case."""
        return token_stream(part.texts)

    def summary(self) -> str:
        """Return a summary of the corpus, how it will be scored and cut, and how much of it the vectors cover."""
        text = super().summary()
        if (most := self.options.max_tokens) is not None:
            lengths = lengths_of(self.words.vocabulary.text_to_ids().rows(self.corpus.train.texts))
            num_cut = (lengths > most).sum()
            text += f"\nmax_tokens={most:,} cuts {num_cut:,} of {len(lengths):,} training texts."
        if self.corpus.train.is_soft:
            text += f"\n{taught.summary(self.corpus.train, self.labels, self.options)}"
        if self.options.head and (number := len(self.corpus.train)) > _FITTED:
            text += f"\nThe last layer is fitted on {_FITTED:,} of {number:,} training texts."
        if self.corpus.test is not None:
            return text
        return f"{text}\nThe corpus has no test texts; train with folds=10 (--folds 10) scores it by cross-validation."

    def cautions(self) -> dict[str, str]:
        """Return sentences about a dev set that is too small to choose an epoch by, or whose labels are a teacher's."""
        cautions = {}
        if self.learns_agreement:
            cautions["taught_dev"] = taught.CAUTION
        count = len(self.corpus.dev or ())
        if count >= _SMALL_DEV or _is_head_alone(self.options):
            return cautions
        return cautions | {
            "small_dev": f"{count} dev texts choose the best epoch largely by chance; {_SMALL_DEV} or more are better."
        }

    def model_arguments(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the numbers of words, characters and classes, the labels of a text, and the length of the vectors."""
        sizes = {"num_chars": self.words.with_chars.num_chars, "num_classes": len(self.corpus.label_names)}
        return {**super().model_arguments(arguments), **sizes, "labels": self.labels_per_text}

    def config(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the vocabulary's arguments and the source of the word vectors."""
        dev_every, columns = self.options.dev_every, self.corpus.columns
        return {
            "text": self._vocabulary(arguments).settings,
            "training": {
                "data_sha256": self.fingerprint(self.corpus, self.words.matrix),
                **self.vector_config(),
                **({"columns": columns} if columns else {}),
                **({} if dev_every is None else {"dev_every": dev_every}),
                **self._used_options(),
            },
        }

    def _vocabulary(self, arguments: Mapping[str, Any]) -> Vocabulary:
        vocabulary: Vocabulary = self.words.with_chars if arguments["char_filters"] else self.words.vocabulary
        return dataclasses.replace(vocabulary, max_tokens=self.options.max_tokens)

    def _used_options(self) -> dict[str, Any]:
        """Return the options that most runs do not use, for the config. Those not used are absent."""
        weights, monitor = self.options.class_weights, self.options.monitor
        options = {"class_weights": in_config(weights), "monitor": monitor, "calibrate": self.options.calibrate or None}
        for name in ("max_batch_tokens", "head", "effort", "thresholds"):
            options[name] = getattr(self.options, name)
        options |= taught.record(self.corpus.train, self.options)
        return {name: value for name, value in options.items() if value is not None}

    @classmethod
    def fingerprint(cls, corpus: AnyCorpus, matrix: np.ndarray | None = None) -> str:
        """Return a checksum of a corpus, its soft labels and word vectors."""
        digest = super().fingerprint(corpus, matrix)
        if not corpus.train.is_soft:
            return digest
        content = corpus.train.probabilities.tobytes() + corpus.train.is_labelled.tobytes()
        return hashlib.sha256(digest.encode() + content).hexdigest()

    def fit_data(self, model: keras.Model, config: Mapping[str, Any], folder: Path) -> FitData:
        """Return batches bucketed by length."""
        train, dev, options = self.corpus.train, self.corpus.dev, self.options
        text_to_ids = self._vocabulary(config["arguments"]).text_to_ids()
        labels, class_weight = train.targets(len(self.labels)), self.class_weight
        weights: np.ndarray | None = None
        if train.is_soft:
            temperature = options.temperature or 1.0
            distillation.compile_student(model, temperature, options.hard_weight or 0.0, is_several=train.is_several)
            labels = distillation.targets(train, temperature)
            weights, class_weight = distillation.weights(train, class_weight), None
        elif train.is_several:  # Keras knows weights of classes only for one label per text
            weights, class_weight = weights_of_decisions(class_weight, labels), None
        batches = TrainingBatches(
            text_to_ids.rows(train.texts),
            labels,
            batch_size=options.batch_size,
            seed=options.seed,
            weights=weights,
            max_tokens=options.max_batch_tokens or MAX_TOKENS,
        )
        if dev is None:  # the last layer alone is trained, apart from ``fit``
            return FitData(batches.dataset, batches.dataset, batches.start_at, class_weight=class_weight)
        rows, targets = text_to_ids.rows(dev.texts), dev.targets(len(self.labels))
        callbacks: list[keras.callbacks.Callback] = [batches]
        if options.dev_every is not None:
            run = logits_of(model, text_to_ids.signature)
            callbacks.append(DevCurve(folder, options.dev_every, lambda: accuracy(predict_rows(run, rows), targets)))
        if options.monitor == "loss":
            callbacks.append(DevLoss())
        if options.monitor in SCORES:
            network = logits_of(model, text_to_ids.signature)
            score_of = SCORES[options.monitor]
            callbacks.append(DevScore(f"val_{options.monitor}", lambda: score_of(predict_rows(network, rows), targets)))
        dev_batches = evaluation_batches(rows, targets)
        return FitData(
            *(batches.dataset, dev_batches, batches.start_at, callbacks, class_weight),
            batch_tokens=batches.median_tokens,
            real_share=batches.real_share,
        )

    def fit_head(self, model: keras.Model, config: Mapping[str, Any], seconds: float | None = None) -> dict[str, float]:
        """Fit the last layer as a logistic regression, and return loss and accuracy on training and dev texts.

        Of more than 100,000 texts, or than can be read in that time, a random part is taken. Without dev texts, the
        scores are those of a cross-validation.
        """
        head, features, labels = self._convex_head(model, config, seconds=seconds)
        weights = head.for_raw_features
        if (standardization := standardization_of(model)) is not None:
            standardization.set_statistics(head.mean, head.scale)
            weights = head.kernel, head.bias
        model.get_layer("logits").set_weights(list(weights))
        accuracy, likelihood = convex_head.accuracy_and_likelihood(head.logits(features), labels)
        scores = {"accuracy": accuracy, "loss": -likelihood}
        scores |= {"val_accuracy": head.dev_accuracy, "val_loss": -head.dev_likelihood}
        if self.corpus.dev is None:
            logits, targets = self._keep_folds(head, len(labels))
            if self.options.monitor in SCORES:  # with dev texts, a callback adds it
                scores[f"val_{self.options.monitor}"] = SCORES[self.options.monitor](logits, targets)
        return scores

    def _keep_folds(self, head: ConvexHead, texts: int) -> tuple[np.ndarray, np.ndarray]:
        """Keep the cross-validation of a last layer for the scores, and return its logits and labels."""
        assert head.dev_logits is not None
        assert head.dev_labels is not None
        self.cross_validation = {"accuracy": head.dev_accuracy, "texts": texts}
        self.held_out = head.dev_logits, head.dev_labels
        return self.held_out

    def head_scores(self, model: keras.Model, config: Mapping[str, Any]) -> tuple[np.ndarray, float]:
        """Return the log-likelihood of each dev text and the accuracy on dev of a regression on some of the texts."""
        head, *_ = self._convex_head(model, config, most=_PROBED)
        return head.dev_log_likelihoods, head.dev_accuracy

    def _convex_head(
        self, model: keras.Model, config: Mapping[str, Any], *, most: int = _FITTED, seconds: float | None = None
    ) -> tuple[ConvexHead, np.ndarray, np.ndarray]:
        """Return a fitted last layer, and the features and labels of the training texts it was fitted on."""
        text_to_ids = self._vocabulary(config["arguments"]).text_to_ids()
        run, end = features_of(model, text_to_ids.signature), time.monotonic() + (seconds or math.inf)
        train = self._shuffled(self.corpus.train, most)
        dev, parts = None, []
        if self.corpus.dev is not None:
            dev_part = self._shuffled(self.corpus.dev, most)
            dev = predict_rows(run, text_to_ids.encode(dev_part.texts)), dev_part.targets(len(self.labels))
        for first in range(0, len(train), _CHUNK):
            parts.append(predict_rows(run, text_to_ids.encode(train.texts[first : first + _CHUNK])))
            if time.monotonic() > end:
                break
        features = np.concatenate(parts)
        labels = train.targets(len(self.labels))[: len(features)]
        shares = None
        if train.is_soft:
            shares = distillation.mixture(train, self.options.hard_weight or 0.0)[: len(features)]
        head = convex_head.fit(features, labels, len(self.labels), dev, self.class_weight, shares)
        return head, features, labels

    def _shuffled(self, split: Split, most: int) -> Split:
        """Return texts in random order, but ``most`` of them at most."""
        return split.select(np.random.default_rng(self.options.seed).permutation(len(split))[:most])

    def score(self, bundle: Any, **options: Any) -> dict[str, Any]:
        """Calibrate the bundle on dev and tune its thresholds, as asked, and return its scores, with the baseline's."""
        if self.corpus.dev is None and self.held_out is None:  # the run was interrupted after the layer was fitted
            minutes = self.options.minutes
            seconds = None if minutes is None else 30 * minutes
            head, _, labels = self._convex_head(bundle.model, bundle.config, seconds=seconds)
            self._keep_folds(head, len(labels))
        if self.options.calibrate:
            bundle.calibrate(self.corpus.dev)
        if self.options.thresholds == "tuned":
            if self.corpus.dev is not None:
                bundle.tune_thresholds(self.corpus.dev)
            elif self.held_out is not None:
                bundle.tune_thresholds_of(*self.held_out)
        if self.options.baseline:
            options["baseline"] = baseline.fit(self.corpus, self.options.seed)
        metrics = super().score(bundle, **options)
        if self.cross_validation:
            metrics |= {f"cross_validation_{name}": value for name, value in self.cross_validation.items()}
        split, classes = bundle.evaluation.get("split"), bundle.evaluation.get("classes", [])
        missed = [row["label"] for row in classes if row["texts"] and row["precision"] is None]
        if missed:
            names = first_names(missed)
            metrics["never_predicted"] = f"the model labels no {split} text {names}, though some texts have that label."
        return metrics

    def bundle(
        self, model: keras.Model, config: dict[str, Any], history: pd.DataFrame, dev_curve: pd.DataFrame | None
    ) -> ClassificationBundle:
        """Return the bundle."""
        if self.corpus.train.is_soft:
            distillation.compile_as_built(model, is_several=self.corpus.is_several)
        vocabulary = self._vocabulary(config["arguments"])
        return ClassificationBundle(model, config, vocabulary, self.labels, {}, history, dev_curve=dev_curve)
