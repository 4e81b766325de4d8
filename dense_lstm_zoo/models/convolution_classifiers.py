"""Sentence classifiers with convolutions, which the papers compare with (Kim 2014; Zhou et al. 2016)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dense_lstm_zoo import checks
from dense_lstm_zoo.models.classifier import classifier, register_classifier
from dense_lstm_zoo.models.classifiers import lstm_count

if TYPE_CHECKING:
    import keras


def _count_cnn(*, input_dim: int, filters: int, kernel_sizes: Sequence[int], biases: bool, **_: Any) -> int:
    return sum(filters * (size * input_dim + biases) for size in kernel_sizes)


@register_classifier("Kim 2014 (CNN-multichannel), arXiv:1408.5882", _count_cnn, channels=2)
def cnn_mc(*, filters: int = 100, kernel_sizes: Sequence[int] = (3, 4, 5), **options: Any) -> keras.Model:
    """Convolutions over two channels of word vectors, one trained and one not, and the largest value over time.

    Args:
        filters: Features of a window size.
        kernel_sizes: Window sizes in words.
        **options: See ``classifier``.
    """

    def encode(words: Any, lengths: Any, lstm_options: dict[str, Any]) -> Any:
        return words

    def pool(words: Any, lengths: Any, dtype: str | None) -> Any:
        from dense_lstm_zoo import layers

        return layers.ConvolutionPooling(filters, kernel_sizes, dtype=dtype, name="pooling")(words, lengths=lengths)

    return classifier(encode, pool, True, **options)


def _count_blstm_2dcnn(*, input_dim: int, units: int, filters: int, kernel_size: int, biases: bool, **_: Any) -> int:
    return lstm_count(input_dim, units, biases) + filters * (kernel_size**2 + biases)


@register_classifier("Zhou et al. 2016 (BLSTM-2DCNN), arXiv:1611.06639", _count_blstm_2dcnn)
def blstm_2dcnn(*, units: int = 300, filters: int = 100, kernel_size: int = 3, **options: Any) -> keras.Model:
    """Bi-LSTM whose states, both directions summed, are convolved as a picture and pooled over all of it.

    Args:
        units: Width of one direction.
        filters: Number of filters.
        kernel_size: Their height and width.
        **options: See ``classifier``.
    """
    checks.integer("units", units)

    def encode(words: Any, lengths: Any, lstm_options: dict[str, Any]) -> Any:
        from dense_lstm_zoo import layers

        states = layers.BiLSTM(units, name="encoder", **lstm_options)(words, lengths=lengths)
        return states[..., :units] + states[..., units:]

    def pool(states: Any, lengths: Any, dtype: str | None) -> Any:
        from dense_lstm_zoo import layers

        return layers.MapConvolutionPooling(filters, kernel_size, dtype=dtype, name="pooling")(states, lengths=lengths)

    return classifier(encode, pool, **options)
