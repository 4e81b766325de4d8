"""The papers' equations step by step in NumPy, float64: the oracle of the layers' tests. No line is the project's."""

import numpy as np


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def lstm_sentence(x, kernel, recurrent, bias, h, c):
    """Eqs 2-4 of Ding et al. 2018 for one sentence [T, in]; gates stored as i, f, c, o."""
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
            found, h, c = lstm_sentence(sentence[::-1] if d else sentence, kernel, recurrent, bias, h, c)
            states[b, :n, part] = found[::-1] if d else found
            final[0, b, part], final[1, b, part] = h, c
    return states, final[0], final[1]


def dense_bilstm(x, lengths, weights):
    """Eqs 10-13: each layer reads the input and every state below; returns all layers' states."""
    read = x.astype(np.float64)
    layers = []
    for i in range(0, len(weights), 6):
        layers.append(lstm(read, lengths, weights[i : i + 6])[0])
        read = np.concatenate([read, layers[-1]], axis=-1)
    return layers


def gru_sentence(x, kernel, recurrent, bias, h):
    """Cho et al. 2014 in cuDNN's form, which is Keras': the reset gate acts after the product; gates z, r, h."""
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
                read = np.concatenate(h, axis=1)
            elif wiring == "stacked" or i == 0:
                read = h[-1]
            elif wiring == "skip":
                read = np.concatenate([h[-1], h[-2]], axis=1)
            else:
                read = h[-1] + h[-2]
            states, *last = sentence_loop(read, kernel, recurrent, bias, *[np.zeros(units)] * each)
            h.append(states)
            for k, value in enumerate(last):
                final[each * i + k][b] = value
        read_out[b, :n] = np.concatenate(h, axis=1) if wiring == "dense" else h[-1]
    return [read_out, *final]


def pool(x, lengths, mode, num_directions=1, weights=()):
    """Pooling one sentence at a time over its real steps; an empty one gives zeros."""
    pooled = np.zeros((len(x), x.shape[-1]))
    for b, n in enumerate(lengths):
        states = x[b, :n].astype(np.float64)
        if not n:
            continue
        if mode == "mean":
            pooled[b] = states.mean(axis=0)
        elif mode == "max":
            pooled[b] = states.max(axis=0)
        elif mode == "last":
            half = x.shape[-1] // 2 if num_directions == 2 else x.shape[-1]
            pooled[b] = np.concatenate([states[-1, :half], states[0, half:]])
        else:
            kernel, bias, query = (w.astype(np.float64) for w in weights)
            scores = np.exp(np.tanh(states @ kernel + bias) @ query)[:, 0]
            pooled[b] = (scores / scores.sum()) @ states
    return pooled
