"""The predictor: one class for the exports of every task."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from dense_lstm_zoo_runtime import checks, export_folder, shared_words, sources
from dense_lstm_zoo_runtime.answers import Answer, Continuation, Explanation, Score
from dense_lstm_zoo_runtime.classification import Classifier
from dense_lstm_zoo_runtime.decisions import SEVERAL, Threshold
from dense_lstm_zoo_runtime.errors import ExportError
from dense_lstm_zoo_runtime.language import LanguageModel
from dense_lstm_zoo_runtime.tagging import Tagger

_TASKS: dict[str, Any] = {"classification": Classifier, "tagging": Tagger, "language_model": LanguageModel}


class Predictor:
    """A trained model, read from its ONNX export. Answers are those of the bundle that it was made from.

    It may be called from several threads at once. A copy, also one by ``pickle``, reads the same folder again and
    refuses files that have changed since.

    Args:
        source: The folder of an export, a bundle's folder that holds one in ``onnx``, or the name of an installed
            preset. A folder wins over a preset of the same name.
        threads: How many threads one call may use. None leaves the choice to ONNX Runtime.

    Attributes:
        task: ``"classification"``, ``"tagging"`` or ``"language_model"``.
        model: The model's name in dense_lstm_zoo, such as ``"dc_bilstm"``.
        labels: The classes or tags.
        config: What the export's ``config.json`` says.

    Raises:
        ExportError: Not an export, or one that is damaged, of another version, or without the word table it needs.
        FileNotFoundError: No such folder, and no presets are installed.
        ValueError: No such preset, with near matches. ``threads`` below 1 or above 256.

    Example:
        ``Predictor("dc_bilstm_sst2").predict(["a smart and sweet comedy ."])[0].label``
    """

    def __init__(self, source: str | os.PathLike[str], *, threads: int | None = None) -> None:
        if threads is not None:
            checks.threads("threads", threads)
        export = shared_words.with_all_words(export_folder.read_export(sources.find(source)))
        self.config: dict[str, Any] = export.config
        self.task: str = export.config["task"]
        self.model: str = export.config["model"]
        self.labels: list[str] = export.config["labels"]
        self._source = str(export.folder.resolve()), threads, export.sha256
        self._predictor = _TASKS[self.task](export, threads)

    @property
    def is_several(self) -> bool:
        """True for a classifier whose texts may have several labels, or none."""
        return bool(self.config.get("labels_per_text") == SEVERAL)

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        """Return how a copy is made: a graph that is loaded cannot be copied, but its folder can be read again."""
        return _read_again, self._source

    def __repr__(self) -> str:
        return f"Predictor(task={self.task!r}, model={self.model!r}, labels={len(self.labels)})"

    def predict(self, texts: Sequence[Any], *, threshold: Threshold = None) -> list[Any]:
        """Return an answer per text, in order: label, tags, or a language model's score.

        Args:
            texts: Strings. For a tagger also lists of tokens, which are used unchanged. Empty texts and unknown words
                are allowed.
            threshold: Of a classifier of several labels per text, or of two labels: the probability from which a label
                is given, in place of the model's own. It is a number (of two labels the second's), or numbers by label.

        Returns:
            ``Prediction``, ``TaggedSentence`` or ``Score`` objects.

        Raises:
            TypeError: A single string, a table or a dictionary in place of a sequence, or an item that is not a string,
                such as None. The message gives its position.
            ValueError: A threshold that is out of range or has no place.
        """
        return list(self.predict_stream(texts, threshold=threshold))

    def predict_stream(self, texts: Iterable[Any], *, threshold: Threshold = None) -> Iterator[Any]:
        """Answer texts as they come, in constant memory: one answer per text, in order. See ``predict``."""
        if threshold is not None:
            classified: Iterator[Answer] = self._of("classification", "threshold").predict_stream(
                texts, threshold=threshold
            )
            return classified
        if self.task == "language_model":
            return self.score_stream(texts)
        answers: Iterator[Answer] = self._predictor.predict_stream(texts)
        return answers

    def embed(self, texts: Iterable[str]) -> np.ndarray:
        """Return a vector per text, float32 (texts, width): what a classifier's softmax layer reads.

        Raises:
            TypeError: As for ``predict``.
            ValueError: The model is not a classifier.
        """
        rows = list(self.embed_stream(texts))
        return np.stack(rows) if rows else np.empty((0, self._of("classification", "embed").width), np.float32)

    def embed_stream(self, texts: Iterable[str]) -> Iterator[np.ndarray]:
        """Embed texts as they come, in constant memory: one vector per text, in order."""
        answers: Iterator[np.ndarray] = self._of("classification", "embed").embed_stream(texts)
        return answers

    def probabilities(self, sentences: Iterable[str | Sequence[str]]) -> list[np.ndarray]:
        """Return the probability of every tag at every token: for each sentence float32 (tokens, tags).

        The tags are in the order of ``labels``. With a conditional random field, a tag's probability is its marginal:
        the sum over all sequences of tags that have it there. A classifier's answers hold theirs already.

        Args:
            sentences: As for ``predict``.

        Raises:
            ExportError: An export of an older version, which does not hold what they are computed from.
            TypeError: As for ``predict``.
            ValueError: The model is not a tagger.
        """
        rows: list[np.ndarray] = self._of("tagging", "probabilities").probabilities(sentences)
        return rows

    def explain(self, text: str, *, label: str | None = None) -> Explanation:
        """Return what each word of a text contributes to a label: the text is read again without the word.

        A long text costs as much as some 16,000 words do, and its words are left out in groups of neighbours.

        Args:
            text: A raw string.
            label: The label. None means the likeliest one, whether or not it reaches its threshold.

        Raises:
            TypeError: Not a string.
            ValueError: The model is not a classifier, or does not have the label (with near matches).

        Example:
            ``Predictor("dc_bilstm_sst2").explain("a smart and sweet comedy .").effects``
        """
        *_, explanation = self.explain_steps(text, label=label)
        assert explanation is not None
        return explanation

    def explain_steps(self, text: str, *, label: str | None = None) -> Iterator[Explanation | None]:
        """Explain a text in short steps, for programs that answer others meanwhile. See ``explain``.

        Yields:
            None after each step, and the ``Explanation`` at the end.
        """
        steps: Iterator[Explanation | None] = self._of("classification", "explain").explain_steps(text, label)
        return steps

    def score(self, texts: Sequence[str]) -> list[Score]:
        """Return the log probability and perplexity of each text, read as a line of its own.

        Raises:
            TypeError: As for ``predict``.
            ValueError: The model is not a language model.
        """
        return list(self.score_stream(texts))

    def score_stream(self, texts: Iterable[str]) -> Iterator[Score]:
        """Score texts as they come, in constant memory: one ``Score`` per text, in order."""
        answers: Iterator[Score] = self._of("language_model", "score").score_stream(texts)
        return answers

    def generate(
        self,
        prompt: str = "",
        max_tokens: int = 50,
        *,
        temperature: float = 1.0,
        top_k: int | None = None,
        seed: int | None = None,
        stop_at_line_end: bool = True,
        allow_unknown: bool = False,
    ) -> Continuation:
        """Continue a prompt word by word.

        Args:
            prompt: The start of the text. It is read after a line end.
            max_tokens: Maximum number of words to add, line ends included.
            temperature: Divides the logits: below 1 is safer, above 1 more varied, and 0 takes the likeliest word.
            top_k: Draw only from this number of the likeliest words. None draws from all.
            seed: The same seed gives the same text, also from the bundle. None gives a new text each time.
            stop_at_line_end: Stop at the end of the line. Otherwise continue, and each ``<eos>`` becomes a line feed.
            allow_unknown: Whether ``<unk>`` may be drawn.

        Raises:
            ValueError: A value out of range, or the model is not a language model.
        """
        continuation: Continuation = self._of("language_model", "generate").generate(
            prompt,
            max_tokens,
            temperature=temperature,
            top_k=top_k,
            seed=seed,
            stop_at_line_end=stop_at_line_end,
            allow_unknown=allow_unknown,
        )
        return continuation

    def next_words(self, prefix: str, k: int = 10) -> list[tuple[str, float]]:
        """Return the ``k`` likeliest words after a prefix with their probabilities, likeliest first.

        Raises:
            ValueError: ``k`` is not a positive integer, or the model is not a language model.
        """
        answers: list[tuple[str, float]] = self._of("language_model", "next_words").next_words(prefix, k)
        return answers

    def _of(self, task: str, method: str) -> Any:
        if self.task != task:
            raise ValueError(f"{method} is for {task} models; {self.model} is a {self.task} model. Use predict.")
        return self._predictor


def _read_again(folder: str, threads: int | None, sha256: str) -> Predictor:
    """Return the predictor of a folder that must be as it was."""
    predictor = Predictor(folder, threads=threads)
    if predictor._source[-1] != sha256:
        raise ExportError(f"{folder} has changed since this predictor was copied or pickled; load the new export.")
    return predictor
