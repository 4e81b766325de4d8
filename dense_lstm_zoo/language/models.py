"""Language models: a recurrent stack between word embeddings and a softmax over the vocabulary (Godin et al. 2017)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dense_lstm_zoo import checks
from dense_lstm_zoo.models import weight_counts
from dense_lstm_zoo.models.compiling import compile_model
from dense_lstm_zoo.models.registry import register

if TYPE_CHECKING:
    import keras
    import numpy as np

    from dense_lstm_zoo.language.assembly import LanguageModel


def language_model(
    wiring: str,
    num_layers: int,
    units: int,
    *,
    vocab_size: int,
    embedding_dim: int | None = None,
    embedding_matrix: np.ndarray | None = None,
    trainable_embeddings: bool = True,
    cell: str = "lstm",
    softmax: str = "full",
    sampled_softmax: int | None = None,
    frequency_bias: bool = False,
    dropout: float = 0.6,
    variational_dropout: bool = False,
    input_dropout: float | None = None,
    output_dropout: float | None = None,
    embedding_dropout: float = 0.0,
    recurrent_dropout: float = 0.0,
    weight_dropout: float = 0.0,
    dropout_sharing: str = "per_output",
    init_range: float = 0.05,
    kernel: str = "auto",
    optimizer: str = "sgd",
    learning_rate: float = 1.0,
    weight_decay: float = 0.0,
    clip_norm: float | None = 3.0,
    average: float | None = None,
    dtype: str | None = None,
) -> LanguageModel:
    """Assemble and compile a language model: ids [B, T] to logits of the next word [B, T, vocab_size].

    e = E[w]; h_l = layer l of the stack; logits = W [output of the stack] + b (Eqs 1-10). The loss is the negative
    log likelihood summed over a window's steps and averaged over the batch, and the optimiser is SGD with one clipping
    norm over all gradients. All weights start from U[-init_range, init_range], biases too.

    Later improvements are options. The defaults are those of Godin et al. 2017.

    Args:
        wiring: How the layers are connected. See ``layers.RecurrentStack``.
        num_layers: Depth L.
        units: Width h of a layer.
        vocab_size: Number of words V. Every id is a word.
        embedding_dim: Length of a word vector (e), or None for 200 in a dense model and ``units`` in others.
        embedding_matrix: Initial word vectors (vocab_size, embedding_dim). They are random by default.
        trainable_embeddings: Whether word vectors are trained.
        cell: ``lstm``, ``gru`` or ``simple_rnn``.
        softmax: ``full``, with its own matrix W, or ``tied``: logits = E P [output of the stack] + b, with the word
            vectors E and a projection P to their length, which has no bias (Press & Wolf 2017, Inan et al. 2017). P is
            omitted if the stack returns as many features as a word vector has, which never happens in a dense model.
            With ``trainable_embeddings=False``, words are read and scored by fixed vectors.
        sampled_softmax: Number of words of which a training step computes the softmax, beside each target. None means
            all. The sample is drawn for each window, frequent words more often, and corrected for that. Ids must be in
            order of frequency. Evaluation, predictions and exports use all words. The perplexity that ``fit`` reports
            for training is then an estimate, as a rule below the true one. ``val_perplexity`` is exact. Works best with
            SGD, or with fixed vectors and ``softmax="tied"``: Adam moves a rare word's row too far when it is a target,
            and seldom samples it afterwards. With ``softmax="full"``, W is stored with a row per word.
        frequency_bias: Whether the softmax's bias starts from the logarithm of a word's expected frequency, by Zipf's
            law of its rank, instead of at random. With Adam, whose steps are all of one length, the bias would need
            thousands of steps to get there. Ids must be in order of frequency.
        dropout: Rate on the word vectors and every layer's output.
        variational_dropout: One mask per window instead of one per step.
        input_dropout: A separate rate on the word vectors, or None for ``dropout``.
        output_dropout: Another rate on the softmax input, with its own masks, or None for ``dropout``.
        embedding_dropout: Rate of whole words, dropped everywhere in a window (Gal & Ghahramani 2016).
        recurrent_dropout: Rate on the recurrent state, one mask per window.
        weight_dropout: Rate on the LSTM's recurrent kernels, one mask per window (DropConnect, as in the AWD-LSTM of
            Merity et al. 2018). It costs little, and every kernel supports it.
        dropout_sharing: ``per_output`` if all readers of an output share its mask, else ``per_reader``.
        init_range: Largest absolute initial value of a weight.
        kernel: Which loop over time runs. See ``layers.LSTM``.
        optimizer: ``sgd`` or ``adam``.
        learning_rate: The optimiser's. 1 suits SGD. Adam takes at most 0.1 and works well at 0.001 to 0.003.
        weight_decay: Share of every weight that a step subtracts, times the learning rate (Loshchilov & Hutter 2019).
        clip_norm: Largest norm of all gradients together, or None for no limit.
        average: Momentum of an exponential moving average of the weights, such as 0.999, which the model gets after
            ``fit`` (Polyak & Juditsky 1992, and also used by Merity et al. 2018). To score it each epoch, add
            ``training.averaging.EvaluateAverage`` to the callbacks. None means no average.
        dtype: Keras dtype policy, such as ``"mixed_bfloat16"``. Logits and carried states stay in float32.

    Raises:
        ValueError: A value out of range, ``weight_dropout`` for a cell other than the LSTM, an ``embedding_matrix`` of
            another shape.
    """
    checks.integer("vocab_size", vocab_size, minimum=2)
    embedding_dim = embedding_width(wiring, units, embedding_dim)
    checks.one_of("cell", cell, weight_counts.GATES)
    checks.one_of("softmax", softmax, ("full", "tied"))
    checks.fraction("dropout", dropout)
    checks.fraction("embedding_dropout", embedding_dropout)
    checks.fraction("recurrent_dropout", recurrent_dropout)
    checks.positive("init_range", init_range)
    if sampled_softmax is not None:
        checks.integer("sampled_softmax", sampled_softmax)
    step = _optimizer(optimizer, learning_rate, weight_decay, clip_norm, average)

    import keras

    from dense_lstm_zoo import layers
    from dense_lstm_zoo.language.assembly import LanguageModel, Perplexity, WindowLoss
    from dense_lstm_zoo.language.sampled_softmax import log_frequencies

    uniform = keras.initializers.RandomUniform(-init_range, init_range)
    token_ids = keras.Input((None,), dtype="int32", name="token_ids")
    embedding = layers.TiedEmbedding(
        vocab_size,
        embedding_dim,
        dropout=embedding_dropout,
        # A tied table has a gradient from every word's score, and Adam takes a step for all words.
        sparse_gradient=sampled_softmax is not None or (optimizer == "sgd" and softmax == "full"),
        embeddings_initializer=uniform.clone(),
        trainable=trainable_embeddings,
        dtype=dtype,
        name="embedding",
    )
    stack = layers.RecurrentStack(
        num_layers,
        units,
        wiring=wiring,
        cell=cell,
        dropout=dropout,
        variational_dropout=variational_dropout,
        input_dropout=input_dropout,
        output_dropout=output_dropout,
        recurrent_dropout=recurrent_dropout,
        weight_dropout=weight_dropout,
        dropout_sharing=dropout_sharing,
        return_state=True,
        kernel_initializer=uniform.clone(),
        recurrent_initializer=uniform.clone(),
        bias_initializer=uniform.clone(),
        unit_forget_bias=False,
        kernel=kernel,
        dtype=dtype,
        name="stack",
    )
    start = [
        keras.Input((units,), name=f"state_{layer}_{part}")
        for layer in range(1, num_layers + 1)
        for part in "hc"[: stack.states_per_layer]
    ]
    output, *states = stack(embedding(token_ids), initial_state=start)
    if softmax == "tied":
        if output.shape[-1] != embedding_dim:
            output = keras.layers.Dense(
                embedding_dim, use_bias=False, kernel_initializer=uniform.clone(), dtype=dtype, name="projection"
            )(output)
        scores = embedding(output, reverse=True)
    elif sampled_softmax is not None:
        scores = layers.WordScores(vocab_size, uniform.clone(), dtype=dtype, name="softmax")(output)
    else:
        scores = keras.layers.Dense(
            vocab_size, use_bias=False, kernel_initializer=uniform.clone(), dtype=dtype, name="softmax"
        )(output)
    # In float32 under every policy: a bias gradient sums a word's small probabilities, less its count. A sum in
    # bfloat16 loses the small ones, and a frequent word's bias grows without end.
    logits = layers.Bias(uniform.clone(), dtype="float32", name="logits")
    scored = logits(scores)
    if frequency_bias:
        logits.bias.assign(log_frequencies(vocab_size))
    to_float32 = keras.layers.Activation("linear", dtype="float32", name="float32")
    core = keras.Model([token_ids, *start], [scored, *(to_float32(state) for state in states)])
    if embedding_matrix is not None:
        embedding.set_matrix(embedding_matrix)
    model = LanguageModel(core, sampled_softmax)
    return compile_model(model, step, WindowLoss(), Perplexity())


def _optimizer(
    name: str, learning_rate: float, weight_decay: float, clip_norm: float | None, average: float | None
) -> keras.optimizers.Optimizer:
    checks.one_of("optimizer", name, ("sgd", "adam"))
    checks.positive("learning_rate", learning_rate)
    if name == "adam" and learning_rate > 0.1:
        raise ValueError(
            f"learning_rate must be at most 0.1 with optimizer='adam', as it sets the step length; received "
            f"{learning_rate!r}. Try 0.002."
        )
    checks.positive("weight_decay", weight_decay, zero=True)
    if clip_norm is not None:
        checks.positive("clip_norm", clip_norm)
    options: dict[str, Any] = {"global_clipnorm": clip_norm}
    if average is not None:
        options |= {"use_ema": True, "ema_momentum": checks.fraction("average", average)}
    if weight_decay:
        options["weight_decay"] = weight_decay

    from dense_lstm_zoo.models.adam import FusedAdam
    from dense_lstm_zoo.models.sgd import FusedSGD

    if name == "sgd":
        return FusedSGD(learning_rate, **options)
    return FusedAdam(learning_rate, **options)


def embedding_width(wiring: str, units: int, embedding_dim: int | None) -> int:
    """Return the length of a word vector: as given, after a check, or the default."""
    if embedding_dim is None:
        return 200 if wiring == "dense" else units
    return checks.integer("embedding_dim", embedding_dim)


def _count(wiring: str) -> Callable[..., int]:
    def count(
        *, num_layers: int, units: int, embedding_dim: int | None, cell: str, softmax: str, biases: bool, **_: object
    ) -> int:
        e = embedding_width(wiring, units, embedding_dim)
        stack = weight_counts.recurrent_stack(e, num_layers, units, wiring=wiring, cell=cell, biases=biases)
        top = e + units * num_layers if wiring == "dense" else units
        projection = top * e if softmax == "tied" and top != e else 0
        return stack + projection

    return count


def _register(equations: str, wiring: str) -> Callable[..., Any]:
    paper = f"Godin et al. 2017, {equations}, arXiv:1707.06130"
    return register(task="language_model", paper=paper, options=(language_model,), encoder_parameters=_count(wiring))


@_register("Eqs 6-7 (the baseline of Zaremba et al. 2014)", "stacked")
def stacked_lstm_lm(*, num_layers: int = 2, units: int = 200, **options: Any) -> LanguageModel:
    """Stacked LSTMs, each reading only the layer below.

    Args:
        num_layers: Depth, at least 1.
        units: Width of a layer.
        **options: See ``language_model``.
    """
    return language_model("stacked", *_size(num_layers, units), **options)


@_register("Eq 8", "skip")
def skip_lstm_lm(*, num_layers: int = 3, units: int = 200, **options: Any) -> LanguageModel:
    """LSTMs that each read the two layers below, concatenated.

    Args:
        num_layers: Depth, at least 1.
        units: Width of a layer.
        **options: See ``language_model``.
    """
    return language_model("skip", *_size(num_layers, units), **options)


@_register("Eq 9", "residual")
def residual_lstm_lm(*, num_layers: int = 3, units: int = 200, **options: Any) -> LanguageModel:
    """LSTMs that each read the sum of the two layers below. Word vectors have the width of the layers.

    Args:
        num_layers: Depth, at least 1.
        units: Width of a layer.
        **options: See ``language_model``.
    """
    return language_model("residual", *_size(num_layers, units), **options)


@_register("Eq 10", "dense")
def dense_lstm_lm(*, num_layers: int = 2, units: int = 200, **options: Any) -> LanguageModel:
    """Densely connected LSTMs: every layer and the softmax read the words and all layers below.

    Args:
        num_layers: Depth, at least 1.
        units: Width of a layer.
        **options: See ``language_model``.
    """
    return language_model("dense", *_size(num_layers, units), **options)


def _size(num_layers: int, units: int) -> tuple[int, int]:
    return checks.integer("num_layers", num_layers), checks.integer("units", units)
