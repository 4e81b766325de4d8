"""A bundle's weights are read and hashed once, whatever names the bundle."""

import hashlib
import shutil
from collections import Counter
from pathlib import Path

import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo.bundles import archives
from tests import bundle_harness, transfer_harness
from tests.cli_harness import output_of

WEIGHTS = "model.weights.h5"


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    """The folder of an untrained classifier."""
    return bundle_harness.bundle("bilstm").save(tmp_path_factory.mktemp("runs") / "bilstm")


@pytest.fixture
def hashed(monkeypatch):
    """The number of times that a file of each name was hashed."""
    counts, digest = Counter(), hashlib.file_digest

    def count_digest(file, algorithm):
        counts[Path(file.name).name] += 1
        return digest(file, algorithm)

    monkeypatch.setattr(hashlib, "file_digest", count_digest)
    return counts


@pytest.fixture
def name(bundle, presets):
    """The name of an installed preset."""
    shutil.copytree(bundle, presets / "models" / "mine")
    return "mine"


def test_load(bundle, hashed):
    zoo.load(bundle)
    assert hashed[WEIGHTS] == 1


def test_from_preset(name, bundle, hashed):
    zoo.from_preset(name)
    assert hashed[WEIGHTS] == 1
    manifest = hashlib.sha256((bundle / "manifest.json").read_bytes()).hexdigest()
    zoo.from_preset(bundle, task="classification", sha256=manifest)
    assert hashed[WEIGHTS] == 2


def test_an_archive_that_is_downloaded(bundle, hashed, tmp_path, monkeypatch):
    archive = Path(shutil.make_archive(tmp_path / "mine", "zip", bundle))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(archives, "download", lambda url, path, *_, **__: shutil.copy(archive, path))
    for number in (1, 2):  # downloaded, and from the cache
        zoo.from_preset("https://example.com/mine.zip", sha256=hashlib.sha256(archive.read_bytes()).hexdigest())
        assert hashed[WEIGHTS] == number


@pytest.mark.parametrize("is_preset", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["folder", "preset"])
@pytest.mark.parametrize(
    "command",
    [
        "predict BUNDLE film",
        "embed BUNDLE film --output out.npy",
        "explain BUNDLE film",
        "evaluate BUNDLE --test-file test.csv",
        "export BUNDLE out --format onnx",
        "describe BUNDLE",
    ],
    ids=lambda command: command.split()[0],
)
def test_commands(command, is_preset, bundle, name, hashed, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "test.csv").write_text("text,label\nthe film,no\na good film,yes\n")
    words = command.replace("BUNDLE", name if is_preset else str(bundle)).split()
    status, _, err = output_of(capsys, *words)
    assert (status, hashed[WEIGHTS]) == (0, 1), err


def test_language_models_that_are_joined(hashed, capsys, tmp_path):
    folder = bundle_harness.bundle("dense_lstm_lm", trainable_embeddings=False).save(tmp_path / "lm")
    hashed.clear()
    status, _, err = output_of(capsys, "join-lm", folder, "--output", tmp_path / "encoder")
    assert status == 0, err
    assert hashed[WEIGHTS] == 2  # those of the language model, and those of the encoder's manifest


def test_training_from_a_bundle(hashed, tmp_path):
    folder = transfer_harness.make_sources(tmp_path)["classification"]
    hashed.clear()
    transfer_harness.prepared("classification", folder, tmp_path / "new", transfer_harness.classification())
    assert hashed[WEIGHTS] == 1
