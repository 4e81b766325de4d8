"""The runtime's server: its settings."""

import dataclasses
import re
from pathlib import Path

import pytest

from dense_lstm_zoo_runtime.serve.settings import Settings, parse


def test_every_setting_can_be_an_argument_or_in_the_environment():
    values = {
        "host": "0.0.0.0",
        "port": 0,
        "workers": 2,
        "threads": 3,
        "max_batch": 4,
        "max_wait_ms": 1.5,
        "max_queue": 50,
        "max_requests": 6,
        "max_texts": 7,
        "max_chars": 8,
        "max_body": 9,
        "timeout": 2.5,
        "log_level": "warning",
    }
    assert {"models", *values} == {field.name for field in dataclasses.fields(Settings)}
    settings = Settings(models={"a": "x/y", "trec": "exports/trec"}, **values)
    arguments = [f"--{name.replace('_', '-')}={value}" for name, value in values.items()]
    assert parse(["a=x/y", "exports/trec", *arguments], {}) == settings
    environment = {f"ZOO_{name.upper()}": str(value) for name, value in values.items()}
    assert parse([], {"ZOO_MODEL": "a=x/y exports/trec", **environment}) == settings


def test_an_argument_goes_before_the_environment():
    settings = parse(["a", "--port", "1"], {"ZOO_MODEL": "b", "ZOO_PORT": "2", "ZOO_MAX_BATCH": "3"})
    assert (settings.models, settings.port, settings.max_batch) == ({"a": "a"}, 1, 3)


def test_a_model_is_called_after_its_folder_or_the_bundle_around_it():
    sources = ["runs/trec/onnx", "exports/sst2-onnx/", "dc_bilstm_sst2", "mine=/data/runs/x"]
    assert parse(sources, {}).models == {
        "trec": "runs/trec/onnx",
        "sst2-onnx": "exports/sst2-onnx/",
        "dc_bilstm_sst2": "dc_bilstm_sst2",
        "mine": "/data/runs/x",
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "No model to serve: give an export's folder"),
        (["a", "x/a"], "Two models are called 'a': a and x/a"),
        (["a/b=x"], "received 'a/b=x'"),
        (["a="], "received 'a='"),
        (["a", "--max-batch=0"], "max_batch must be at least 1; received 0"),
        (["a", "--max-wait-ms=nan"], "max_wait_ms must be at least 0; received nan"),
        (["a", "--timeout=0"], "timeout must be a number of seconds above 0; received 0.0"),
        (["a", "--max-queue=5"], "max_queue must be at least max_texts"),
        (["a", "--port=x"], "invalid int value: 'x'"),
        (["a", "--port=65536"], "port must be from 0 to 65535; received 65536"),
        (["a", "--threads=1000000"], "threads must be from 1 to 256; received 1000000"),
        (["a", "--workers=257"], "workers must be from 1 to 256; received 257"),
        (["a", "--log-level=loud"], "received 'loud'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_a_bad_setting_is_refused_with_what_was_received(arguments, message, capsys):
    with pytest.raises(SystemExit) as stopped:
        parse(arguments, {})
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err


def test_the_help_names_every_setting(capsys):
    with pytest.raises(SystemExit):
        parse(["--help"], {})
    text = capsys.readouterr().out
    assert "[NAME=]SOURCE" in text
    for field in dataclasses.fields(Settings)[1:]:
        assert f"--{field.name.replace('_', '-')} " in text


def test_the_page_names_every_setting_with_its_default():
    page = (Path(__file__).parents[1] / "deploy" / "runtime" / "README.md").read_text()
    section = page.partition("## Settings\n")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| `--")]
    defaults_of_page = {}
    for row in rows:
        names, defaults = row.split("|")[1:3]
        defaults_of_page |= dict(
            zip(re.findall(r"`--([\w-]+)", names), re.sub("[,`]", "", defaults).split() or [""], strict=True)
        )
    fields = {field.name.replace("_", "-"): field.default for field in dataclasses.fields(Settings)}
    defaults_of_settings = {
        name: f"{default:g}" if isinstance(default, float) else str(default) for name, default in fields.items()
    }
    assert defaults_of_page == {name: x for name, x in defaults_of_settings.items() if name != "models"}
