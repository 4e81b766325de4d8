"""Taggers: token features, a deep recurrent encoder, a softmax or a CRF for every token (Wu et al. 2016)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dense_lstm_zoo import checks
from dense_lstm_zoo.data.token_sizes import AFFIX, CASES, MAX_CHARS
from dense_lstm_zoo.models import weight_counts
from dense_lstm_zoo.models.compiling import compile_model
from dense_lstm_zoo.models.context import context_features, context_width
from dense_lstm_zoo.models.registry import register

if TYPE_CHECKING:
    import keras
    import numpy as np


def tagger(
    encoder: Callable[..., Any],
    *,
    vocab_size: int,
    num_tags: int,
    num_chars: int,
    embedding_dim: int = 200,
    embedding_matrix: np.ndarray | None = None,
    num_frozen_words: int = 0,
    trainable_embeddings: bool = True,
    window: int = 3,
    window_dropout: float = 0.25,
    char_dim: int = 5,
    char_filters: int = 0,
    case: str | None = "binary",
    case_dim: int = 5,
    dropout: float = 0.5,
    crf: bool = False,
    optimizer: str = "sgd",
    learning_rate: float = 0.02,
    clip_norm: float | None = None,
    kernel: str = "auto",
    dtype: str | None = None,
    **context: Any,
) -> keras.Model:
    """Assemble and compile a tagger: a dictionary of ids to logits of every token's tag [B, T, num_tags].

    x_t = [gated words of a window around t; characters at either end of word t; its capitalisation; with
    ``context_units``, a text encoder's states at word t, with dropout (``context.context_features``)]; H = encoder(x);
    logits = W H + b. Inputs are ``token_ids`` and ``case_ids`` [B, T], ``affix_ids`` [B, T, 10] and, with
    ``char_filters``, which adds a convolution over all characters, ``char_ids`` [B, T, 24]. 0 is padding.
    Tags of -1 are padding, of -2 unknown. The loss is the mean over the tokens of a sentence, then over sentences.
    SGD follows the sum of the sentences' gradients, so that a batch moves the weights as far as its sentences would one
    by one (Wu et al. 2016, section 6.1.2). Adam, whose steps have the same length either way, follows their mean.

    Args:
        encoder: Creates the encoder from the options that all encoders share.
        vocab_size: Number of word ids, padding and unknown included.
        num_tags: Number of tags.
        num_chars: Number of character ids, padding and unknown included.
        embedding_dim: Length of a word vector.
        embedding_matrix: Initial word vectors (vocab_size, embedding_dim). They are random by default.
        num_frozen_words: Number of last ids that are never trained.
        trainable_embeddings: Whether word vectors are trained.
        window: Words in the context window, an odd number. 1 means only the word, without a gate.
        window_dropout: Dropout rate for whole words of a window.
        char_dim: Length of the vector of a character at either end of a word, or 0 to leave them out.
        char_filters: Number of features from a convolution over a word's characters, or 0 for none.
        case: ``binary``, ``four_way`` or None to ignore capitalisation.
        case_dim: Length of a capitalisation vector.
        dropout: Dropout rate on the outputs of the first and the last layer, and on a text encoder's states.
        crf: Whether to use a conditional random field instead of the softmax.
        optimizer: ``sgd``, as in the paper, or ``adam``.
        learning_rate: The optimiser's. For SGD it is that of a single sentence.
        clip_norm: Largest norm of all gradients together, summed for SGD, or None for no limit.
        kernel: Which loop over time runs. See ``layers.SkipBiLSTM``.
        dtype: Keras dtype policy, such as ``"mixed_bfloat16"``. The logits stay in float32.
        **context: See ``context.context_features``.

    Raises:
        ValueError: A value out of range.
    """
    checks.integer("vocab_size", vocab_size, minimum=2)
    checks.integer("num_tags", num_tags, minimum=2)
    checks.integer("num_chars", num_chars, minimum=2)
    checks.integer("embedding_dim", embedding_dim)
    checks.integer("char_dim", char_dim, minimum=0)
    checks.integer("char_filters", char_filters, minimum=0)
    checks.integer("case_dim", case_dim)
    if case is not None:
        checks.one_of("case", case, CASES)
    checks.one_of("optimizer", optimizer, ("sgd", "adam"))
    checks.positive("learning_rate", learning_rate)
    if clip_norm is not None:
        checks.positive("clip_norm", clip_norm)

    import keras

    from dense_lstm_zoo import layers
    from dense_lstm_zoo.layers.initializers import scaled_normal
    from dense_lstm_zoo.models.adam import FusedAdam
    from dense_lstm_zoo.tagging.assembly import CRFTagger, SentenceLoss, TaggerNetwork, TokenAccuracy

    inputs = {name: keras.Input((None,), dtype="int32", name=name) for name in ("token_ids", "case_ids")}
    inputs["affix_ids"] = keras.Input((None, 2 * AFFIX), dtype="int32", name="affix_ids")
    lengths = layers.SequenceLengths(name="lengths")(inputs["token_ids"])
    embedding = layers.WordEmbedding(
        vocab_size,
        embedding_dim,
        num_frozen_words=num_frozen_words,
        trainable=trainable_embeddings,
        dtype=dtype,
        name="embedding",
    )
    if embedding_matrix is not None:
        embedding.set_matrix(embedding_matrix)
    around = layers.GatedContextWindow(window, gated=window > 1, dropout=window_dropout, dtype=dtype, name="window")
    vectors = embedding(inputs["token_ids"])
    features = [around(vectors, lengths=lengths)]
    if char_dim:
        affixes = layers.AffixEmbedding(num_chars, char_dim, dtype=dtype, name="affixes")
        features.append(affixes(inputs["affix_ids"]))
    if char_filters:
        inputs["char_ids"] = keras.Input((None, MAX_CHARS), dtype="int32", name="char_ids")
        characters = layers.CharacterCNN(num_chars, filters=char_filters, dtype=dtype, name="characters")
        features.append(characters(inputs["char_ids"]))
    if case is not None:
        capitals = keras.layers.Embedding(CASES[case] + 1, case_dim, dtype=dtype, name="case")
        features.append(capitals(inputs["case_ids"]))
    beside = context_features(inputs["token_ids"], vectors, lengths, vocab_size, kernel, dtype, **context)
    if beside is not None:
        features.append(keras.layers.Dropout(dropout, dtype=dtype, name="context_dropout")(beside))
    inputs_of_encoder = keras.layers.Concatenate(dtype=dtype)(features) if len(features) > 1 else features[0]
    states = encoder(dropout=dropout, kernel=kernel, dtype=dtype, name="encoder")(inputs_of_encoder, lengths=lengths)
    # In float32 under every policy: in bfloat16, the sum for its bias gradient would lose small probabilities.
    softmax = keras.layers.Dense(num_tags, kernel_initializer=scaled_normal(), dtype="float32", name="logits")
    logits = softmax(states)
    model = TaggerNetwork(inputs, logits)
    if crf:
        model = CRFTagger(model, layers.CRF(num_tags, name="crf"))
    step = keras.optimizers.SGD if optimizer == "sgd" else FusedAdam
    loss = SentenceLoss(sum_gradients=optimizer == "sgd")
    return compile_model(model, step(learning_rate, global_clipnorm=clip_norm), loss, TokenAccuracy())


def _input_width(
    *, embedding_dim: int, window: int, char_dim: int, char_filters: int, case: str | None, case_dim: int, **rest: Any
) -> int:
    affixes = 10 * char_dim  # five characters at each end of a word
    of_case = case_dim if case is not None else 0
    return window * embedding_dim + affixes + char_filters + of_case + context_width(rest)


def _skip_count(*, num_layers: int, units: int, skip: str = "none", biases: bool, **options: Any) -> int:
    names = ("gate_inputs", "skip_distance", "project_input", "interleave")
    choices = {name: options[name] for name in names if name in options}
    return weight_counts.skip_bilstm(_input_width(**options), num_layers, units, skip=skip, biases=biases, **choices)


def _highway_count(*, num_layers: int, units: int, biases: bool, **options: Any) -> int:
    return weight_counts.highway_bilstm(_input_width(**options), num_layers, units, biases=biases)


def _highway_network_count(*, units: int, depth: int, couple_gates: bool, biases: bool, **options: Any) -> int:
    width = _input_width(**options)
    return weight_counts.bi_recurrent_highway(width, units, depth, couple_gates=couple_gates, biases=biases)


def _register(equations: str, count: Callable[..., int]) -> Callable[..., Any]:
    paper = f"Wu et al. 2016, {equations}, arXiv:1610.03167"
    return register(task="tagging", paper=paper, options=(tagger, context_features), encoder_parameters=count)


@_register("Eq 9", _skip_count)
def bilstm_tagger(
    *,
    num_layers: int = 1,
    units: int = 512,
    interleave: bool = False,
    recurrent_initializer: str = "orthogonal",
    forget_bias: float = 0.0,
    **options: Any,
) -> keras.Model:
    """Deep Bi-LSTM without skip connections, the same as ``gated_skip_tagger`` with ``skip="none"``.

    Args:
        num_layers: Depth.
        units: Width of a layer, one direction.
        interleave: Whether every layer reads both directions of the layer below.
        recurrent_initializer: Initialiser of each gate's recurrent matrix, such as ``glorot_uniform``.
        forget_bias: Initial value of the forget gates' biases.
        **options: See ``tagger``.
    """
    stack: dict[str, Any] = {
        **{"num_layers": num_layers, "units": units, "skip": "none", "interleave": interleave},
        **{"recurrent_initializer": recurrent_initializer, "forget_bias": forget_bias},
    }
    return gated_skip_tagger(**stack, **options)


@_register("Eqs 9-16", _skip_count)
def gated_skip_tagger(
    *,
    num_layers: int = 7,
    units: int = 512,
    skip: str = "gated_outputs",
    gate_inputs: str = "below",
    skip_distance: int = 2,
    project_input: bool = False,
    interleave: bool = False,
    recurrent_initializer: str = "orthogonal",
    forget_bias: float = 0.0,
    gate_bias: float = 0.0,
    **options: Any,
) -> keras.Model:
    """Deep Bi-LSTM with skip connections inside its cells, from layer 3 on.

    Args:
        num_layers: Depth.
        units: Width of a layer, one direction.
        skip: Where the output of the layer two below enters. See ``layers.GatedSkipLSTMCell``.
        gate_inputs: Input of the skip gates, ``below`` or ``skip``.
        skip_distance: How many layers below a skip starts.
        project_input: Whether layers with too few layers below get a skip from the projected input.
        interleave: Whether every layer reads both directions of the layer below.
        recurrent_initializer: Initialiser of each gate's recurrent matrix, such as ``glorot_uniform``.
        forget_bias: Initial value of the forget gates' biases.
        gate_bias: Initial value of the skip gates' biases.
        **options: See ``tagger``.
    """
    stack: dict[str, Any] = {
        **{"num_layers": num_layers, "units": units, "skip": skip, "gate_inputs": gate_inputs},
        **{"skip_distance": skip_distance, "project_input": project_input, "interleave": interleave},
        "recurrent_initializer": None if recurrent_initializer == "orthogonal" else recurrent_initializer,
        **{"forget_bias": forget_bias, "gate_bias": gate_bias},
    }

    def encoder(**common: Any) -> keras.layers.Layer:
        from dense_lstm_zoo import layers

        return layers.SkipBiLSTM(**stack, **common)

    return tagger(encoder, **options)


@_register("Table 2 (Zhang et al. 2016)", _highway_count)
def highway_tagger(*, num_layers: int = 7, units: int = 512, **options: Any) -> keras.Model:
    """Deep highway Bi-LSTM: gated connections between the inner states of neighbouring layers.

    Args:
        num_layers: Depth.
        units: Width of a layer, one direction.
        **options: See ``tagger``.
    """

    def encoder(**common: Any) -> keras.layers.Layer:
        from dense_lstm_zoo import layers

        return layers.HighwayBiLSTM(num_layers, units, **common)

    return tagger(encoder, **options)


@_register("Table 2 (Zilly et al. 2016)", _highway_network_count)
def rhn_tagger(*, units: int = 512, depth: int = 3, couple_gates: bool = False, **options: Any) -> keras.Model:
    """Bidirectional recurrent highway network with output gates.

    Args:
        units: Width of one direction.
        depth: Micro-layers per step.
        couple_gates: Whether the carry gate is 1 minus the transform gate.
        **options: See ``tagger``.
    """

    def encoder(**common: Any) -> keras.layers.Layer:
        from dense_lstm_zoo import layers

        return layers.BiRecurrentHighway(units, depth, couple_gates=couple_gates, **common)

    return tagger(encoder, **options)
