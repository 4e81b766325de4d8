"""A client of TF Serving: what a served export says of texts, over REST with the standard library or over gRPC.

gRPC takes the official stubs, tensorflow-serving-api, and with them TensorFlow: it starts slowly and then is the
faster of the two. Answers are the same: one dictionary per text, with padding cut and concatenated rows taken apart.

Example:
    python client.py --model trec "Who was Galileo?"
    python client.py --model tagger --grpc --server tagger.local:8500 --label stable "I saw it."
"""

from __future__ import annotations

import argparse
import http.client
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

_LONGEST = 300  # characters of a server's answer in an error
_SINGLE = {"embed": "vectors"}  # REST leaves out the name of an only output


class ServerError(Exception):
    """A server that is not there, does not answer in time, or refuses. The message is one line."""


@dataclass(frozen=True)
class Model:
    """A served model.

    Args:
        name: Its name in ``models.config``.
        version: A version number. None means the latest.
        label: A label of ``models.config``, such as ``"stable"``, in place of a version.
    """

    name: str
    version: int | None = None
    label: str | None = None

    def __post_init__(self) -> None:
        if self.version is not None and self.label is not None:
            raise ValueError(f"Give a version or a label, not both; received {self.version} and {self.label!r}.")

    @property
    def path(self) -> str:
        """Its address in REST."""
        suffix = "" if self.version is None else f"/versions/{self.version}"
        suffix += "" if self.label is None else f"/labels/{quote(self.label, safe='')}"
        return f"/v1/models/{quote(self.name, safe='')}{suffix}"


def predict_rest(
    server: str, model: Model, texts: Sequence[str], signature: str = "serving_default", timeout: float = 10.0
) -> list[dict[str, Any]]:
    """Return one dictionary of outputs per text, over REST.

    Args:
        server: ``HOST:PORT``.
        model: The model.
        texts: The texts. Half of a surrogate pair becomes ``?``.
        signature: A signature that takes texts.
        timeout: Seconds to wait.

    Raises:
        TypeError: A text that is not a string.
        ServerError: No server, no answer in time, or a refusal.
    """
    inputs = {"text": [text.decode() for text in _encoded(texts)]}
    body = json.dumps({"signature_name": signature, "inputs": inputs}).encode()
    outputs = _ask(server, "POST", f"{model.path}:predict", body, timeout).get("outputs")
    if not isinstance(outputs, dict):
        outputs = {_SINGLE.get(signature, "output"): outputs}
    return _by_text(server, outputs, len(texts))


def predict_grpc(
    server: str, model: Model, texts: Sequence[str], signature: str = "serving_default", timeout: float = 10.0
) -> list[dict[str, Any]]:
    """Return one dictionary of outputs per text, over gRPC. See ``predict_rest``."""
    encoded = _encoded(texts)
    try:
        import grpc
        import tensorflow as tf
        from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc
    except ImportError as error:
        raise ServerError(f"gRPC needs another package: pip install tensorflow-serving-api ({error}).") from None
    request = predict_pb2.PredictRequest()
    request.model_spec.name, request.model_spec.signature_name = model.name, signature
    if model.version is not None:
        request.model_spec.version.value = model.version
    if model.label is not None:
        request.model_spec.version_label = model.label
    request.inputs["text"].CopyFrom(tf.make_tensor_proto(encoded, tf.string, (len(encoded),)))
    with grpc.insecure_channel(server, options=[("grpc.max_receive_message_length", -1)]) as channel:
        stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
        try:
            tensors = stub.Predict(request, timeout=timeout).outputs
        except grpc.RpcError as error:
            raise _refused(server, error.code().name, error.details(), timeout) from None
    outputs = {name: _plain(tf.make_ndarray(tensor).tolist()) for name, tensor in tensors.items()}
    return _by_text(server, outputs, len(texts))


def status(server: str, model: Model, timeout: float = 10.0) -> dict[int, str]:
    """Return the state of each version of a model, such as ``AVAILABLE``, over REST."""
    versions = _ask(server, "GET", model.path, None, timeout).get("model_version_status", [])
    return {int(version["version"]): version["state"] for version in versions}


def _encoded(texts: Sequence[str]) -> list[bytes]:
    """Return texts in UTF-8."""
    if isinstance(texts, str):
        raise TypeError("texts must be a list of strings; received one string. Write ['a text'].")
    for number, text in enumerate(texts, 1):
        if not isinstance(text, str):
            raise TypeError(f"texts must be strings; text {number} is {text!r:.50} ({type(text).__name__}).")
    return [text.encode("utf-8", "replace") for text in texts]


def _ask(server: str, method: str, path: str, body: bytes | None, timeout: float) -> dict[str, Any]:
    """Return the JSON object that a server answers."""
    try:
        connection = http.client.HTTPConnection(server, timeout=timeout)
        try:
            connection.request(method, path, body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            content = response.read()
        finally:
            connection.close()
    except TimeoutError:
        raise _refused(server, "DEADLINE_EXCEEDED", "", timeout) from None
    except (OSError, http.client.HTTPException) as error:
        raise _refused(server, "UNAVAILABLE", str(error), timeout) from None
    try:
        answer = json.loads(content)
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        raise ServerError(
            f"{server} did not answer as TF Serving does: {_one_line(content.decode('utf-8', 'replace'))}"
        )
    if response.status != 200 or "error" in answer:
        raise ServerError(f"{server} refused the request: {_one_line(answer.get('error', response.reason))}")
    return answer


def _refused(server: str, code: str, details: str, timeout: float) -> ServerError:
    if code == "UNAVAILABLE" and "queue" not in details:  # a server whose queue is full has this code as well
        return ServerError(
            f"No server answers at {server} ({_one_line(details)}); start one, or name it with --server."
        )
    if code == "DEADLINE_EXCEEDED":
        return ServerError(f"{server} did not answer within {timeout:g} s; try again, or raise --timeout.")
    return ServerError(f"{server} refused the request: {_one_line(details)}")


def _by_text(server: str, outputs: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """Return the outputs of each text."""
    try:
        lengths = outputs.pop("row_lengths", None)
        if lengths is None:
            return [{name: value[i] for name, value in outputs.items()} for i in range(count)]
        has_rows = bool(outputs["tokens"]) and isinstance(outputs["tokens"][0], list)
        starts = [sum(lengths[:i]) for i in range(count)]
        return [
            {
                name: value[i][: lengths[i]] if has_rows else value[starts[i] : starts[i] + lengths[i]]
                for name, value in outputs.items()
            }
            for i in range(count)
        ]
    except (KeyError, IndexError, TypeError):
        raise ServerError(f"{server} did not return {count} rows: is it an export of dense-lstm-zoo?") from None


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _one_line(text: str) -> str:
    return " ".join(str(text).split())[:_LONGEST]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print one JSON object per text, or the state of each version, and return the exit status."""
    parser = argparse.ArgumentParser(prog="client.py", description="Ask TF Serving about texts.")
    parser.add_argument("texts", nargs="*", metavar="text", help="the texts (default: one per line of standard input)")
    parser.add_argument("--model", required=True, help="the model's name in models.config")
    parser.add_argument("--server", metavar="HOST:PORT", help="default: localhost:8501, with --grpc localhost:8500")
    parser.add_argument("--grpc", action="store_true", help="ask over gRPC rather than REST")
    parser.add_argument("--signature", default="serving_default", help="default: serving_default")
    parser.add_argument("--version", type=int, help="a version (default: the latest)")
    parser.add_argument("--label", help="a version's label, such as stable")
    parser.add_argument("--timeout", type=float, default=10.0, metavar="S", help="seconds to wait (default: 10)")
    parser.add_argument("--status", action="store_true", help="print the state of each version, over REST")
    options = parser.parse_args(arguments)
    server = options.server or ("localhost:8500" if options.grpc and not options.status else "localhost:8501")
    try:
        model = Model(options.model, options.version, options.label)
        if options.status:
            for version, state in sorted(status(server, model, options.timeout).items()):
                print(f"{version}\t{state}")
            return 0
        texts = options.texts or [line.rstrip("\n") for line in sys.stdin]
        predict = predict_grpc if options.grpc else predict_rest
        for row in predict(server, model, texts, options.signature, options.timeout):
            print(json.dumps(row, ensure_ascii=False))
    except (ServerError, ValueError, TypeError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
