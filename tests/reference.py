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
