"""Sentence classifiers with convolutions, which the papers compare with (Kim 2014; Zhou et al. 2016)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dense_lstm_zoo import checks
from dense_lstm_zoo.classification.assembly import classifier, register_classifier
from dense_lstm_zoo.models import weight_counts

if TYPE_CHECKING:
    import keras

    from dense_lstm_zoo.layers.recurrence.tensors import Tensor


def _count_cnn(*, input_dim: int, filters: int, kernel_sizes: Sequence[int], biases: bool, **_: object) -> int:
    return sum(filters * (size * input_dim + biases) for size in kernel_sizes)


@register_classifier("Kim 2014 (CNN-multichannel), arXiv:1408.5882", _count_cnn, channels=2)
def cnn_mc(*, filters: int = 100, kernel_sizes: Sequence[int] = (3, 4, 5), **options: Any) -> keras.Model:
    """Convolutions over two channels of word vectors, one trained and one frozen, with max pooling over time.

    Args:
        filters: Features per window size.
        kernel_sizes: Window sizes in words.
        **options: See ``classifier``.
    """

    def encode(words: Tensor, lengths: Tensor, lstm_options: dict[str, Any]) -> Tensor:
        return words

    def pool(words: Tensor, lengths: Tensor, dtype: str | None) -> Tensor:
        from dense_lstm_zoo import layers

        return layers.ConvolutionPooling(filters, kernel_sizes, dtype=dtype, name="pooling")(words, lengths=lengths)

    return classifier(encode, pool, True, **options)


def _count_blstm_2dcnn(*, input_dim: int, units: int, filters: int, kernel_size: int, biases: bool, **_: object) -> int:
    bilstm = weight_counts.lstm(input_dim, units, directions=2, biases=biases)
    return bilstm + filters * (kernel_size**2 + biases)


@register_classifier("Zhou et al. 2016 (BLSTM-2DCNN), arXiv:1611.06639", _count_blstm_2dcnn)
def blstm_2dcnn(
    *,
    units: int = 300,
    filters: int = 100,
    kernel_size: int = 3,
    pool_size: int | None = 2,
    max_length: int = 64,
    **options: Any,
) -> keras.Model:
    """Bi-LSTM whose states, both directions summed, form a map that is convolved in 2D and max-pooled in blocks.

    The softmax reads the largest value of every block. For that the paper pads all sentences to one length. Here the
    blocks are those of the first ``max_length`` words, and the padded length of a batch does not matter. The LSTM reads
    all words. See ``layers.MapConvolutionPooling``.

    Args:
        units: Width of one direction.
        filters: Number of filters.
        kernel_size: Height and width of a filter.
        pool_size: Height and width of a block. None keeps one value per filter, over the whole map.
        max_length: Number of words per sentence whose states are pooled. Only with ``pool_size``.
        **options: See ``classifier``.
    """
    checks.integer("units", units)
    if pool_size is not None:
        checks.integer("pool_size", pool_size)
    checks.integer("max_length", max_length)

    def encode(words: Tensor, lengths: Tensor, lstm_options: dict[str, Any]) -> Tensor:
        from dense_lstm_zoo import layers

        states = layers.BiLSTM(units, name="encoder", **lstm_options)(words, lengths=lengths)
        return states[..., :units] + states[..., units:]

    def pool(states: Tensor, lengths: Tensor, dtype: str | None) -> Tensor:
        from dense_lstm_zoo import layers

        pooling = layers.MapConvolutionPooling(
            filters, kernel_size, pool_size=pool_size, max_length=max_length, dtype=dtype, name="pooling"
        )
        return pooling(states, lengths=lengths)

    return classifier(encode, pool, **options)
