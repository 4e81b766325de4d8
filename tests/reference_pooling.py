"""The papers' pooling of states in NumPy, sentence by sentence, float64: an oracle without the project's code."""

import numpy as np

from tests.reference import sigmoid


def pool(x, lengths, mode, num_directions=1, weights=()):
    """Pooling one sentence at a time over its real steps. An empty one gives zeros."""
    if mode == "last_mean_max":
        parts = [pool(x, lengths, part, num_directions) for part in ("last", "mean", "max")]
        return np.concatenate(parts, axis=1)
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


def convolution_pooling(x, lengths, weights, padding="full"):
    """Kim 2014: windows one by one over each sentence without its padding, zeros past its ends."""
    pooled = [[] for _ in x]
    for kernel, bias in zip(weights[::2], weights[1::2], strict=True):
        size = len(kernel)
        for i, n in enumerate(lengths):
            sentence = x[i, :n].astype(np.float64)
            ends = np.zeros((size - 1 if padding == "full" else 0, x.shape[2]))
            short = np.zeros((max(0, size - n) if padding == "valid" else 0, x.shape[2]))
            sentence = np.concatenate([ends, sentence, short, ends])
            windows = [
                np.einsum("kf,kfo->o", sentence[t : t + size], kernel) + bias for t in range(len(sentence) - size + 1)
            ]
            pooled[i] += np.maximum(np.max(windows, axis=0), 0).tolist() if n else [0] * len(bias)
    return np.array(pooled)


def map_convolution_pooling(x, lengths, weights):
    """Zhou et al. 2016 with the pooling over the whole map, place by place."""
    (kernel, bias), size = weights, len(weights[0])
    before, after = (size - 1) // 2, size // 2
    pooled = np.zeros((len(x), len(bias)))
    for i, n in enumerate(lengths):
        picture = np.pad(x[i, :n].astype(np.float64), [(before, after)] * 2)
        for t in range(n):
            for f in range(x.shape[2]):
                value = np.einsum("hw,hwo->o", picture[t : t + size, f : f + size], kernel[:, :, 0]) + bias
                pooled[i] = np.maximum(pooled[i], value)
    return pooled


def map_block_pooling(x, lengths, weights, pool_size, max_length):
    """Zhou et al. 2016: sentences padded to one length, filters inside the picture, the largest value of each block."""
    (kernel, bias), size = weights, len(weights[0])
    places = max_length - size + 1, x.shape[2] - size + 1
    pooled = []
    for i, n in enumerate(lengths):
        picture = np.zeros((max_length, x.shape[2]))
        picture[: min(n, max_length)] = x[i, : min(n, max_length)]
        values = np.zeros((*places, len(bias)))
        for t in range(min(n, places[0])):  # past the end no state is real
            for f in range(places[1]):
                value = np.einsum("hw,hwo->o", picture[t : t + size, f : f + size], kernel[:, :, 0]) + bias
                values[t, f] = np.maximum(value, 0)
        rows, columns = (number // pool_size for number in places)
        blocks = values[: rows * pool_size, : columns * pool_size].reshape(rows, pool_size, columns, pool_size, -1)
        pooled.append(blocks.max(axis=(1, 3)).ravel())
    return np.array(pooled)


def softmax(x):
    powers = np.exp(x - x.max())
    return powers / powers.sum()


def dynamic_interaction(lower, top, lengths, weights, mode, iterations, constant=False):
    """Algorithm 1 of Xie et al. 2019, one sentence and one lower layer at a time. Returns w and, by layer, c and v.

    Weights: W_j and b_j side by side for all layers, then each P_j.
    """
    kernel, bias, *projections = (w.astype(np.float64) for w in weights)
    widths = [u.shape[-1] for u in lower] if mode == "vector" else [kernel.shape[1] // len(lower)] * len(lower)
    words, shares, gates = [], [], []
    for j, (u, width) in enumerate(zip(lower, widths, strict=True)):
        part = slice(sum(widths[:j]), sum(widths[: j + 1]))
        w, c_j, v_j = np.zeros((len(top), width)), np.zeros(top.shape[:2]), []
        for i, n in enumerate(lengths):
            states, own = top[i, :n].astype(np.float64), u[i, :n].astype(np.float64)
            x = states @ kernel[:, part] + bias[part]
            x = np.where(x > 0, x, 0.2 * x)
            b, c = np.zeros(n), np.zeros(n)
            v = np.full(n, 0.5)
            for _ in range(0 if constant or not n else iterations):
                c = softmax(b)
                if mode == "position":
                    v = sigmoid(c * own.mean(axis=1))
                    b = b + v * x.sum(axis=1)
                else:
                    projected = own @ projections[j] if projections else own
                    v = sigmoid((c[:, None] * projected).mean(axis=0))
                    b = b + x @ v
            c_j[i, :n] = c
            v_j.append(v)
            if n:
                w[i] = (v[:, None] * x if mode == "position" or constant else v * x).mean(axis=0)
        words.append(w)
        shares.append(c_j)
        gates.append(v_j)
    return np.concatenate(words, axis=1), shares, gates


def dynamic_self_attention(x, lengths, weights, num_heads, iterations):
    """Yoon et al. 2018, one sentence and one head at a time."""
    kernel, bias = (w.astype(np.float64) for w in weights)
    units = kernel.shape[1] // num_heads
    pooled = np.zeros((len(x), kernel.shape[1]))
    for i, n in enumerate(lengths):
        for part in (slice(head * units, (head + 1) * units) for head in range(num_heads)):
            y = x[i, :n].astype(np.float64) @ kernel[:, part] + bias[part]
            y, q = np.where(y > 0, y, 0.2 * y), np.zeros(n)
            for _ in range(iterations if n else 0):
                z = np.tanh(softmax(q) @ y)
                q = q + y @ z
                pooled[i, part] = z
    return pooled
