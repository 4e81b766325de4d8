"""A bundle with fewer words: the tables of its word embeddings are cut after the words most worth keeping."""

from __future__ import annotations

import dataclasses
from typing import Any

from dense_lstm_zoo import checks
from dense_lstm_zoo.models import registry


def with_words(bundle: Any, max_words: int) -> Any:
    """Return a bundle that knows at most ``max_words`` words. The given one is unchanged.

    A vocabulary begins with the words of the training texts, most frequent first. The other words of the vectors
    follow, most frequent first. So the first ``max_words`` are kept. The result has no scores: texts with the words
    that were dropped may be labelled differently. A classifier's temperature stays.

    Raises:
        ValueError: ``max_words`` is not a positive integer, or the bundle is a language model.
    """
    max_words = checks.integer("max_words", max_words)
    if bundle.task.predicts_words:
        raise ValueError("max_words is for classifiers and taggers; a language model predicts every word it knows.")
    dropped = max(0, len(bundle.vocabulary.words) - max_words)
    arguments = dict(bundle.config["arguments"])
    frozen = max(0, arguments["num_frozen_words"] - dropped)
    arguments |= {"vocab_size": arguments["vocab_size"] - dropped, "num_frozen_words": frozen}
    text = {**bundle.config["text"], "num_frozen_words": frozen}
    words = tuple(bundle.vocabulary.words[: len(bundle.vocabulary.words) - dropped])
    vocabulary = dataclasses.replace(bundle.vocabulary, words=words, num_frozen_words=frozen)
    config = {**bundle.config, "arguments": arguments, "text": text}
    smaller = type(bundle)(
        registry.build(config["model"], **arguments), config, vocabulary, bundle.labels, {}, bundle.history
    )
    for copy, layer in zip(smaller.model._flatten_layers(), bundle.model._flatten_layers(), strict=True):
        weights: dict[str, Any] = {}  # as in a file, where LoRA's product is in the weight that it adds to
        cut: dict[str, Any] = {}
        layer.save_own_variables(weights)
        copy.save_own_variables(cut)
        for name, variable in cut.items():
            value = weights[name]
            cut[name] = value if value.shape == variable.shape else value[: variable.shape[0]]
        copy.load_own_variables(cut)
    if "temperature" in bundle.metrics:
        smaller.metrics["temperature"] = bundle.metrics["temperature"]
    return smaller
