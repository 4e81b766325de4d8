"""SIGNATURES.md: the signatures of an export with a request and the model's answer, in REST and gRPC."""

from __future__ import annotations

import pprint
from collections.abc import Iterator, Sequence

import numpy as np

from dense_lstm_zoo.display import Markdown, code, fenced, table
from dense_lstm_zoo.exports import rest, warmup
from dense_lstm_zoo.exports.signature import Signature, Tensor
from dense_lstm_zoo.storage import export_names

NAME = "SIGNATURES.md"
_MODEL = "my_model"
_WIDTH = 110

_INTRODUCTION = f"""A SavedModel with these signatures. They are called here as TF Serving's clients do, with the model
served as {code(_MODEL)}. The answers are this model's own; their numbers are rounded, and {code('"..."')} stands for
the rest of a long list. A process that loads it needs the ops listed in {code("assets.extra/non_core_ops.txt")}; TF
Serving has them."""

_BATCHING = {
    "yes": "Every input and output has one row per text, so a server may batch requests.",
    "equal lengths": "Every input and output has one row per text, but a server can batch only requests whose inputs "
    "have equal lengths. Leave `pad_variable_length_inputs` off: TF Serving pads with a tensor's first value, not 0.",
    "no": "**Not for a server that batches requests**: some tensors have one row per token of all texts together, and "
    "`row_lengths` says how many belong to each text.",
}


def markdown(signatures: Sequence[Signature], warm_up_requests: int) -> str:
    """Return the page.

    Args:
        signatures: All signatures of an export.
        warm_up_requests: How many warm-up requests the export has.
    """
    rows = [(code(s.name), _names(s.inputs), _names(s.outputs), _batching(s)) for s in signatures]
    parts = ["# Signatures", _INTRODUCTION, table(["signature", "takes", "returns", "batching"], rows)]
    parts += ["## Warm-up", _warm_up(warm_up_requests)]
    for signature in signatures:
        parts += _section(signature)
    return "\n\n".join(parts) + "\n"


def _warm_up(count: int) -> str:
    if not count:
        return warmup.MISSING.replace(warmup.INSTALL, code(warmup.INSTALL))
    file = f"`{export_names.FOLDER}/{export_names.WARM_UP}`"
    return f"{file} holds {count} requests, which TF Serving runs when it loads the model."


def _section(signature: Signature) -> Iterator[str]:
    yield f"## {code(signature.name)}"
    yield f"{signature.meaning} {_BATCHING[_batching(signature)]}"
    sides = [("input", signature.inputs), ("output", signature.outputs)]
    rows = [(side, code(t.name), t.dtype, _shape(t)) for side, tensors in sides for t in tensors]
    yield table(["", "name", "type", "shape"], rows)
    yield f"REST: `POST /v1/models/{_MODEL}:predict` with"
    yield fenced(rest.request(signature), "json")
    yield "answers"
    yield fenced(rest.answer(signature), "json")
    yield "gRPC, with tensorflow-serving-api:"
    yield fenced(python(signature), "python")
    yield "prints"
    yield fenced(printed(signature), "text")


def _batching(signature: Signature) -> str:
    if signature.is_concatenated:
        return "no"
    return "equal lengths" if signature.needs_equal_lengths else "yes"


def _names(tensors: Sequence[Tensor]) -> Markdown:
    return Markdown(", ".join(code(tensor.name) for tensor in tensors))


def _shape(tensor: Tensor) -> str:
    sizes = ", ".join(map(str, tensor.shape))
    return f"({sizes},)" if len(tensor.shape) == 1 else f"({sizes})"


def python(signature: Signature) -> str:
    """Return a program that sends the example's request through gRPC and prints the answer."""
    values = {name: _literal(value) for name, value in signature.request.items()}
    lines = ["import grpc"]
    lines += ["import numpy as np"] * any(value.startswith("np.") for value in values.values())
    lines += ["import tensorflow as tf"]
    lines += ["from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc", ""]
    lines += ['stub = prediction_service_pb2_grpc.PredictionServiceStub(grpc.insecure_channel("localhost:8500"))']
    lines += ["request = predict_pb2.PredictRequest()", f'request.model_spec.name = "{_MODEL}"']
    lines += [f'request.model_spec.signature_name = "{signature.name}"']
    for tensor in signature.inputs:
        proto = f"tf.make_tensor_proto({values[tensor.name]}, tf.{tensor.dtype})"
        lines += [f'request.inputs["{tensor.name}"].CopyFrom({proto})']
    lines += ["for name, tensor in sorted(stub.Predict(request, timeout=10).outputs.items()):"]
    lines += ["    print(name, tf.make_ndarray(tensor).tolist())"]
    return "\n".join(lines)


def _literal(value: np.ndarray) -> str:
    """Return an array as Python code, its strings as text."""
    if value.dtype.kind == "f" and not value.any():
        return f"np.zeros({value.shape}, np.{value.dtype})"
    return pprint.pformat(rest.plain(value), width=_WIDTH, compact=True)


def printed(signature: Signature) -> str:
    """Return what ``python`` prints, its numbers rounded and its long lists cut."""
    return "\n".join(
        f"{name} {rest.plain(value, rest.LONGEST, as_text=False)}" for name, value in signature.answer.items()
    )
