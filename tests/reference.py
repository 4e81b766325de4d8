"""The papers' recurrent cells in NumPy, step by step, float64: the layer tests' oracle, without the project's code."""

import numpy as np


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def lstm_sentence(x, kernel, recurrent, bias, h, c):
    """Eqs 2-4 of Ding et al. 2018 for one sentence [T, in]. Gates are stored as i, f, c, o."""
    states = []
    for x_t in x:
        i, f, g, o = np.split(x_t @ kernel + h @ recurrent + bias, 4)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        states.append(h)
    return np.array(states).reshape(len(x), len(h)), h, c


def lstm(x, lengths, weights, initial_state=None):
    """One or two directions over a padded batch, one sentence at a time without its padding."""
    weights = [w.astype(np.float64) for w in weights]
    directions = [weights[i : i + 3] for i in range(0, len(weights), 3)]
    units = directions[0][1].shape[0]
    states = np.zeros((len(x), x.shape[1], units * len(directions)))
    final = np.zeros((2, len(x), units * len(directions)))
    for b, n in enumerate(lengths):
        for d, (kernel, recurrent, bias) in enumerate(directions):
            part = slice(d * units, (d + 1) * units)
            h, c = (np.zeros(units), np.zeros(units)) if initial_state is None else (s[b, part] for s in initial_state)
            sentence = x[b, :n].astype(np.float64)
            states_of_row, h, c = lstm_sentence(sentence[::-1] if d else sentence, kernel, recurrent, bias, h, c)
            states[b, :n, part] = states_of_row[::-1] if d else states_of_row
            final[0, b, part], final[1, b, part] = h, c
    return states, final[0], final[1]


def dense_bilstm(x, lengths, weights):
    """Eqs 10-13: each layer reads the input and every state below. Returns all layers' states."""
    layer_input = x.astype(np.float64)
    layers = []
    for i in range(0, len(weights), 6):
        layers.append(lstm(layer_input, lengths, weights[i : i + 6])[0])
        layer_input = np.concatenate([layer_input, layers[-1]], axis=-1)
    return layers


def decoupled_dense_bilstm(x, lengths, weights):
    """Eqs 7-8 of Xie et al. 2019: each direction reads the input and its own states below. Returns all states."""
    reads, layers = [x.astype(np.float64)] * 2, []
    for i in range(0, len(weights), 6):
        units = weights[i + 1].shape[0]
        both = [weights[i : i + 3], weights[i + 3 : i + 6]]
        # Two copies of a direction, of which the right one is kept.
        states = [lstm(reads[d], lengths, [*both[d], *both[d]])[0][..., d * units : (d + 1) * units] for d in (0, 1)]
        layers.append(np.concatenate(states, axis=-1))
        reads = [np.concatenate([layer_input, own], axis=-1) for layer_input, own in zip(reads, states, strict=True)]
    return layers


def gru_sentence(x, kernel, recurrent, bias, h):
    """Cho et al. 2014 in cuDNN's form, which is Keras': the reset gate acts after the product. Gates z, r, h."""
    states = []
    for x_t in x:
        (xz, xr, xh), (hz, hr, hh) = np.split(x_t @ kernel + bias[0], 3), np.split(h @ recurrent + bias[1], 3)
        z, r = sigmoid(xz + hz), sigmoid(xr + hr)
        h = z * h + (1 - z) * np.tanh(xh + r * hh)
        states.append(h)
    return np.array(states).reshape(len(x), len(h)), h


def rnn_sentence(x, kernel, recurrent, bias, h):
    """Elman 1990."""
    states = []
    for x_t in x:
        h = np.tanh(x_t @ kernel + h @ recurrent + bias)
        states.append(h)
    return np.array(states).reshape(len(x), len(h)), h


def recurrent_stack(x, lengths, weights, wiring, cell):
    """Godin et al. 2017, Eqs 6-10, one sentence at a time: what the softmax reads, then the final states."""
    sentence_loop = {"lstm": lstm_sentence, "gru": gru_sentence, "simple_rnn": rnn_sentence}[cell]
    layers = [[w.astype(np.float64) for w in weights[i : i + 3]] for i in range(0, len(weights), 3)]
    units, each = layers[0][1].shape[0], 2 if cell == "lstm" else 1
    width = x.shape[-1] + units * len(layers) if wiring == "dense" else units
    read_out = np.zeros((len(x), x.shape[1], width))
    final = [np.zeros((len(x), units)) for _ in range(each * len(layers))]
    for b, n in enumerate(lengths):
        h = [x[b, :n].astype(np.float64)]  # h_0 is the input
        for i, (kernel, recurrent, bias) in enumerate(layers):
            if wiring == "dense":
                layer_input = np.concatenate(h, axis=1)
            elif wiring == "stacked" or i == 0:
                layer_input = h[-1]
            elif wiring == "skip":
                layer_input = np.concatenate([h[-1], h[-2]], axis=1)
            else:
                layer_input = h[-1] + h[-2]
            states, *last = sentence_loop(layer_input, kernel, recurrent, bias, *[np.zeros(units)] * each)
            h.append(states)
            for k, value in enumerate(last):
                final[each * i + k][b] = value
        read_out[b, :n] = np.concatenate(h, axis=1) if wiring == "dense" else h[-1]
    return [read_out, *final]


def text_encoder(x, lengths, weights, wiring, cell, directions):
    """Peters et al. 2018, section 3.1: the states of every layer, each direction on <eos> and its own words alone."""
    eos, count = weights[0], (len(weights) - 1) // directions
    layer_states = []
    for layer in range(1, count // 3 + 1):
        states = np.zeros((len(x), x.shape[1], 0))
        for d in range(directions):
            own = weights[1 + d * count : 1 + d * count + 3 * layer]  # a stack's lower layers are a stack
            part = np.zeros((len(x), x.shape[1], own[-2].shape[0]))
            for b, n in enumerate(lengths):
                layer_input = np.concatenate([eos[None], x[b, :n][:: -1 if d else 1]])[None]
                top = recurrent_stack(layer_input, [n + 1], own, wiring, cell)[0][0, 1:, -part.shape[2] :]
                part[b, :n] = top[:: -1 if d else 1]
            states = np.concatenate([states, part], axis=2)
        layer_states.append(states)
    return layer_states


def skip_sentence(x, k, kernel, recurrent, bias, skip, skip_kernel=None):
    """Wu et al. 2016, Eqs 9-15 and Table 2, for one sentence. Gates are stored as i, f, c, o, and a gated skip's g."""
    n = recurrent.shape[0]
    h, c, states = np.zeros(n), np.zeros(n), []
    for t, x_t in enumerate(x):
        z = x_t @ kernel
        if skip_kernel is not None:
            z = np.concatenate([z, k[t] @ skip_kernel])
        z = z + h @ recurrent + bias
        z_i, z_f, z_s, z_o = (z[j * n : (j + 1) * n] + (k[t] if skip == "gates" else 0) for j in range(4))
        g = sigmoid(z[4 * n :])
        c = sigmoid(z_f) * c + sigmoid(z_i) * np.tanh(z_s)
        if skip in ("internals", "gated_internals"):
            c = c + (g if "gated" in skip else 1) * k[t]
        h = sigmoid(z_o) * np.tanh(c)
        if skip in ("outputs", "gated_outputs", "gated_sigmoid"):
            h = h + (g if "gated" in skip else 1) * (sigmoid(k[t]) if skip == "gated_sigmoid" else k[t])
        states.append(h)
    return np.array(states).reshape(len(x), n)


def skip_bilstm(x, lengths, weights, skip, distance=2, interleave=False, gate_inputs="below", project_input=False):
    """Two stacks of their own, or interleaved. Skips: k is the direction's own output ``distance`` layers below."""
    weights = [w.astype(np.float64) for w in weights]
    inputs = [weights.pop(-2), weights.pop(-1)] if project_input else None
    n = weights[1].shape[0]
    pooled = np.zeros((len(x), x.shape[1], 2 * n))
    for b, length in enumerate(lengths):
        sentence = x[b, :length].astype(np.float64)
        outputs = [[sentence @ w for w in inputs] if project_input else [None, None]]
        layer_input, remaining = [sentence, sentence], list(weights)
        while remaining:
            below = len(outputs) - distance
            k = outputs[below] if skip != "none" and below >= (0 if project_input else 1) else [None, None]
            states = []
            for d in (0, 1):
                own = skip if k[d] is not None else "none"
                layer = [remaining.pop(0) for _ in range(3)]
                gate = remaining.pop(0) if "gated" in own and gate_inputs == "skip" else None
                turn = slice(None, None, -1 if d else 1)
                back = None if k[d] is None else k[d][turn]
                states.append(skip_sentence(layer_input[d][turn], back, *layer, own, gate)[turn])
            outputs.append(states)
            layer_input = [np.concatenate(states, axis=1)] * 2 if interleave else states
        pooled[b, :length] = np.concatenate(outputs[-1], axis=1)
    return pooled


def highway_bilstm(x, lengths, weights):
    """Zhang et al. 2016: the first layer is an LSTM, the others take the c of the layer below through a gate d."""
    weights = [w.astype(np.float64) for w in weights]
    n = weights[1].shape[0]
    outputs = np.zeros((len(x), x.shape[1], 2 * n))
    for b, length in enumerate(lengths):
        layer_input, cells_below, remaining = [x[b, :length].astype(np.float64)] * 2, None, list(weights)
        while remaining:
            states, cells = [], []
            for d in (0, 1):
                kernel, recurrent, bias = (remaining.pop(0) for _ in range(3))
                w_c, w_l = (0, 0) if cells_below is None else remaining.pop(0)
                h, c, hs, cs = np.zeros(n), np.zeros(n), [], []
                order = range(length)[::-1] if d else range(length)
                for t in order:
                    z = layer_input[d][t] @ kernel + bias
                    i, f, s, o = np.split(z[: 4 * n] + h @ recurrent, 4)
                    skipped = (
                        0
                        if cells_below is None
                        else sigmoid(z[4 * n :] + w_c * c + w_l * cells_below[d][t]) * cells_below[d][t]
                    )
                    c = sigmoid(f) * c + sigmoid(i) * np.tanh(s) + skipped
                    h = sigmoid(o) * np.tanh(c)
                    hs.append(h)
                    cs.append(c)
                turn = slice(None, None, -1 if d else 1)
                states.append(np.array(hs).reshape(length, n)[turn])
                cells.append(np.array(cs).reshape(length, n)[turn])
            layer_input, cells_below = states, cells
        outputs[b, :length] = np.concatenate(layer_input, axis=1)
    return outputs


def recurrent_highway(x, lengths, weights, coupled):
    """Zilly et al. 2016 with an output gate, both directions."""
    weights = [w.astype(np.float64) for w in weights]
    n = weights[1].shape[1]
    outputs = np.zeros((len(x), x.shape[1], 2 * n))
    for b, length in enumerate(lengths):
        for d in (0, 1):
            kernel, recurrent, bias, output_recurrent, output_bias = weights[5 * d : 5 * d + 5]
            y = np.zeros(n)
            for t in range(length)[::-1] if d else range(length):
                z = x[b, t] @ kernel
                s = y
                for layer in range(len(recurrent)):
                    blocks = np.split(
                        s @ recurrent[layer] + bias[layer] + (z[:-n] if layer == 0 else 0), 2 + (not coupled)
                    )
                    transform = sigmoid(blocks[1])
                    s = np.tanh(blocks[0]) * transform + s * (1 - transform if coupled else sigmoid(blocks[2]))
                y = sigmoid(z[-n:] + output_bias + y @ output_recurrent) * np.tanh(s)
                outputs[b, t, d * n : (d + 1) * n] = y
    return outputs
