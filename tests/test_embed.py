"""Vectors of texts and tokens: in Python, and from the command line to files."""

import csv
import subprocess
import sys

import keras
import numpy as np
import pytest

from dense_lstm_zoo.classification import bundle as bundles
from tests.bundle_harness import bundle, with_random_weights
from tests.cli_harness import output_of

TEXTS = ["the film was good", "", "caf\u00e9 very very long , but it was n't bad !", "zzz", "Good!"]


@pytest.fixture(scope="module")
def trained():
    """A classifier whose weights are large enough for anything to show."""
    return with_random_weights(bundle("dc_bilstm"))


@pytest.fixture(scope="module")
def folder(trained, tmp_path_factory):
    """The classifier's folder."""
    return trained.save(tmp_path_factory.mktemp("runs") / "run")


def test_the_vectors_are_what_the_softmax_reads(trained):
    vectors = trained.embed(TEXTS)
    assert vectors.dtype == np.float32
    assert vectors.shape == (5, trained.embedding_width) == (5, 8)
    kernel, bias = trained.model.get_layer("logits").get_weights()
    scores = np.exp(vectors @ kernel + bias)
    shares, places = scores / scores.sum(axis=1, keepdims=True), [0, 2, 4]  # the others have no word that is known
    np.testing.assert_allclose(shares[places], trained.probabilities(TEXTS)[places], atol=1e-6)


def test_company_order_and_chunks_never_change_a_vector(trained, monkeypatch):
    expected = trained.embed(TEXTS)
    alone = np.concatenate([trained.embed([text]) for text in TEXTS])
    np.testing.assert_allclose(alone, expected, atol=1e-6)
    np.testing.assert_allclose(trained.embed(TEXTS[::-1]), expected[::-1], atol=1e-6)
    monkeypatch.setattr(bundles, "_CHUNK", 2)
    np.testing.assert_allclose(trained.embed(iter(TEXTS)), expected, atol=1e-6)
    np.testing.assert_allclose(np.stack(list(trained.embed_stream(TEXTS))), expected, atol=1e-6)


def test_no_texts_give_no_vectors_and_anything_but_texts_is_refused(trained):
    assert trained.embed([]).shape == (0, 8)
    with pytest.raises(TypeError, match="received one string"):
        trained.embed("the film")
    with pytest.raises(TypeError, match=r"received None \(NoneType\) as item 1"):
        trained.embed(["a", None])


@pytest.mark.parametrize("name", ["bilstm", "stacked_di_bilstm"])
def test_the_mean_of_the_tokens_vectors_is_what_mean_pooling_makes(name):
    new_bundle = bundle(name, "drop", **({"num_layers": 2} if name == "stacked_di_bilstm" else {}))
    vectors = new_bundle.embed_tokens(TEXTS)
    assert [tokens for tokens, _ in vectors][:2] == [["the", "film", "was", "good"], [""]]
    assert [len(tokens) for tokens, _ in vectors] == [len(states) for _, states in vectors]
    if name == "bilstm":
        np.testing.assert_allclose([states.mean(axis=0) for _, states in vectors], new_bundle.embed(TEXTS), atol=1e-6)
    else:
        assert {states.shape[1] for _, states in vectors} == {new_bundle.config["arguments"]["units"] * 2}


def test_a_taggers_token_vectors_are_what_its_softmax_reads():
    new_bundle = bundle("gated_skip_tagger")
    sentences = ["The film was n't good .", [], ["very", "long"], "bad !"]
    vectors = new_bundle.embed_tokens(sentences)
    assert [tokens for tokens, _ in vectors] == [p.tokens for p in new_bundle.predict(sentences)]
    kernel, bias = new_bundle.network.get_layer("logits").get_weights()
    for (_, states), tagged in zip(vectors, new_bundle.predict(sentences), strict=True):
        logits = states @ kernel + bias
        assert [new_bundle.labels[i] for i in logits.argmax(axis=1)] == tagged.tags
        shares = keras.ops.softmax(logits) if len(states) else np.empty((0, 1))
        np.testing.assert_allclose(np.max(shares, axis=1), tagged.probabilities, atol=1e-5)


def test_the_command_writes_an_array_or_a_table(trained, folder, tmp_path, capsys):
    expected = trained.embed(TEXTS)
    assert output_of(capsys, "embed", folder, *TEXTS, "--output", tmp_path / "a.npy") == (0, "", "")
    vectors = np.load(tmp_path / "a.npy")
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors, expected, atol=1e-6)
    (tmp_path / "in.csv").write_text("id,text\n" + "".join(f'{i},"{text}"\n' for i, text in enumerate(TEXTS)))
    assert output_of(capsys, "embed", folder, "--file", tmp_path / "in.csv", "--output", tmp_path / "a.csv")[0] == 0
    rows = list(csv.DictReader((tmp_path / "a.csv").read_text(encoding="utf-8").splitlines()))
    assert [row["id"] for row in rows] == ["0", "1", "2", "3", "4"]
    assert list(rows[0]) == ["id", "text", *(f"e{i}" for i in range(8))]
    numbers = np.array([[row[f"e{i}"] for i in range(8)] for row in rows], np.float32)
    np.testing.assert_array_equal(numbers, vectors)
    (tmp_path / "none.txt").write_text("")
    assert output_of(capsys, "embed", folder, "--file", tmp_path / "none.txt", "--output", tmp_path / "b.npy")[0] == 0
    assert np.load(tmp_path / "b.npy").shape == (0, 8)


def test_what_cannot_be_written_is_refused_before_any_work_and_nothing_is_left(folder, tmp_path, capsys):
    for wrong, message in (
        ([], "name it with --output"),
        (["--output", tmp_path / "a.json"], "give its format with --format. Accepted: npy, csv."),
        (["--output", tmp_path / "a.npy", "--raw"], "--prefix and --raw are for csv; the output is npy."),
        (["--output", tmp_path], "Accepted: npy, csv."),
        (["--output", tmp_path / "a.npy", "--file", "b.txt"], "Give texts or --file, not both."),
    ):
        status, out, err = output_of(capsys, "embed", folder, "good", *wrong)
        assert (status, out) == (2, ""), wrong
        assert message in err
    (tmp_path / "a.npy").write_bytes(b"mine")
    assert "already exists" in output_of(capsys, "embed", folder, "good", "--output", tmp_path / "a.npy")[2]
    (tmp_path / "in.jsonl").write_text('{"text": "good"}\n{"said": "good"}\n')
    status, _, err = output_of(
        capsys, "embed", folder, "--file", tmp_path / "in.jsonl", "--output", tmp_path / "a.npy", "--overwrite"
    )
    assert status == 2
    assert "in.jsonl, line 2" in err
    assert (tmp_path / "a.npy").read_bytes() == b"mine"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.npy", "in.jsonl"]
    assert output_of(capsys, "embed", folder, "good", "--output", tmp_path / "a.npy", "--overwrite")[0] == 0
    assert np.load(tmp_path / "a.npy").shape == (1, 8)


def test_a_bundle_of_another_task_is_refused(tmp_path, capsys):
    run = bundle("bilstm_tagger").save(tmp_path / "tagger")
    status, _, err = output_of(capsys, "embed", run, "good", "--output", tmp_path / "a.npy")
    assert status == 2
    assert "is for tagging, not for classification" in err


@pytest.mark.slow
def test_vectors_go_through_a_pipe(folder, tmp_path):
    command = f"{sys.executable} -m dense_lstm_zoo embed {folder} good bad --format npy --output /dev/stdout"
    run = subprocess.run(["bash", "-c", f"{command} | cat > {tmp_path / 'a.npy'}"], capture_output=True, text=True)
    assert run.stderr == ""
    assert np.load(tmp_path / "a.npy").shape == (2, 8)
