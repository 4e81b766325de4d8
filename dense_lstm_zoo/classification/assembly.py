"""Assembling a classifier: word vectors, an encoder, a pooling, a softmax (Ding et al. 2018, Figure 2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from dense_lstm_zoo import checks
from dense_lstm_zoo.data.token_sizes import MAX_CHARS
from dense_lstm_zoo.models.compiling import compile_model
from dense_lstm_zoo.models.context import context_features, context_width
from dense_lstm_zoo.models.registry import register

if TYPE_CHECKING:
    import keras
    import numpy as np

    from dense_lstm_zoo.layers.recurrence.tensors import Tensor

# (embedded words, lengths, keyword arguments of every LSTM layer) -> states of one layer or of all
Encode: TypeAlias = "Callable[[Tensor, Tensor, dict[str, Any]], Tensor | list[Tensor]]"
# (what Encode returns, lengths, dtype policy) -> (batch, features)
Pool: TypeAlias = "Callable[[Any, Tensor, str | None], Tensor]"


def classifier(
    encode: Encode,
    pool: Pool,
    static_channel: bool = False,
    *,
    vocab_size: int,
    num_classes: int,
    labels: str = "one",
    embedding_dim: int = 300,
    embedding_matrix: np.ndarray | None = None,
    num_frozen_words: int = 0,
    trainable_embeddings: bool = True,
    embedding_learning_rate: float | None = None,
    num_chars: int = 0,
    char_filters: int = 0,
    char_dim: int = 50,
    char_kernel_sizes: Sequence[int] = (5,),
    char_layers: int = 1,
    embedding_dropout: float = 0.5,
    dropout: float = 0.5,
    l2: float = 1e-3,
    softmax_max_norm: float | None = None,
    pooled_words: bool = False,
    recurrent_initializer: str = "orthogonal",
    unit_forget_bias: bool = True,
    kernel: str = "auto",
    learning_rate: float = 0.005,
    dtype: str | None = None,
    **context: Any,
) -> keras.Model:
    """Assemble and compile a classifier: ids [B, T] (0 is padding, 1 unknown) to logits [B, classes].

    M_0 = Dropout(E[x]); H = encode(M_0); h* = pool(H) over the real steps; logits = W Dropout(h*) + b.
    The loss is cross-entropy on logits plus the softmax kernel's L2, the optimiser Adam. Where texts may have several
    labels, each label has a sigmoid in place of the softmax, and targets are 0 and 1 [B, classes].

    With ``char_filters`` the inputs are a dictionary, ``token_ids`` [B, T] and ``char_ids`` [B, T, C] (0 is padding),
    and each word vector is joined with a convolution of the word's characters: M_0 = Dropout([E[x]; CNN(chars)]).
    With ``context_units`` it is joined with the states of a text encoder as well. See ``context.context_features``.

    With ``pooled_words`` the softmax also reads the words themselves, past the encoder:
    h* = [pool(H); mean_t E[x_t]; max_t E[x_t]] (Shen et al. 2018, section 3.1). A ``Standardization`` is between, as
    the three differ in size. Its statistics are set by a training with ``head="convex"``.

    Args:
        encode: The encoder, called with embedded words, lengths and the arguments of every LSTM layer.
        pool: Turns the states into one vector. It is called with states, lengths and the dtype policy.
        static_channel: Whether the encoder also reads a frozen copy of the initial word vectors.
        vocab_size: Number of ids, padding and unknown included.
        num_classes: Number of labels, at least 2.
        labels: The labels of a text: ``one``, or ``several``, which may also be none.
        embedding_dim: Length of a word vector (e).
        embedding_matrix: Initial word vectors (vocab_size, embedding_dim). They are random by default.
        num_frozen_words: How many of the last ids are never trained: words that no training text contains.
        trainable_embeddings: Whether word vectors are trained.
        embedding_learning_rate: Adam's learning rate for the word vectors, or None for ``learning_rate``.
        num_chars: Number of character ids, padding and unknown included. Only with ``char_filters``.
        char_filters: Number of features from a word's characters, or 0 to leave them out.
        char_dim: Length of a character vector.
        char_kernel_sizes: Widths of the convolutions over characters, which share the filters.
        char_layers: Convolutions over characters in sequence.
        embedding_dropout: Dropout rate on the embedded words.
        dropout: Dropout rate on the pooled state.
        l2: L2 penalty of the softmax kernel.
        softmax_max_norm: Largest norm of a class's weights, or None for no limit.
        pooled_words: Whether the softmax reads the mean and the largest values of the word vectors beside the states.
        recurrent_initializer: Initialiser of the recurrent kernels.
        unit_forget_bias: Whether forget gates start with a bias of 1.
        kernel: Which loop over time runs: ``auto``, ``portable``, ``native``, ``compiled`` or ``cudnn``.
        learning_rate: Adam's learning rate.
        dtype: Keras dtype policy, such as ``"mixed_bfloat16"``. The logits stay in float32.
        **context: See ``context.context_features``.

    Raises:
        ValueError: A value out of range.
    """
    checks.integer("vocab_size", vocab_size, minimum=2)
    checks.integer("num_classes", num_classes, minimum=2)
    checks.one_of("labels", labels, ("one", "several"))
    checks.integer("embedding_dim", embedding_dim)
    if checks.integer("char_filters", char_filters, minimum=0):
        checks.integer("num_chars", num_chars, minimum=2)
    checks.fraction("embedding_dropout", embedding_dropout)
    checks.fraction("dropout", dropout)
    checks.positive("l2", l2, zero=True)
    checks.positive("learning_rate", learning_rate)
    if embedding_learning_rate is not None:
        checks.positive("embedding_learning_rate", embedding_learning_rate)
    if softmax_max_norm is not None:
        checks.positive("softmax_max_norm", softmax_max_norm)

    import keras

    from dense_lstm_zoo import layers
    from dense_lstm_zoo.classification.network import ClassifierNetwork
    from dense_lstm_zoo.models.adam import FusedAdam

    token_ids = keras.Input((None,), dtype="int32", name="token_ids")
    inputs: Tensor | dict[str, Tensor] = token_ids
    lengths = layers.SequenceLengths(name="lengths")(token_ids)
    embedding = layers.WordEmbedding(
        vocab_size,
        embedding_dim,
        num_frozen_words=num_frozen_words,
        trainable=trainable_embeddings,
        update_scale=(embedding_learning_rate or learning_rate) / learning_rate,
        dtype=dtype,
        name="embedding",
    )
    if embedding_matrix is not None:
        embedding.set_matrix(embedding_matrix)
    channels = [embedding(token_ids)]
    if static_channel:
        static = layers.WordEmbedding.from_config(
            {**embedding.get_config(), "trainable": False, "name": "static_embedding"}
        )
        static.set_weights(embedding.get_weights())
        channels.append(static(token_ids))
    if char_filters:
        char_ids = keras.Input((None, MAX_CHARS), dtype="int32", name="char_ids")
        inputs = {"token_ids": token_ids, "char_ids": char_ids}
        characters = layers.CharacterCNN(
            num_chars,
            char_dim,
            char_filters,
            kernel_sizes=char_kernel_sizes,
            num_layers=char_layers,
            dtype=dtype,
            name="characters",
        )
        channels.append(characters(char_ids))
    beside = context_features(token_ids, channels[0], lengths, vocab_size, kernel, dtype, **context)
    if beside is not None:
        channels.append(beside)
    vectors = channels[0]
    if len(channels) > 1:
        vectors = keras.layers.Concatenate(dtype=dtype, name="channels")(channels)
    words = keras.layers.Dropout(embedding_dropout, dtype=dtype, name="embedding_dropout")(vectors)
    lstm_options = {
        "recurrent_initializer": recurrent_initializer,
        "unit_forget_bias": unit_forget_bias,
        "kernel": kernel,
        "dtype": dtype,
    }
    states = encode(words, lengths, lstm_options)
    pooled = pool(states, lengths, dtype)
    if pooled_words:
        means_and_maxima = [
            layers.MaskedPooling(mode, dtype=dtype, name=f"words_{mode}")(vectors, lengths=lengths)
            for mode in ("mean", "max")
        ]
        pooled = keras.layers.Concatenate(dtype=dtype, name="states_and_words")([pooled, *means_and_maxima])
        pooled = layers.Standardization(dtype=dtype, name="standardization")(pooled)
    pooled = keras.layers.Dropout(dropout, dtype=dtype, name="dropout")(pooled)
    logits = keras.layers.Dense(
        num_classes,
        kernel_regularizer=keras.regularizers.L2(l2) if l2 else None,
        kernel_constraint=keras.constraints.MaxNorm(softmax_max_norm) if softmax_max_norm else None,
        dtype="float32",
        name="logits",
    )(pooled)
    loss, metric = loss_and_metric(labels)
    # Trained word vectors keep Keras's own step, with which the results were measured.
    optimizer = FusedAdam(learning_rate, sums_words=False)
    return compile_model(ClassifierNetwork(inputs, logits), optimizer, loss, metric)


def loss_and_metric(labels: str) -> tuple[keras.losses.Loss, keras.metrics.Metric]:
    """Return the loss and the accuracy on logits, where a text has ``one`` label or ``several``."""
    import keras

    if labels == "several":
        from dense_lstm_zoo.models import label_sets

        return label_sets.LabelSetCrossentropy(), label_sets.ExactMatch()
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    return loss, keras.metrics.SparseCategoricalAccuracy(name="accuracy")


def register_classifier(
    paper: str,
    count: Callable[..., int],
    *options: Callable[..., Any],
    channels: int = 1,
) -> Callable[..., Any]:
    """Return a decorator that registers a classifier's factory.

    Args:
        paper: The source, with the equations.
        count: A closed formula for the encoder's weights, from the resolved arguments, ``biases`` and ``input_dim``
            (the number of features the encoder reads).
        *options: Functions that define more model options, before those of ``classifier``.
        channels: Number of vectors per word that the encoder reads.
    """

    def encoder_parameters(**arguments: Any) -> int:
        width = channels * arguments["embedding_dim"] + arguments["char_filters"] + context_width(arguments)
        return count(input_dim=width, **arguments)

    return register(
        task="classification",
        paper=paper,
        options=(*options, classifier, context_features),
        encoder_parameters=encoder_parameters,
    )


def pooled_classifier(encode: Encode, num_directions: int, *, pooling: str = "mean", **options: Any) -> keras.Model:
    """Assemble a classifier over the pooled states of one layer.

    Args:
        encode: The encoder. See ``classifier``.
        num_directions: Number of directions concatenated in the encoder's states.
        pooling: ``mean`` (as in the paper), ``max``, ``last``, ``attention`` or ``last_mean_max``.
        **options: See ``classifier``.
    """
    checks.one_of("pooling", pooling, ("mean", "max", "last", "attention", "last_mean_max"))

    def pool(states: Tensor, lengths: Tensor, dtype: str | None) -> Tensor:
        from dense_lstm_zoo import layers

        layer = layers.MaskedPooling(pooling, num_directions=num_directions, dtype=dtype, name="pooling")
        return layer(states, lengths=lengths)

    return classifier(encode, pool, **options)
