"""Warm-up requests: a file from which TF Serving runs a model once before it takes requests."""

from __future__ import annotations

from pathlib import Path

import tensorflow as tf

from dense_lstm_zoo.exports.endpoint import WARM_UP, Endpoints
from dense_lstm_zoo.storage import export_names
from dense_lstm_zoo_runtime import install

INSTALL = install.extra("serving")
MISSING = f"The export has no warm-up requests for TF Serving; to have them, {INSTALL} and export again."


def write(folder: Path, endpoints: Endpoints) -> int:
    """Write warm-up requests for every signature that a server may batch, and return how many.

    A server refuses to load a model if one of them fails. With batching, requests of concatenated signatures do, and so
    they have none.

    Args:
        folder: The export's folder ``assets.extra``.
        endpoints: The signatures.

    Returns:
        The number of requests; 0, and no file, without the package tensorflow-serving-api.
    """
    try:
        from tensorflow_serving.apis import predict_pb2, prediction_log_pb2
    except ImportError:
        return 0
    records = []
    for name, endpoint in endpoints.items():
        if endpoint.is_concatenated:
            continue
        specs = {spec.name: spec for spec in tf.nest.flatten(endpoint.inputs)}
        for texts in WARM_UP:
            request = predict_pb2.PredictRequest()
            request.model_spec.signature_name = name
            for input_name, value in endpoint.request(texts).items():
                tensor = tf.constant(value, specs[input_name].dtype).numpy()
                request.inputs[input_name].CopyFrom(tf.make_tensor_proto(tensor, specs[input_name].dtype))
            log = prediction_log_pb2.PredictionLog(predict_log=prediction_log_pb2.PredictLog(request=request))
            records.append(log.SerializeToString(deterministic=True))
    with tf.io.TFRecordWriter(str(folder / export_names.WARM_UP)) as writer:
        for record in records:
            writer.write(record)
    return len(records)
