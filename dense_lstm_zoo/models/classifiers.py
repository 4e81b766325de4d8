"""Sentence classifiers: an encoder between word embeddings and a softmax (Ding et al. 2018, Figure 2)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dense_lstm_zoo import checks
from dense_lstm_zoo.registry import register

if TYPE_CHECKING:
    import keras

# (embedded words, lengths, keyword arguments of every LSTM layer) -> states
Encode = Callable[[Any, Any, dict[str, Any]], Any]


def classifier(
    encode: Encode,
    num_directions: int,
    *,
    vocab_size: int,
    num_classes: int,
    embedding_dim: int = 300,
    embedding_matrix: Any = None,
    num_frozen_words: int = 0,
    trainable_embeddings: bool = True,
    embedding_learning_rate: float | None = None,
    embedding_dropout: float = 0.5,
    pooling: str = "mean",
    dropout: float = 0.5,
    l2: float = 1e-3,
    softmax_max_norm: float | None = None,
    recurrent_initializer: str = "orthogonal",
    unit_forget_bias: bool = True,
    kernel: str = "auto",
    learning_rate: float = 0.005,
    dtype: str | None = None,
) -> keras.Model:
    """Assemble and compile a classifier: ids [B, T] (0 is padding, 1 unknown) to logits [B, classes].

    M_0 = Dropout(E[x]); H = encode(M_0); h* = pooling of H over the real steps; logits = W Dropout(h*) + b.
    The loss is cross-entropy on logits plus the softmax kernel's L2, the optimiser Adam.

    Args:
        encode: The encoder, called with embedded words, lengths and the arguments of every LSTM layer.
        num_directions: How many directions lie side by side in the encoder's states.
        vocab_size: Number of ids, padding and unknown included.
        num_classes: Number of labels, at least 2.
        embedding_dim: Length of a word vector (e).
        embedding_matrix: Initial word vectors (vocab_size, embedding_dim); random by default.
        num_frozen_words: How many of the last ids are never trained: words that no training text holds.
        trainable_embeddings: Whether word vectors are trained (D8).
        embedding_learning_rate: Adam's for the word vectors; None is that of the other weights.
        embedding_dropout: Dropout rate on the embedded words (D7).
        pooling: ``mean`` (the paper's), ``max``, ``last`` or ``attention`` (D6).
        dropout: Dropout rate on the pooled state (D7).
        l2: L2 penalty of the softmax kernel (D7).
        softmax_max_norm: Largest norm of a class's weights; None is no limit (D7).
        recurrent_initializer: Initialiser of the recurrent kernels (D14).
        unit_forget_bias: Whether forget gates start with a bias of 1 (D14).
        kernel: Which loop over time runs: ``auto``, ``portable``, ``native``, ``compiled`` or ``cudnn``.
        learning_rate: Adam's (D15).
        dtype: Keras dtype policy, such as ``"mixed_bfloat16"``; the logits stay in float32.

    Raises:
        ValueError: A value out of range.
    """
    checks.integer("vocab_size", vocab_size, minimum=2)
    checks.integer("num_classes", num_classes, minimum=2)
    checks.integer("embedding_dim", embedding_dim)
    checks.one_of("pooling", pooling, ("mean", "max", "last", "attention"))
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

    token_ids = keras.Input((None,), dtype="int32", name="token_ids")
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
    words = keras.layers.Dropout(embedding_dropout, dtype=dtype, name="embedding_dropout")(embedding(token_ids))
    lstm_options = {
        "recurrent_initializer": recurrent_initializer,
        "unit_forget_bias": unit_forget_bias,
        "kernel": kernel,
        "dtype": dtype,
    }
    states = encode(words, lengths, lstm_options)
    pool = layers.MaskedPooling(pooling, num_directions=num_directions, dtype=dtype, name="pooling")
    pooled = keras.layers.Dropout(dropout, dtype=dtype, name="dropout")(pool(states, lengths=lengths))
    logits = keras.layers.Dense(
        num_classes,
        kernel_regularizer=keras.regularizers.L2(l2) if l2 else None,
        kernel_constraint=keras.constraints.MaxNorm(softmax_max_norm) if softmax_max_norm else None,
        dtype="float32",
        name="logits",
    )(pooled)
    model = keras.Model(token_ids, logits)
    model.compile(
        optimizer=keras.optimizers.Adam(learning_rate),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
        jit_compile=False,  # XLA would compile the whole model again for every batch shape
    )
    # fit traces its step twice if the first trace has to make the optimiser's variables.
    model.optimizer.build(model.trainable_variables)
    return model


def _lstm_count(input_dim: int, units: int, biases: bool, directions: int = 2) -> int:
    return directions * 4 * units * (input_dim + units + biases)


def _pooling_count(width: int, pooling: str, biases: bool) -> int:
    return width * (width + 1 + biases) if pooling == "attention" else 0


def _count_lstm(*, embedding_dim: int, units: int, pooling: str, biases: bool, **_: Any) -> int:
    return _lstm_count(embedding_dim, units, biases, directions=1) + _pooling_count(units, pooling, biases)


def _count_bilstm(*, embedding_dim: int, units: int, pooling: str, biases: bool, **_: Any) -> int:
    return _lstm_count(embedding_dim, units, biases) + _pooling_count(2 * units, pooling, biases)


def _count_stacked(*, num_layers: int, units: int, biases: bool, **arguments: Any) -> int:
    first = _count_bilstm(units=units, biases=biases, **arguments)
    return first + (num_layers - 1) * _lstm_count(2 * units, units, biases)


def _count_residual(*, embedding_dim: int, units: int, **arguments: Any) -> int:
    projection = embedding_dim * 2 * units if embedding_dim != 2 * units else 0
    return projection + _count_stacked(embedding_dim=embedding_dim, units=units, **arguments)


def _count_dc(
    *,
    embedding_dim: int,
    num_dense_layers: int,
    dense_units: int,
    top_units: int,
    pooling: str,
    biases: bool,
    **_: Any,
) -> int:
    widths = [embedding_dim + 2 * dense_units * layer for layer in range(num_dense_layers + 1)]
    dense = sum(_lstm_count(width, dense_units, biases) for width in widths[:-1])
    return dense + _lstm_count(widths[-1], top_units, biases) + _pooling_count(2 * top_units, pooling, biases)


def _register(paper: str, encoder_parameters: Callable[..., int]) -> Callable[..., Any]:
    return register(task="classification", paper=paper, options=classifier, encoder_parameters=encoder_parameters)


@_register("Tai et al. 2015, baseline of Ding et al. 2018, Table 1", _count_lstm)
def lstm(*, units: int = 300, **options: Any) -> keras.Model:
    """One LSTM, left to right.

    Args:
        units: Width of the state.
        **options: See ``classifier``.
    """
    checks.integer("units", units)

    def encode(words: Any, lengths: Any, lstm_options: dict[str, Any]) -> Any:
        from dense_lstm_zoo import layers

        return layers.LSTM(units, name="encoder", **lstm_options)(words, lengths=lengths)

    return classifier(encode, 1, **options)


@_register("Tai et al. 2015, baseline of Ding et al. 2018, Eqs 5-7", _count_bilstm)
def bilstm(*, units: int = 300, **options: Any) -> keras.Model:
    """One bidirectional LSTM.

    Args:
        units: Width of one direction (th).
        **options: See ``classifier``.
    """
    return _stack(1, units, residual=False, **options)


@_register("Deep stacked Bi-LSTM, Ding et al. 2018, Eqs 7-9", _count_stacked)
def stacked_bilstm(*, num_layers: int = 2, units: int = 100, **options: Any) -> keras.Model:
    """Bi-LSTMs in a stack, each reading only the one below; at depth 8 it hardly trains.

    Args:
        num_layers: Depth, at least 1.
        units: Width of one direction.
        **options: See ``classifier``.
    """
    return _stack(num_layers, units, residual=False, **options)


@_register("Deep residual Bi-LSTM, Yu et al. 2017, as compared in Ding et al. 2018, section 3.4", _count_residual)
def residual_bilstm(*, num_layers: int = 2, units: int = 100, **options: Any) -> keras.Model:
    """Bi-LSTMs in a stack, each layer's input added to its output.

    M_l = H_l + M_{l-1}. The words enter the first sum as they are where ``embedding_dim`` is ``2 * units``, and
    through a linear projection without bias elsewhere.

    Args:
        num_layers: Depth, at least 1.
        units: Width of one direction.
        **options: See ``classifier``.
    """
    return _stack(num_layers, units, residual=True, **options)


def _stack(num_layers: int, units: int, *, residual: bool, **options: Any) -> keras.Model:
    checks.integer("num_layers", num_layers)
    checks.integer("units", units)

    def encode(words: Any, lengths: Any, lstm_options: dict[str, Any]) -> Any:
        import keras

        from dense_lstm_zoo import layers

        read = carried = words
        if residual and words.shape[-1] != 2 * units:
            project = keras.layers.Dense(2 * units, use_bias=False, dtype=lstm_options["dtype"], name="projection")
            carried = project(words)
        for layer in range(num_layers):
            states = layers.BiLSTM(units, name=f"bilstm_{layer + 1}", **lstm_options)(read, lengths=lengths)
            if residual:
                states = keras.layers.Add(dtype=lstm_options["dtype"])([carried, states])
            read = carried = states
        return read

    return classifier(encode, 2, **options)


@_register("Ding et al. 2018 (DC-Bi-LSTM), Eqs 10-13, arXiv:1802.00889", _count_dc)
def dc_bilstm(
    *,
    num_dense_layers: int = 15,
    dense_units: int = 13,
    top_units: int = 100,
    remat: bool = False,
    **options: Any,
) -> keras.Model:
    """Densely connected Bi-LSTM: narrow layers that each read the words and every layer below.

    Args:
        num_dense_layers: Narrow layers below the top (dl); 0 is a Bi-LSTM of ``top_units``.
        dense_units: Width of one direction of a narrow layer (dh); 0 makes no narrow layer either.
        top_units: Width of one direction of the top layer (th).
        remat: Recompute layers in the backward pass, for memory linear in depth.
        **options: See ``classifier``.
    """
    checks.integer("num_dense_layers", num_dense_layers, minimum=0)
    checks.integer("dense_units", dense_units, minimum=0)
    checks.integer("top_units", top_units)

    def encode(words: Any, lengths: Any, lstm_options: dict[str, Any]) -> Any:
        from dense_lstm_zoo import layers

        encoder = layers.DenseBiLSTM(
            num_dense_layers, dense_units, top_units, remat=remat, name="encoder", **lstm_options
        )
        return encoder(words, lengths=lengths)

    return classifier(encode, 2, **options)
