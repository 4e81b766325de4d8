"""deploy/tf_serving: its client against a small server made of an export, and its files of settings."""

import http.server
import json
import subprocess
import sys
import threading
from pathlib import Path

import grpc
import numpy as np
import pytest
import yaml
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, text_format
from tensorflow_serving.config import model_server_config_pb2

from deploy.tf_serving import client
from deploy.tf_serving.client import Model, ServerError, predict_grpc, predict_rest
from tests.bundle_harness import bundle
from tests.serving_harness import Loaded, Models, RefusedError, serving

FOLDER = Path(client.__file__).parent
TEXTS = ["The film was good, but long!", "", "it", "\ud800 caf\u00e9 \U0001f600"]
BOTH = pytest.mark.parametrize("predict", [predict_rest, predict_grpc], ids=["rest", "grpc"])


@pytest.fixture(scope="module")
def trained():
    return {"trec": bundle("lstm"), "tagger": bundle("bilstm_tagger")}


@pytest.fixture(scope="module")
def servers(trained, tmp_path_factory):
    """The addresses of gRPC and REST, by the client's functions."""
    root = tmp_path_factory.mktemp("served")
    versions = {name: {1: Loaded(bundle.export(root / name / "1"))} for name, bundle in trained.items()}
    versions["trec"][2] = versions["trec"][1]
    with serving(Models(versions, {"stable": 1})) as (by_grpc, by_rest):
        yield {predict_grpc: by_grpc, predict_rest: by_rest}


@pytest.mark.slow
@BOTH
def test_the_client_returns_what_the_bundles_predict(predict, servers, trained):
    server = servers[predict]
    for model in (Model("trec"), Model("trec", version=2), Model("trec", label="stable")):
        rows = predict(server, model, TEXTS)
        for row, expected in zip(rows, trained["trec"].predict(TEXTS), strict=True):
            assert row["label"] == expected.label
            shares = dict(zip(row["labels"], row["probabilities"], strict=True))
            assert shares == pytest.approx(expected.probabilities, abs=1e-5)
    vectors = [row["vectors"] for row in predict(server, Model("trec"), TEXTS, "embed")]
    np.testing.assert_allclose(vectors, trained["trec"].embed(TEXTS), atol=1e-5)
    for row, text in zip(predict(server, Model("trec"), TEXTS, "explain"), TEXTS, strict=True):
        expected = trained["trec"].explain(text)
        assert row["tokens"] == expected.tokens
        assert row["saliency"] == pytest.approx(expected.saliency.tolist(), abs=1e-5)


@BOTH
def test_the_client_cuts_padding_and_takes_concatenated_rows_apart(predict, servers, trained):
    for signature in ("serving_default", "flat"):
        rows = predict(servers[predict], Model("tagger"), TEXTS, signature)
        for row, expected in zip(rows, trained["tagger"].predict(TEXTS), strict=True):
            assert (row["tokens"], row["tags"]) == (expected.tokens, expected.tags)
            assert row["probabilities"] == pytest.approx(expected.probabilities, abs=1e-4)
            assert set(row) == {"tokens", "tags", "probabilities"}


@BOTH
def test_what_a_server_refuses_is_told_in_a_line(predict, servers):
    server = servers[predict]
    for model, signature, message in (
        (Model("trek"), "serving_default", r"refused the request: Servable not found for request: Latest\(trek\)"),
        (Model("trec", version=7), "serving_default", r"Specific\(trec, 7\)"),
        (Model("trec", label="new"), "serving_default", r"Specific\(trec, new\)"),
        (Model("trec"), "explian", '"explian" not found'),
        (Model("trec"), "token_ids", "refused the request"),
    ):
        with pytest.raises(ServerError, match=message) as raised:
            predict(server, model, TEXTS, signature)
        assert "\n" not in str(raised.value)


class Busy(Models):
    """A server whose queue is full."""

    def find(self, *_):
        message = "The batch scheduling queue to which this task was submitted is full"
        raise RefusedError(grpc.StatusCode.UNAVAILABLE, 503, message)


def test_a_full_queue_is_not_told_as_a_server_that_is_not_there():
    with serving(Busy({})) as (by_grpc, by_rest):
        for predict, server in ((predict_grpc, by_grpc), (predict_rest, by_rest)):
            with pytest.raises(ServerError, match=r"refused the request: The batch scheduling queue .* is full"):
                predict(server, Model("trec"), ["a"])


@BOTH
def test_a_server_that_is_not_there_and_texts_that_are_none_are_told_in_a_line(predict):
    with pytest.raises(ServerError, match=r"No server answers at 127\.0\.0\.1:1 ") as raised:
        predict("127.0.0.1:1", Model("trec"), ["a"])
    assert "\n" not in str(raised.value)
    with pytest.raises(TypeError, match=r"must be strings; text 2 is 3 \(int\)"):
        predict("127.0.0.1:1", Model("trec"), ["a", 3])
    with pytest.raises(TypeError, match=r"one string. Write \['a text'\]"):
        predict("127.0.0.1:1", Model("trec"), "a")
    with pytest.raises(ValueError, match="a version or a label, not both; received 1 and 'stable'"):
        Model("trec", 1, "stable")


def answering(body, wait=None):
    """The address of a server that answers every POST with these bytes."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            if wait is not None:
                wait.wait(30)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            """Keep the tests' output free of requests."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"<html>\nhello</html>", "did not answer as TF Serving does: <html> hello</html>"),
        (b"[]", "did not answer as TF Serving does"),
        (b'{"outputs": {"label": []}}', "did not return 1 rows"),
        (b"{}", "did not return 1 rows"),
    ],
)
def test_another_server_is_told_in_a_line(body, message):
    server = answering(body)
    with pytest.raises(ServerError, match=message):
        predict_rest(f"127.0.0.1:{server.server_port}", Model("trec"), ["a"])
    server.shutdown()
    server.server_close()


def test_a_server_that_is_slow_is_not_waited_for():
    ended = threading.Event()
    server = answering(b"{}", ended)
    with pytest.raises(ServerError, match=r"did not answer within 0.2 s; try again, or raise --timeout"):
        predict_rest(f"127.0.0.1:{server.server_port}", Model("trec"), ["a"], timeout=0.2)
    ended.set()
    server.shutdown()
    server.server_close()


def test_the_command_prints_a_line_of_json_per_text_and_the_state_of_each_version(servers, trained, capsys):
    server = servers[predict_rest]
    assert client.main(["--model", "trec", "--server", server, *TEXTS[:2]]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["label"] for row in rows] == [prediction.label for prediction in trained["trec"].predict(TEXTS[:2])]
    assert client.main(["--model", "tagger", "--grpc", "--server", servers[predict_grpc], TEXTS[0]]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert json.loads(line)["tags"] == trained["tagger"].predict(TEXTS[:1])[0].tags
    assert client.main(["--model", "trec", "--server", server, "--status"]) == 0
    assert capsys.readouterr().out == "1\tAVAILABLE\n2\tAVAILABLE\n"
    assert client.main(["--model", "trek", "--server", server, "a"]) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"error: {server} refused the request: ")
    assert error.count("\n") == 1


@pytest.mark.slow
def test_rest_needs_nothing_but_the_standard_library(servers):
    """The process can import nothing else. An error of a server that is not there has no traceback."""
    command = [sys.executable, "-I", "-S", str(FOLDER / "client.py"), "--model", "trec", "--server"]
    run = subprocess.run([*command, servers[predict_rest], "it"], capture_output=True, text=True)
    assert json.loads(run.stdout)["label"], run.stderr
    run = subprocess.run([*command, "127.0.0.1:1", "it"], capture_output=True, text=True)
    assert (run.returncode, run.stdout, run.stderr.count("\n")) == (1, "", 1)


def message(name, *fields):
    """A message type of these fields, written down from TF Serving's own definition, which the stubs lack."""
    file = descriptor_pb2.FileDescriptorProto(name=f"{name}.proto", package="tests", syntax="proto3")
    file.dependency.append("google/protobuf/wrappers.proto")
    message_type = file.message_type.add(name=name)
    for field, number, kind, label in fields:
        new_field = message_type.field.add(name=field, number=number, label=label)
        if kind.startswith("."):
            new_field.type, new_field.type_name = descriptor_pb2.FieldDescriptorProto.TYPE_MESSAGE, kind
        else:
            new_field.type = getattr(descriptor_pb2.FieldDescriptorProto, f"TYPE_{kind}")
    POOL.AddSerializedFile(file.SerializeToString())
    return message_factory.GetMessageClass(POOL.FindMessageTypeByName(f"tests.{name}"))


POOL = descriptor_pool.Default()
ONE, MANY = descriptor_pb2.FieldDescriptorProto.LABEL_OPTIONAL, descriptor_pb2.FieldDescriptorProto.LABEL_REPEATED


def test_the_models_file_is_one_of_the_official_message():
    config = model_server_config_pb2.ModelServerConfig()
    text_format.Parse((FOLDER / "models.config").read_text(), config)
    models = {model.name: model for model in config.model_config_list.config}
    assert set(models) == {"trec", "tagger"}
    for name, model in models.items():
        assert model.base_path == f"/models/{name}"
        assert model.model_platform == "tensorflow"
        assert model.model_version_policy.latest.num_versions == 2
        assert dict(model.version_labels) == {"stable": 1}


def test_batches_are_as_large_as_a_warm_up_request_and_never_padded():
    integer = ".google.protobuf.Int64Value"
    numbers = ("max_batch_size", "batch_timeout_micros", "max_enqueued_batches", "num_batch_threads")
    fields = [(name, number, integer, ONE) for number, name in enumerate(numbers, 1)]
    fields += [("thread_pool_name", 5, ".google.protobuf.StringValue", ONE), ("allowed_batch_sizes", 6, "INT64", MANY)]
    config = message("BatchingParameters", *fields, ("pad_variable_length_inputs", 7, "BOOL", ONE))()
    text_format.Parse((FOLDER / "batching.config").read_text(), config)
    assert config.max_batch_size.value == 32  # a server does not load a model that has larger warm-up requests
    assert 0 < config.batch_timeout_micros.value < 10_000
    assert config.num_batch_threads.value == 2
    assert config.max_enqueued_batches.value > 0
    assert not config.pad_variable_length_inputs


def test_metrics_are_where_the_readme_says():
    message("PrometheusConfig", ("enable", 1, "BOOL", ONE), ("path", 2, "STRING", ONE))
    file = descriptor_pb2.FileDescriptorProto(name="monitoring.proto", package="tests", syntax="proto3")
    file.dependency.append("PrometheusConfig.proto")
    field = file.message_type.add(name="MonitoringConfig").field.add(name="prometheus_config", number=1, label=ONE)
    field.type, field.type_name = descriptor_pb2.FieldDescriptorProto.TYPE_MESSAGE, ".tests.PrometheusConfig"
    POOL.AddSerializedFile(file.SerializeToString())
    config = message_factory.GetMessageClass(POOL.FindMessageTypeByName("tests.MonitoringConfig"))()
    text_format.Parse((FOLDER / "monitoring.config").read_text(), config)
    assert config.prometheus_config.enable
    assert config.prometheus_config.path in (FOLDER / "README.md").read_text()


def test_the_compose_file_mounts_files_that_are_there_and_gives_the_server_each():
    service = yaml.safe_load((FOLDER / "docker-compose.yml").read_text())["services"]["tf_serving"]
    mounted = [volume.split(":") for volume in service["volumes"][1:]]
    for source, target, mode in mounted:
        assert (FOLDER / source).is_file()
        assert mode == "ro"
        assert any(option.endswith(f"={target}") for option in service["command"])
    assert all(port.startswith("127.0.0.1:") for port in service["ports"])
