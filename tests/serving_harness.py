"""A small stand-in for TF Serving on loopback: exports in sessions, behind gRPC's official stubs and behind REST."""

import contextlib
import json
import re
import threading
from concurrent import futures
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import grpc
import numpy as np
import tensorflow as tf
from google.protobuf import any_pb2
from tensorflow_serving.apis import get_model_metadata_pb2, predict_pb2, prediction_service_pb2_grpc


class Loaded:
    """An export as TF Serving loads it: a session with a graph of its own, tensors fed and fetched by their names."""

    def __init__(self, folder):
        self.session = tf.compat.v1.Session(graph=tf.Graph())
        with self.session.graph.as_default():
            definitions = tf.compat.v1.saved_model.load(self.session, ["serve"], str(folder)).signature_def
        self.signatures = {name: definitions[name] for name in definitions if not name.startswith("__")}

    def run(self, signature, inputs):
        signature_def = self.signatures[signature]
        assert set(inputs) == set(signature_def.inputs), (set(inputs), set(signature_def.inputs))
        feeds = {signature_def.inputs[name].name: value for name, value in inputs.items()}
        return self.session.run({name: tensor.name for name, tensor in signature_def.outputs.items()}, feeds)


class RefusedError(Exception):
    """An error with its status in gRPC and in HTTP."""

    def __init__(self, code, http_status, message):
        super().__init__(message)
        self.code, self.http_status = code, http_status


class Models:
    """Models by name and version, with labels."""

    def __init__(self, versions, labels=()):
        self.versions, self.labels = versions, dict(labels)

    def find(self, name, version=None, label=None):
        models = self.versions.get(name, {})
        version_number = self.labels.get(label) if label else version or max(models, default=None)
        if version_number not in models:
            servable = f"Latest({name})" if not (version or label) else f"Specific({name}, {version or label})"
            raise RefusedError(grpc.StatusCode.NOT_FOUND, 404, f"Servable not found for request: {servable}")
        return models[version_number]

    def run(self, model, signature, inputs):
        if signature not in model.signatures:
            message = f'Serving signature name: "{signature}" not found in signature def'
            raise RefusedError(grpc.StatusCode.FAILED_PRECONDITION, 400, message)
        try:
            return model.run(signature, inputs)
        except (tf.errors.OpError, AssertionError) as error:
            raise RefusedError(grpc.StatusCode.INVALID_ARGUMENT, 400, str(error)) from error


class Servicer(prediction_service_pb2_grpc.PredictionServiceServicer):
    def __init__(self, models):
        self.models = models

    def _find(self, spec, context):
        try:
            version = spec.version.value if spec.HasField("version") else None
            return self.models.find(spec.name, version, spec.version_label)
        except RefusedError as error:
            context.abort(error.code, str(error))

    def Predict(self, request, context):  # noqa: N802 - the stub's name
        model, name = self._find(request.model_spec, context), request.model_spec.signature_name or "serving_default"
        try:
            inputs = {key: tf.make_ndarray(value) for key, value in request.inputs.items()}
            answer = predict_pb2.PredictResponse()
            for key, value in self.models.run(model, name, inputs).items():
                answer.outputs[key].CopyFrom(tf.make_tensor_proto(value))
            return answer
        except RefusedError as error:
            context.abort(error.code, str(error))

    def GetModelMetadata(self, request, context):  # noqa: N802
        model, answer = self._find(request.model_spec, context), get_model_metadata_pb2.GetModelMetadataResponse()
        signatures = get_model_metadata_pb2.SignatureDefMap(signature_def=model.signatures)
        packed = any_pb2.Any()
        packed.Pack(signatures)
        answer.metadata["signature_def"].CopyFrom(packed)
        return answer


PATH = re.compile(r"/v1/models/([^/:]+)(?:/versions/(\d+)|/labels/([^/:]+))?(:predict)?")


def handler(models):
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            self._answer(self._predict)

        def do_GET(self):
            self._answer(self._status)

        def _status(self, name, version, label, _):
            models.find(name, int(version) if version else None, label)
            states = [{"version": str(number), "state": "AVAILABLE"} for number in models.versions[name]]
            return {"model_version_status": states}

        def _predict(self, name, version, label, _):
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            model, signature = models.find(name, int(version) if version else None, label), request["signature_name"]
            signature_def = model.signatures.get(signature)
            if "instances" in request and signature_def is not None:
                rows, names = request["instances"], list(signature_def.inputs)
                rows = rows if isinstance(rows[0], dict) else [{names[0]: row} for row in rows]
                inputs = {key: [row[key] for row in rows] for key in names}
            else:
                inputs = request.get("inputs", {})
            dtypes = (
                {key: tf.as_dtype(t.dtype).as_numpy_dtype for key, t in signature_def.inputs.items()}
                if signature_def
                else {}
            )
            arrays = {key: np.array(value, dtypes.get(key, object)) for key, value in inputs.items()}
            outputs = {key: value.tolist() for key, value in models.run(model, signature, arrays).items()}
            only = next(iter(outputs.values())) if len(outputs) == 1 else None
            if "inputs" in request:
                return {"outputs": outputs if only is None else only}
            if len({len(value) for value in outputs.values()}) != 1:
                raise RefusedError(None, 400, "Tensors in the row format must have the same batch size")
            rows = [dict(zip(outputs, row, strict=True)) for row in zip(*outputs.values(), strict=True)]
            return {"predictions": rows if only is None else only}

        def _answer(self, answer):
            try:
                status, body = 200, answer(*PATH.fullmatch(self.path).groups())
            except RefusedError as error:
                status, body = error.http_status, {"error": str(error)}
            content = json.dumps(body, default=bytes.decode).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_):
            """Keep the tests' output free of requests."""

    return Handler


@contextlib.contextmanager
def serving(models):
    """Yield the addresses of gRPC and REST of a server on loopback."""
    server = grpc.server(futures.ThreadPoolExecutor(4))
    prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(Servicer(models), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    front = ThreadingHTTPServer(("127.0.0.1", 0), handler(models))
    thread = threading.Thread(target=front.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{port}", f"127.0.0.1:{front.server_port}"
    finally:
        front.shutdown()
        front.server_close()
        thread.join()
        server.stop(None).wait()
