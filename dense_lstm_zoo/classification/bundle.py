"""A trained classifier: prediction on raw texts, evaluation, export to a SavedModel."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dense_lstm_zoo import checks
from dense_lstm_zoo.bundles.bundle import Bundle
from dense_lstm_zoo.classification import analysis, label_sets
from dense_lstm_zoo.classification.calibration import fit_temperature, probabilities
from dense_lstm_zoo.classification.embedding import pooled_of, states_of
from dense_lstm_zoo.classification.frames import read_labelled
from dense_lstm_zoo.classification.split import Split, check_labels
from dense_lstm_zoo.classification.task import TASK
from dense_lstm_zoo.classification.text_ids import TextToIds, pad_features
from dense_lstm_zoo.classification.vocabulary import Vocabulary
from dense_lstm_zoo.data.batching import word_ids
from dense_lstm_zoo.data.delimited import name_lines
from dense_lstm_zoo.data.frames import check_frame, column, is_frame, parts_of
from dense_lstm_zoo.data.graphs import graph
from dense_lstm_zoo.data.labels import hint, key
from dense_lstm_zoo.data.text import to_bytes
from dense_lstm_zoo.display.notebook import Answers
from dense_lstm_zoo.tasks import Task
from dense_lstm_zoo_runtime.answers import Prediction
from dense_lstm_zoo_runtime.decisions import FAINT, SEVERAL, Decisions, Threshold
from dense_lstm_zoo_runtime.ids import UNKNOWN

if TYPE_CHECKING:
    import pandas as pd
    import tensorflow as tf

    from dense_lstm_zoo.classification.baseline import Baseline
    from dense_lstm_zoo.classification.explain import Explanation
    from dense_lstm_zoo.classification.suggesting import Suggestion

_CHUNK = 4096  # texts held at a time
# Metrics that another temperature changes.
_OF_TEMPERATURE = re.compile("(^|_)(loss|calibration_error)(_uncalibrated)?$")


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

    def word_matrix(self) -> np.ndarray:
        """Return the vector of every id, padding (0) and unknown (1) included: (vocabulary size, dim), float32."""
        matrix: np.ndarray = self.model.get_layer("embedding").get_matrix()
        return matrix

    @functools.cached_property
    def logits_of(self) -> Callable[[Any], tf.Tensor]:
        """The model as one graph for any batch and length."""
        from dense_lstm_zoo.classification.batches import logits_of

        return logits_of(self.model, self.text_to_ids.signature)

    @property
    def is_several(self) -> bool:
        """True for a model whose texts may have several labels, or none."""
        return bool(self.config["arguments"].get("labels") == SEVERAL)

    @property
    def decisions(self) -> Decisions:
        """The labels that it gives, and their thresholds."""
        return Decisions(self.labels, self.is_several, self.config.get("thresholds", {}))

    def predict(self, texts: Sequence[str], *, threshold: Threshold = None) -> list[Prediction]:
        """Classify raw texts. Empty texts and unknown words are allowed.

        Args:
            texts: A sequence of strings, or a table (see ``Corpus.from_frame``), whose texts are in the column of the
                training.
            threshold: The probability from which a label is given, in place of the bundle's own: a number, or numbers
                by label. For models of several labels per text, and of two labels, where a number is the second's.

        Returns:
            One ``Prediction`` per text, in order.

        Raises:
            TypeError: A single string or a dictionary in place of a sequence, or an item that is not a string, such as
                None. The message gives its position.
            ValueError: A table without that column, or a threshold that is out of range or has no place.
        """
        return Answers(self.predict_stream(texts, threshold=threshold))

    def predict_stream(self, texts: Iterable[str], *, threshold: Threshold = None) -> Iterator[Prediction]:
        """Classify texts as they come, in constant memory: one prediction per text, in order. See ``predict``."""
        return self._predictions(texts, self.decisions.with_threshold(threshold))

    def _predictions(self, texts: Iterable[str], decisions: Decisions) -> Iterator[Prediction]:
        for chunk in self._chunks(texts):
            rows = self.text_to_ids.encode(chunk)
            logits = self._logits_of_rows(rows)
            yield from decisions.predictions(chunk, logits, self._shares(logits), _known_words(rows))

    def probabilities(self, texts: Sequence[str]) -> np.ndarray:
        """Return the probabilities (texts, classes) of raw texts. Raises the same errors as ``predict``."""
        return self._shares(self._all_logits(texts))

    def _shares(self, logits: np.ndarray) -> np.ndarray:
        """Return the probabilities (texts, classes) of logits."""
        return probabilities(logits, self.temperature, is_several=self.is_several)

    @property
    def temperature(self) -> float | None:
        """The number that divides logits before the softmax or sigmoid, None for a bundle that is not calibrated."""
        return self.metrics.get("temperature")

    def calibrate(self, split: Split, label_names: Sequence[str] | None = None) -> float:
        """Fit the temperature on labelled texts, best those of dev, and return it, and no label changes.

        Probabilities of this bundle and of its exports are then softmax(logits / temperature), and thresholds move with
        them. Bundles keep it.
        Another temperature than before drops the losses, the calibration errors and the analysis that the bundle had:
        ``rescore`` finds them again.

        Args:
            split: Texts with labels that the model was not trained on, as for ``evaluate``.
            label_names: As for ``evaluate``.

        Raises:
            ValueError: As for ``evaluate``.

        Reference: Guo et al. 2017, section 4.2.
        """
        labels, before = self._indices(split, label_names), self.temperature
        temperature = fit_temperature(self._logits(split.texts), labels)
        if thresholds := self.config.get("thresholds"):
            self.config["thresholds"] = label_sets.moved(thresholds, before, temperature)
        if temperature != (before or 1.0):
            self.metrics = {name: value for name, value in self.metrics.items() if not _OF_TEMPERATURE.search(name)}
            self.evaluation = {}
        self.metrics["temperature"] = temperature
        if self.scored_weights is None:
            self.scored_weights = self.fingerprint()
        return float(temperature)

    def tune_thresholds(self, split: Split, label_names: Sequence[str] | None = None) -> dict[str, float]:
        """Choose the threshold of each label that gives it the highest F1 on labelled texts, best those of dev.

        It is for models of several labels per text, and of two labels, where the second gets one. A label with fewer
        than five of the texts gets the threshold that is best for all together. Bundles and exports keep them. Scores
        of the bundle are dropped, as they may change: ``rescore`` finds them again.

        Args:
            split: Texts with labels that the model was not trained on, as for ``evaluate``.
            label_names: As for ``evaluate``.

        Returns:
            The thresholds by label.

        Raises:
            ValueError: As for ``evaluate``, or a model of more than two labels of which a text has one.

        Example:
            ``bundle.tune_thresholds(corpus.dev)``, then ``bundle.save("runs/mine", overwrite=True)``
        """
        split, labels = self.labelled(split, label_names)
        return self.tune_thresholds_of(self._logits(split.texts), labels)

    def tune_thresholds_of(self, logits: np.ndarray, labels: np.ndarray) -> dict[str, float]:
        """Choose thresholds as ``tune_thresholds`` does, from logits of texts and the labels of ``labelled``."""
        shares = self._shares(logits)
        if self.is_several:
            values = label_sets.best_thresholds(shares, labels).tolist()
            thresholds = dict(zip(self.labels, values, strict=True))
        else:
            Decisions(self.labels).with_threshold(0.5)  # raises for more than two labels
            thresholds = {self.labels[1]: label_sets.best_of_two(shares, labels)}
        if thresholds != self.config.get("thresholds"):
            self.metrics = {name: x for name, x in self.metrics.items() if not name.startswith(("dev_", "test_"))}
            self.evaluation = {}
        self.config["thresholds"] = thresholds
        return thresholds

    def predict_frame(self, frame: pd.DataFrame, *, text: Hashable, prefix: str | None = None) -> pd.DataFrame:
        """Return a copy of a frame with predictions for its texts. Its index and columns are kept.

        The new columns are ``label``, ``probability`` and, for each label, ``probability_LABEL``. Where texts may have
        several labels, ``labels`` holds a list of them.

        Args:
            frame: A pandas DataFrame, or another table (see ``Corpus.from_frame``), of which a DataFrame is made.
            text: The name of the column with the texts.
            prefix: What the names of the new columns begin with. By default nothing, or ``"predicted_"`` if the frame
                has one of these columns already.

        Raises:
            TypeError: Anything but a frame, or a text that is not a string. The message gives its position.
            ValueError: A column that is not there (with near matches), or a new name that the frame already has.

        Example:
            ``bundle.predict_frame(df, text="review").to_csv("predicted.csv")``
        """
        from dense_lstm_zoo.classification import frames

        frame = check_frame("frame", frame)
        texts = column("the frame", frame, text)
        names = frames.columns_of(self.labels, is_several=self.is_several)
        frames.new_columns(frame, names, prefix)
        return frames.with_predictions(frame, list(self.predict_stream(texts)), names, prefix)

    def explain(self, text: str, *, label: str | None = None) -> Explanation:
        """Show which words influenced the prediction for a text, and which the pooling attended to, layer by layer.

        Args:
            text: A raw string.
            label: The label to explain. None means the likeliest one, whether or not it reaches its threshold.

        Returns:
            Tokens with their saliency, and shares: per layer for models with dynamic interaction, per head for those
            with self-attention.

        Raises:
            TypeError: ``text`` is not a string.
            ValueError: The model does not have the label (with near matches).
        """
        from dense_lstm_zoo.classification.explain import Explanation, share_names

        if not isinstance(text, str):
            raise TypeError(f"explain takes one string; received {text!r:.80}.")
        place = -1 if label is None else self.decisions.place_of(label)
        tokens, ids = self.text_to_ids.read(to_bytes([text]))
        outputs = self._explained(pad_features(ids), np.int32(place))
        arrays = {name: values.numpy()[0] for name, values in outputs.items()}
        logits = self._evened(arrays["logits"][None], self.text_to_ids.encode([text]))
        shares = self._shares(logits)[0]
        best = int(arrays["logits"].argmax()) if label is None else place
        return Explanation(
            text=text,
            label=self.labels[best],
            probability=float(shares[best]),
            tokens=[token.decode() for token in tokens.to_list()[0]],
            saliency=arrays["saliency"],
            layers=share_names(self.model),
            shares=arrays["shares"],
        )

    def embed(self, texts: Iterable[str]) -> np.ndarray:
        """Return a vector per text, float32 (texts, width): what the softmax layer reads.

        It is the pooled state of the encoder, without dropout. Empty texts and unknown words are allowed.

        Args:
            texts: Strings, in a list or as they come.

        Raises:
            TypeError: As for ``predict``.

        Example:
            ``bundle.embed(["A fine film .", "A dull one ."]) @ bundle.embed(["Great !"])[0]``
        """
        chunks = list(self._embedded(texts))
        return np.concatenate(chunks) if chunks else np.empty((0, self.embedding_width), np.float32)

    def embed_stream(self, texts: Iterable[str]) -> Iterator[np.ndarray]:
        """Embed texts as they come, in constant memory: one vector per text, in order."""
        for vectors in self._embedded(texts):
            yield from vectors

    @property
    def embedding_width(self) -> int:
        """The length of the vectors that ``embed`` returns."""
        return int(self.model.get_layer("logits").input.shape[-1])

    def _embedded(self, texts: Iterable[str]) -> Iterator[np.ndarray]:
        from dense_lstm_zoo.classification.batches import predict_rows

        for chunk in self._chunks(texts):
            yield predict_rows(self._pooled_of, self.text_to_ids.encode(chunk))

    @functools.cached_property
    def _pooled_of(self) -> Callable[[Any], tf.Tensor]:
        return pooled_of(self.model, self.text_to_ids.signature)

    def embed_tokens(self, texts: Iterable[str]) -> list[tuple[list[str], np.ndarray]]:
        """Return the tokens that the model reads of each text, and a vector per token, float32 (tokens, width).

        The vectors are the states that the pooling reads: the top layer's, or for ``cnn_mc``, which has no recurrent
        layer, the word vectors. A text without a token that the model reads has one token, ``""``.

        Args:
            texts: Strings.

        Raises:
            TypeError: As for ``predict``.
        """
        from dense_lstm_zoo.data.batching import predict_by_token

        pairs: list[tuple[list[str], np.ndarray]] = []
        for chunk in self._chunks(texts):
            tokens = [[word.decode() for word in row] for row in self.text_to_ids.read(to_bytes(chunk))[0].to_list()]
            states = predict_by_token(self._states_of, self.text_to_ids.encode(chunk))
            pairs.extend(zip(tokens, states, strict=True))
        return pairs

    @functools.cached_property
    def _states_of(self) -> Callable[[Any], tf.Tensor]:
        return states_of(self.model, self.text_to_ids.signature)

    @functools.cached_property
    def _explained(self) -> Callable[[Any, np.int32], dict[str, tf.Tensor]]:
        import tensorflow as tf

        from dense_lstm_zoo.classification.explain import explainer

        return graph(explainer(self.model), [self.text_to_ids.signature, tf.TensorSpec((), tf.int32)])

    def _logits(self, texts: Sequence[str]) -> np.ndarray:
        return self._logits_of_rows(self.text_to_ids.rows(texts))

    def _logits_of_rows(self, rows: Sequence[Any]) -> np.ndarray:
        from dense_lstm_zoo.classification.batches import predict_rows

        return self._evened(predict_rows(self.logits_of, rows), rows)

    def _evened(self, logits: np.ndarray, rows: Sequence[Any]) -> np.ndarray:
        """Return logits (texts, classes) by which the labels of a text without a known word are all as likely.

        As ``Decisions.evened`` for probabilities. They keep their order, so that the label is the network's guess.
        """
        if self.is_several or self.vocabulary.chars or all(counts := _known_words(rows)):
            return logits
        return logits * np.where(counts, 1, FAINT).astype(logits.dtype)[:, None]

    def _all_logits(self, texts: Iterable[str]) -> np.ndarray:
        chunks = [self._logits(chunk) for chunk in self._chunks(texts)]
        return np.concatenate(chunks) if chunks else np.empty((0, len(self.labels)), np.float32)

    def _chunks(self, texts: Iterable[str]) -> Iterator[list[str]]:
        """Yield texts, or those of a table, some at a time."""
        if is_frame(texts):
            name = self.config["training"].get("columns", {}).get("text_column", "text")
            texts = column("the frame", check_frame("texts", texts), name)
        return checks.text_chunks(texts, _CHUNK)

    def suggest(self, texts: Iterable[str], number: int = 50, seed: int = 1) -> list[Suggestion]:
        """Return the texts to label next: those that the model is unsure of and that are unlike each other.

        Empty texts, repeated ones and those that the model was trained on are left out.

        Args:
            texts: Texts without labels, as for ``predict``.
            number: How many to suggest, at most all.
            seed: Of the groups from which one text each is taken.

        Returns:
            Those that the model is least sure of first, with the label that it would give. Of several labels it is
            the likeliest, and the model is unsure of a text by the label that is nearest to its threshold.

        Raises:
            TypeError: As for ``predict``.
            ValueError: ``number`` is not a positive integer, or there is no text to label.

        Example:
            ``[each.text for each in bundle.suggest(open("raw.txt").read().splitlines(), 20)]``
        """
        from dense_lstm_zoo.classification import suggesting

        checks.integer("number", number)
        return suggesting.suggest(self, [text for chunk in self._chunks(texts) for text in chunk], number, seed)

    def evaluate(
        self,
        split: Split | str | os.PathLike[str],
        label_names: Sequence[str] | None = None,
        *,
        threshold: Threshold = None,
    ) -> dict[str, float]:
        """Score the model on labelled texts.

        Args:
            split: Texts with labels, such as ``load_corpus("trec").test``, or a table with the columns of the training
                or the path of its file, or a mapping of tables, such as a ``DatasetDict``, whose ``test`` is scored.
            label_names: Names of the split's labels. The default is the bundle's own.
            threshold: As for ``predict``.

        Returns:
            ``accuracy``, ``macro_f1`` (the mean over classes that occur or are predicted), ``loss`` (mean
            cross-entropy) and ``texts`` (how many). If the bundle is calibrated, also ``calibration_error``, and both
            of what it would be without the temperature: ``loss_uncalibrated``, ``calibration_error_uncalibrated``.
            Where texts may have several labels, those of ``classification.label_sets.scores``.

        Raises:
            FileNotFoundError: No such file.
            ValueError: No texts, a label that the model does not know, or one without a name, texts with one label each
                for a model of several, or the reverse, or as for ``predict``.
        """
        return self.assess(split, label_names, threshold=threshold)[0]

    def analyse(self, split: Split, label_names: Sequence[str] | None = None) -> dict[str, Any]:
        """Analyse the errors on labelled texts, given as to ``evaluate``. See ``classification.analysis.analyse``."""
        return self.assess(split, label_names)[1]

    def assess(
        self,
        split: Split | str | os.PathLike[str],
        label_names: Sequence[str] | None = None,
        *,
        errors: bool = False,
        baseline: Baseline | None = None,
        threshold: Threshold = None,
    ) -> tuple[dict[str, float], dict[str, Any]]:
        """Return the results of ``evaluate`` and ``analyse`` from one pass over the texts.

        With ``errors``, the analysis also holds every wrong prediction, as ``analysis.errors`` returns them. With a
        fitted ``baseline`` of the same labels, its scores are among both.
        """
        decisions = self.decisions.with_threshold(threshold)
        split, labels = self.labelled(split, label_names)
        logits, temperature = self._logits(split.texts), self.temperature
        assess = label_sets.assess if self.is_several else analysis.assess
        scores, analysed, predicted = assess(split, labels, logits, decisions, temperature, with_errors=errors)
        if baseline is not None:
            compared = baseline.scores(split.texts, labels, predicted, self.labels)
            scores |= compared
            analysed["baseline"] = {**compared, "train_texts": baseline.num_texts} if compared else {}
        return scores, analysed

    def predict_indices(self, texts: Sequence[str]) -> np.ndarray:
        """Return the index of each text's label, (texts,), or where texts may have several, bool (texts, classes)."""
        logits = self._all_logits(texts)
        shares = self._shares(logits)
        return self.decisions.decide(shares) if self.is_several else self.decisions.best(logits, shares)

    def labelled(
        self, split: Split | str | os.PathLike[str], label_names: Sequence[str] | None = None
    ) -> tuple[Split, np.ndarray]:
        """Return labelled texts, given as to ``evaluate``, and the index of each one's label among the bundle's.

        Raises:
            ValueError: As for ``evaluate``.
        """
        part, names_in_file = self.part_of(split)
        if tables := parts_of(part):
            table = part if is_frame(part) else tables.get("test")
            if table is None:
                raise ValueError(
                    f"The dataset holds no test texts (it holds {', '.join(tables)}); give one of its tables."
                )
            texts, places, label_names = read_labelled(table, self.config["training"].get("columns", {}))
            part = Split(texts, places)
        return part, self._indices(part, names_in_file or label_names)

    def _indices(self, split: Split, label_names: Sequence[str] | None) -> np.ndarray:
        """Return the index of each text's label among the bundle's, or of several 0 and 1 (texts, labels)."""
        names = list(label_names) if label_names is not None else self.labels
        if not len(split):
            raise ValueError("evaluate needs at least one text; received none.")
        if split.is_several != self.is_several:
            kinds = ("several labels per text", "one label per text")[:: 1 if self.is_several else -1]
            raise ValueError(
                f"The model gives {kinds[0]}, and the texts to score have {kinds[1]}."
                + (" Write each text's labels as a list, or name a label_separator." if self.is_several else "")
            )
        check_labels("the texts", split.labels, names)
        places = {key(label): place for place, label in enumerate(self.labels)}
        places |= {label: place for place, label in enumerate(self.labels)}  # an older bundle may have "5" and "5.0"
        sets = split.labels if self.is_several else [(label,) for label in split.labels]
        index = {name: places.get(name, places.get(key(name))) for name in {names[i] for label in sets for i in label}}
        for name, place in index.items():
            if place is None:
                own = zip(split.lines, sets, strict=False)
                lines = [line for line, label in own if name in (names[i] for i in label)]
                raise ValueError(
                    f"{f'{name_lines(lines, split.unit)}: ' if lines else ''}"
                    f"{checks.unknown_name('label', name, self.labels)}{hint(name, self.labels)}"
                )
        if self.is_several:
            return Split(split.texts, [[index[names[i]] for i in label] for label in sets]).targets(len(self.labels))
        return np.array([index[names[label]] for label in split.labels])


def _known_words(rows: Sequence[Any]) -> list[int]:
    """Return the number of known words of each text, from its ids."""
    return [int((word_ids(row) > UNKNOWN).sum()) for row in rows]
