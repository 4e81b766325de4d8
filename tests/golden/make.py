"""Make the golden files: inputs, weights and outputs of each layer, step by step from the papers' equations in float64.

Nothing of the package is imported, nor of the tests' other references: NumPy alone. Kernels are [in, out]. Gates stand
in the order i, f, c, o. Run it from the project's root: ``python -m tests.golden.make``.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Arrays = dict[str, Any]
FOLDER = Path(__file__).parent
LENGTHS = np.array([6, 4, 1])
BATCH, TIME, FEATURES, UNITS = 3, 6, 5, 4
SKIPS = ("none", "gates", "internals", "gated_internals", "outputs", "gated_outputs", "gated_sigmoid")
MODES = ("position", "vector", "projected_vector")


def sigmoid(x: Any) -> Any:
    """Return 1 / (1 + exp(-x))."""
    return 1 / (1 + np.exp(-x))


def lstm(x: Any, kernel: Any, recurrent: Any, bias: Any) -> tuple[Any, Any, Any]:
    """Run one sentence [T, in] from zeros. Return all h, the last h and the last c (Ding et al. 2018, Eqs 2-4)."""
    n = recurrent.shape[0]
    h, c, states = np.zeros(n), np.zeros(n), np.zeros((len(x), n))
    for t in range(len(x)):
        z = kernel.T @ x[t] + recurrent.T @ h + bias
        c = sigmoid(z[n : 2 * n]) * c + sigmoid(z[:n]) * np.tanh(z[2 * n : 3 * n])
        h = sigmoid(z[3 * n :]) * np.tanh(c)
        states[t] = h
    return states, h, c


def dense_bilstm(inputs_by_name: Arrays) -> Arrays:
    """Ding et al. 2018, Eqs 10-13, and the mean of the top layer's real states."""
    outputs_by_name: Arrays = {f"h{i}": [] for i in range(3)}
    outputs_by_name["pooled"] = []
    for x, length in zip(inputs_by_name["x"], inputs_by_name["lengths"], strict=True):
        memory = x[:length]
        for i in range(3):
            both = []
            for direction, step in (("forward", 1), ("backward", -1)):
                weights = [inputs_by_name[f"layer{i}_{direction}_{part}"] for part in ("kernel", "recurrent", "bias")]
                both.append(lstm(memory[::step], *weights)[0][::step])
            states = np.concatenate(both, axis=1)
            memory = np.concatenate([memory, states], axis=1)
            outputs_by_name[f"h{i}"].append(np.concatenate([states, np.zeros((TIME - length, states.shape[1]))]))
        outputs_by_name["pooled"].append(states.sum(axis=0) / length)
    return {name: np.stack(rows) for name, rows in outputs_by_name.items()}


def skip_step(z: Any, h: Any, c: Any, k: Any, skip: str, g: Any) -> tuple[Any, Any]:
    """Return h and c after a step (Wu et al. 2016, Eqs 9-15 and Table 2). The four sums are z."""
    z_i, z_f, z_s, z_o = np.split(z + np.tile(k, 4) if skip == "gates" else z, 4)
    c = sigmoid(z_f) * c + sigmoid(z_i) * np.tanh(z_s)
    c = c + {"internals": k, "gated_internals": g * k}.get(skip, 0)
    h = sigmoid(z_o) * np.tanh(c)
    return h + {"outputs": k, "gated_outputs": g * k, "gated_sigmoid": g * sigmoid(k)}.get(skip, 0), c


def skip_sentence(x: Any, k: Any, weights: Arrays, skip: str, gate: Callable[[Any, Any, Any], Any]) -> tuple[Any, Any]:
    """Return all h and all c of one sentence. ``gate`` makes g of x_t, h_{t-1} and k_t."""
    n = weights["U"].shape[0]
    h, c, hs, cs = np.zeros(n), np.zeros(n), [], []
    for x_t, k_t in zip(x, k, strict=True):
        z = x_t @ weights["W"] + h @ weights["U"] + weights["b"]
        h, c = skip_step(z, h, c, k_t, skip, gate(x_t, h, k_t))
        hs.append(h)
        cs.append(c)
    return np.stack(hs), np.stack(cs)


def skip_lstm(arrays: Arrays) -> Arrays:
    """All seven variants of Wu et al. 2016, Table 2, and the gate that reads h' and k (section 6.1.4)."""

    def below(x: Any, h: Any, k: Any) -> Any:
        return sigmoid(x @ arrays["Wg"] + h @ arrays["Ug"] + arrays["bg"])

    def beside(x: Any, h: Any, k: Any) -> Any:
        return sigmoid(h @ arrays["Wg_skip"] + k @ arrays["Ug"] + arrays["bg"])

    outputs_by_name: Arrays = {}
    variants = [*((skip, skip, below) for skip in SKIPS), ("gated_outputs_skip_gate", "gated_outputs", beside)]
    for name, skip, gate in variants:
        rows = [skip_sentence(x, k, arrays, skip, gate) for x, k in zip(arrays["x"], arrays["k"], strict=True)]
        outputs_by_name[f"{name}_h"], outputs_by_name[f"{name}_c"] = (
            np.stack(part) for part in zip(*rows, strict=True)
        )
    return outputs_by_name


def skip_bilstm(arrays: Arrays) -> Arrays:
    """Wu et al. 2016, Eq 16: two stacks of four layers. From the third on k is the output of the layer two below."""
    h = np.zeros((BATCH, TIME, 2 * UNITS))
    for b, length in enumerate(arrays["lengths"]):
        for d, (direction, step) in enumerate((("forward", 1), ("backward", -1))):
            outputs = [arrays["x"][b, :length][::step]]
            for layer in range(4):
                prefix = f"{direction}_layer{layer}_"
                weights = {name[len(prefix) :]: w for name, w in arrays.items() if name.startswith(prefix)}

                def gate(x: Any, h: Any, k: Any, w: Arrays = weights) -> Any:
                    return sigmoid(x @ w["Wg"] + h @ w["Ug"] + w["bg"]) if "Wg" in w else 0

                skip = "gated_outputs" if layer >= 2 else "none"
                k = outputs[-2] if layer >= 2 else np.zeros((length, UNITS))
                outputs.append(skip_sentence(outputs[-1], k, weights, skip, gate)[0])
            h[b, :length, d * UNITS : (d + 1) * UNITS] = outputs[-1][::step]
    return {"h": h}


def highway_lstm(arrays: Arrays) -> Arrays:
    """Zhang et al. 2016: c takes the c of the layer below through a gate with two peepholes."""
    h, c = np.zeros((2, BATCH, TIME, UNITS))
    for b in range(BATCH):
        last_h, last_c = np.zeros(UNITS), np.zeros(UNITS)
        for t in range(TIME):
            x, lower = arrays["x"][b, t], arrays["c_below"][b, t]
            z_i, z_f, z_s, z_o = np.split(x @ arrays["W"] + last_h @ arrays["U"] + arrays["b"], 4)
            d = sigmoid(x @ arrays["Wd"] + arrays["wc"] * last_c + arrays["wl"] * lower + arrays["bd"])
            last_c = sigmoid(z_f) * last_c + sigmoid(z_i) * np.tanh(z_s) + d * lower
            last_h = sigmoid(z_o) * np.tanh(last_c)
            h[b, t], c[b, t] = last_h, last_c
    return {"h": h, "c": c}


def recurrent_highway(arrays: Arrays) -> Arrays:
    """Zilly et al. 2016 with an output gate. Blocks h, t, c: the coupled network has 1 - t for the last."""
    outputs_by_name = {}
    for name in ("uncoupled", "coupled"):
        outputs_by_name[f"y_{name}"] = outputs = np.zeros((BATCH, TIME, UNITS))
        for b in range(BATCH):
            y = np.zeros(UNITS)
            for t in range(TIME):
                x, s = arrays["x"][b, t], y
                for layer in range(3):
                    z = s @ arrays["R"][layer] + arrays["b"][layer] + (x @ arrays["Wx"] if layer == 0 else 0)
                    new, transform = np.tanh(z[:UNITS]), sigmoid(z[UNITS : 2 * UNITS])
                    carry = 1 - transform if name == "coupled" else sigmoid(z[2 * UNITS :])
                    s = new * transform + s * carry
                y = sigmoid(x @ arrays["Wo"] + y @ arrays["Ro"] + arrays["bo"]) * np.tanh(s)
                outputs[b, t] = y
    return outputs_by_name


def dynamic_interaction(arrays: Arrays) -> Arrays:
    """Algorithm 1 of Xie et al. 2019 in three readings, 1 to 3 iterations, and with all weights at a half."""
    outputs_by_name: Arrays = {}
    for mode in MODES:
        for rounds in (1, 2, 3, 0):
            name = f"{mode}_r{rounds}" if rounds else f"{mode}_constant"
            rows: list[list[Any]] = []
            for b, n in enumerate(arrays["lengths"]):
                routed = [_route(arrays, mode, j, b, n, rounds) for j in range(3)]
                rows.append([np.concatenate([w for w, _, _ in routed]), *(part for r in routed for part in r[1:])])
            names = ["w", *(f"{part}{j}" for j in range(3) for part in "cv")]
            for part, values in zip(names, zip(*rows, strict=True), strict=True):
                if rounds or part == "w":
                    outputs_by_name[f"{name}_{part}"] = np.stack(values)
    return outputs_by_name


def _route(arrays: Arrays, mode: str, j: int, b: int, n: int, rounds: int) -> tuple[Any, Any, Any]:
    """Return w, c and v of one layer and sentence. Past the length c is 0, and so is v of positions."""
    lower, top = arrays[f"U{j}"][b, :n], arrays["Us"][b, :n]
    x = top @ arrays[f"{mode}_W{j}"] + arrays[f"{mode}_b{j}"]
    x = np.maximum(x, 0.2 * x)
    if mode == "projected_vector":
        lower = lower @ arrays[f"{mode}_P{j}"]
    logits, c = np.zeros(n), np.zeros(n)
    v: Any = np.full(n, 0.5) if mode == "position" else np.full(x.shape[1], 0.5)
    for _ in range(rounds):
        c = np.exp(logits) / np.exp(logits).sum()
        if mode == "position":
            v = sigmoid(c * lower.mean(axis=1))
            logits = logits + v * x.sum(axis=1)
        else:
            v = sigmoid((c[:, None] * lower).mean(axis=0))
            logits = logits + x @ v
    w = (v[:, None] * x if mode == "position" else v * x).sum(axis=0) / n
    past = (0, TIME - n)
    return w, np.pad(c, past), np.pad(v, past) if mode == "position" else v


def dense_lm(arrays: Arrays) -> Arrays:
    """Godin et al. 2017, Eq 10: every layer and the softmax read [e, h_1, ...]. Return log p of each word."""
    outputs_by_name: Arrays = {"log_probabilities": []}
    final: list[list[Any]] = [[] for _ in range(6)]
    for ids in arrays["ids"]:
        states_below = arrays["embedding"][ids]
        for layer in range(3):
            states, h, c = lstm(
                states_below, *(arrays[f"layer{layer}_{part}"] for part in ("kernel", "recurrent", "bias"))
            )
            states_below = np.concatenate([states_below, states], axis=1)
            final[2 * layer].append(h)
            final[2 * layer + 1].append(c)
        logits = states_below @ arrays["softmax_kernel"] + arrays["softmax_bias"]
        outputs_by_name["log_probabilities"].append(logits - np.log(np.exp(logits).sum(axis=1, keepdims=True)))
    names = [f"final_{part}{layer}" for layer in range(3) for part in "hc"]
    return {name: np.stack(rows) for name, rows in [*outputs_by_name.items(), *zip(names, final, strict=True)]}


def draw(rng: np.random.Generator, *shape: int, scale: float = 0.5) -> Any:
    """Return random numbers of three decimals."""
    return np.round(rng.normal(scale=scale, size=shape), 3)


def recurrent_weights(rng: np.random.Generator, width: int, units: int, names: tuple[str, str, str]) -> Arrays:
    """Return the weights of an LSTM under three names."""
    shapes = ((width, 4 * units), (units, 4 * units), (4 * units,))
    return {name: draw(rng, *shape) for name, shape in zip(names, shapes, strict=True)}


def inputs(rng: np.random.Generator) -> dict[str, Arrays]:
    """Return the inputs and weights of every file."""
    n, x = UNITS, (BATCH, TIME, FEATURES)
    parts = ("kernel", "recurrent", "bias")

    def gate(width: int, prefix: str = "") -> Arrays:
        return {f"{prefix}Wg": draw(rng, width, n), f"{prefix}Ug": draw(rng, n, n), f"{prefix}bg": draw(rng, n)}

    arrays: dict[str, Arrays] = {name: {"x": draw(rng, *x, scale=1)} for name in FILES if name[:3] != "dyn"}
    dense = arrays["dense_bilstm"]
    dense["lengths"] = LENGTHS
    for layer, (width, units) in enumerate(((5, 3), (11, 3), (17, 4))):
        for d in ("forward", "backward"):
            names = tuple(f"layer{layer}_{d}_{part}" for part in parts)
            dense |= recurrent_weights(rng, width, units, names)  # type: ignore[arg-type]
    arrays["skip_lstm"] |= {"k": draw(rng, BATCH, TIME, n, scale=1), **recurrent_weights(rng, 5, n, ("W", "U", "b"))}
    arrays["skip_lstm"] |= {**gate(FEATURES), "Wg_skip": draw(rng, n, n)}
    arrays["skip_bilstm"]["lengths"] = LENGTHS
    for d in ("forward", "backward"):
        for layer in range(4):
            prefix, width = f"{d}_layer{layer}_", FEATURES if layer == 0 else n
            arrays["skip_bilstm"] |= recurrent_weights(rng, width, n, (f"{prefix}W", f"{prefix}U", f"{prefix}b"))
            arrays["skip_bilstm"] |= gate(width, prefix) if layer >= 2 else {}
    arrays["highway_lstm"] |= {"c_below": draw(rng, BATCH, TIME, n), **recurrent_weights(rng, 5, n, ("W", "U", "b"))}
    arrays["highway_lstm"] |= {"Wd": draw(rng, 5, n), "wc": draw(rng, n), "wl": draw(rng, n), "bd": draw(rng, n)}
    network = {"Wx": (5, 3 * n), "R": (3, n, 3 * n), "b": (3, 3 * n), "Wo": (5, n), "Ro": (n, n), "bo": (n,)}
    arrays["recurrent_highway"] |= {name: draw(rng, *shape) for name, shape in network.items()}
    widths = {"U0": 6, "U1": 6, "U2": 4, "Us": 8}
    routing: Arrays = {"lengths": LENGTHS, **{u: draw(rng, BATCH, TIME, width) for u, width in widths.items()}}
    for mode in MODES:
        for j in range(3):
            units = widths[f"U{j}"] if mode == "vector" else 4
            routing |= {f"{mode}_W{j}": draw(rng, 8, units), f"{mode}_b{j}": draw(rng, units)}
            routing |= {f"{mode}_P{j}": draw(rng, widths[f"U{j}"], 4)} if mode == "projected_vector" else {}
    arrays["dynamic_interaction"] = routing
    words: Arrays = {"ids": rng.integers(0, 11, (2, 10)), "embedding": draw(rng, 11, 5)}
    words |= {"softmax_kernel": draw(rng, 17, 11), "softmax_bias": draw(rng, 11)}
    for layer in range(3):
        names = tuple(f"layer{layer}_{part}" for part in parts)
        words |= recurrent_weights(rng, 5 + 4 * layer, n, names)  # type: ignore[arg-type]
    arrays["dense_lm"] = words
    return arrays


FILES: dict[str, Callable[[Arrays], Arrays]] = {
    "dense_bilstm": dense_bilstm,
    "skip_lstm": skip_lstm,
    "skip_bilstm": skip_bilstm,
    "highway_lstm": highway_lstm,
    "recurrent_highway": recurrent_highway,
    "dynamic_interaction": dynamic_interaction,
    "dense_lm": dense_lm,
}


if __name__ == "__main__":
    for name, inputs_of_file in inputs(np.random.default_rng(2016)).items():
        np.savez_compressed(FOLDER / f"{name}.npz", **inputs_of_file, **FILES[name](inputs_of_file))
