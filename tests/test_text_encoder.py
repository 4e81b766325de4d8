"""Text encoders: joining language models, the folder they are saved in, and that no claim of a folder is trusted."""

import dataclasses
import json

import h5py
import numpy as np
import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo.bundles import presets
from dense_lstm_zoo.bundles.folder import BundleFolder
from dense_lstm_zoo.cli import loading, main
from dense_lstm_zoo.language.encoder import TextEncoder
from dense_lstm_zoo.language.encoder_files import stack_shapes
from dense_lstm_zoo.layers import RecurrentStack
from dense_lstm_zoo.storage import files
from tests.bundle_harness import WORDS, bundle, seal
from tests.preset_harness import TABLE, write_table
from tests.text_encoder_harness import encoder, language_model, pair, same, with_table


@pytest.fixture(scope="module")
def joint_encoder():
    return encoder()


@pytest.fixture
def folder(joint_encoder, tmp_path):
    return joint_encoder.save(tmp_path / "encoder")


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.setenv("DENSE_LSTM_ZOO_PRESETS", str(tmp_path / "presets"))
    return write_table(tmp_path / "presets")


def arrays_of(folder):
    with h5py.File(folder / "model.weights.h5") as file:
        return {name: file[name][()] for name in ("words", "forward/0")}


def test_the_card_says_what_it_was_made_of(joint_encoder, folder, tmp_path):
    card = (folder / "README.md").read_text()
    assert "| backward | dense_lstm_lm | raw | 3 | 12.00 | 1 |" in card
    assert "forward and backward: 2 layers of 4 units (dense lstm)" in card
    assert "- raw: terms not recorded" in card
    models = {"forward": {**joint_encoder.models["forward"], "dataset": "<b>|x"}}
    odd = dataclasses.replace(joint_encoder, models=models).save(tmp_path / "odd") / "README.md"
    assert "| forward | dense_lstm_lm | `<b>\\|x` |" in odd.read_text()


def test_a_card_that_cannot_be_written_costs_no_encoder(joint_encoder, tmp_path, monkeypatch):
    monkeypatch.setattr("dense_lstm_zoo.language.encoder.encoder_card", lambda *_: 1 / 0)
    with pytest.warns(UserWarning, match=r"lacks README.md \(ZeroDivisionError"):
        folder = joint_encoder.save(tmp_path / "encoder", dtype="float32")
    assert same(TextEncoder.load(folder), joint_encoder)


def change(folder, **parts):
    path = folder / "config.json"
    config = json.loads(path.read_text())
    for part, values in parts.items():
        config[part] |= values
    path.write_text(json.dumps(config))


def refused(folder, message):
    seal(folder)
    with pytest.raises(zoo.BundleError, match=message):
        TextEncoder.load(folder)


def test_an_encoder_holds_the_words_and_stacks_of_its_language_models():
    forward, backward = pair()
    joined = TextEncoder.from_bundles(forward, backward)
    expected = ("dense", "lstm", 2, 4, 7, ("forward", "backward"))
    assert (
        joined.wiring,
        joined.cell,
        joined.num_layers,
        joined.units,
        joined.embedding_dim,
        joined.directions,
    ) == expected
    assert joined.words == forward.vocabulary.words
    assert joined.width == 8
    embeddings = forward.network.get_layer("embedding").embeddings.numpy()
    np.testing.assert_array_equal(joined.vectors, embeddings)
    np.testing.assert_array_equal(joined.eos_vector, embeddings[forward.vocabulary.eos])
    for bundle_, direction in ((forward, "forward"), (backward, "backward")):
        theirs = bundle_.network.get_layer("stack").get_weights()
        assert all(map(np.array_equal, joined.weights[direction], theirs))
        assert [w.shape for w in theirs] == joined.weight_shapes()
    assert joined.models["backward"] == {"model": "dense_lstm_lm", "dataset": "raw", "seed": 1, "epochs": 3} | {
        "dev_perplexity": 12.0
    }
    assert joined.train_texts.tolist() == [3, 5, 9, 10]


def test_a_word_that_the_language_models_do_not_know_has_the_vector_of_unk(joint_encoder):
    vectors = joint_encoder.word_vectors(["good", "qwerty", "film"])
    rows = [joint_encoder.words.index(word) for word in ("good", "<unk>", "film")]
    np.testing.assert_array_equal(vectors, joint_encoder.vectors[rows])
    assert joint_encoder.word_vectors([]).shape == (0, 7)


@pytest.mark.parametrize("wiring", ["dense", "stacked", "skip", "residual"])
@pytest.mark.parametrize("cell", ["lstm", "gru", "simple_rnn"])
def test_the_shapes_of_a_stack_are_known_without_building_it(wiring, cell):
    stack = RecurrentStack(3, 5, wiring=wiring, cell=cell)
    stack.build((None, None, 5 if wiring == "residual" else 7))
    shapes = [tuple(w.shape) for w in stack.weights]
    assert stack_shapes(wiring, cell, 3, 5, 5 if wiring == "residual" else 7) == shapes


def test_a_saved_encoder_loads_as_it_was_and_is_half_as_large_in_float16(joint_encoder, tmp_path):
    full_size = joint_encoder.save(tmp_path / "whole", dtype="float32")
    half = joint_encoder.save(tmp_path / "half")
    assert (joint_encoder.name, joint_encoder.sha256) == ("half", files.sha256(half / "manifest.json"))
    assert same(TextEncoder.load(full_size), joint_encoder)
    again = TextEncoder.load(half)
    np.testing.assert_array_equal(again.vectors, joint_encoder.vectors.astype(np.float16))
    for direction in joint_encoder.directions:
        for ours, theirs in zip(again.weights[direction], joint_encoder.weights[direction], strict=True):
            np.testing.assert_array_equal(ours, theirs.astype(np.float16))
            assert ours.dtype == np.float32
    assert {array.dtype.name for array in arrays_of(half).values()} == {"float16"}
    assert again.name == "half"
    assert again.train_texts.tolist() == [3, 5, 9, 10]
    with pytest.raises(FileExistsError):
        joint_encoder.save(half)
    with pytest.raises(ValueError, match="dtype"):
        joint_encoder.save(tmp_path / "other", dtype="int8")


def test_vectors_that_are_rows_of_an_installed_table_are_not_stored(table, tmp_path):
    joined = TextEncoder.from_bundles(*with_table(pair(), table))
    assert joined.table == (TABLE, table.sha256)
    folder = joined.save(tmp_path / "encoder", dtype="float32")
    own = [joined.words.index(word) for word in joined.words if word not in table or word == "film"]
    np.testing.assert_array_equal(arrays_of(folder)["words"], joined.vectors[own])
    assert same(TextEncoder.load(folder), joined)


def test_a_word_that_only_the_table_knows_has_the_tables_vector(table, tmp_path):
    joined = TextEncoder.from_bundles(*with_table(pair(), table))
    words = ["zebra", "qwerty", "good"]
    expected = np.stack([table.vectors(["zebra"])[0], joined.vectors[joined.words.index("<unk>")], joined.vectors[4]])
    assert joined.words[4] == "good"
    np.testing.assert_array_equal(joined.word_vectors(words), expected)
    folder = joined.save(tmp_path / "encoder")
    np.testing.assert_array_equal(TextEncoder.load(folder).word_vectors(["zebra"])[0], expected[0])
    (tmp_path / "presets" / "vectors" / TABLE).rename(tmp_path / "presets" / "vectors" / "renamed")
    with pytest.raises(zoo.BundleError, match=f"needs the word table '{TABLE}'.* not installed"):
        TextEncoder.load(folder)
    with pytest.raises(zoo.BundleError, match=f"needs the word table '{TABLE}'.* not installed"):
        joined.word_vectors(["zebra"])


def test_vectors_that_were_trained_have_no_table(table):
    bundles = with_table(pair(), table)
    for language_bundle in bundles:
        language_bundle.config["arguments"]["trainable_embeddings"] = True
    joined = TextEncoder.from_bundles(*bundles)
    assert joined.table is None
    np.testing.assert_array_equal(joined.word_vectors(["zebra"]), joined.word_vectors(["<unk>"]))


def test_a_language_model_is_an_encoder_that_reads_forward(tmp_path):
    model = language_model(seed=3)
    folder = model.save(tmp_path / "model")
    one_way = TextEncoder.load(folder)
    expected = TextEncoder.from_bundles(model)
    assert one_way.directions == ("forward",)
    assert one_way.name == "model"
    assert same(one_way, expected)
    with pytest.raises(ValueError, match=r"must read forward, but this one reads backward"):
        TextEncoder.from_bundles(language_model("backward"))
    bundle("bilstm").save(tmp_path / "classifier")
    with pytest.raises(zoo.BundleError, match=r"is a bilstm for classification, not a text encoder"):
        TextEncoder.load(tmp_path / "classifier")


def test_the_command_joins_saved_language_models(tmp_path, capsys):
    forward, backward = (
        str(model.save(tmp_path / name)) for model, name in zip(pair(), ("ahead", "back"), strict=True)
    )
    output = str(tmp_path / "encoder")
    command = ["join-lm", forward, backward, "--output", output, "--dtype", "float32"]
    assert main(command) == 0
    assert "encoder: forward and backward, 2 layers of 4, 16 words" in capsys.readouterr().out
    joined = TextEncoder.load(output)
    assert same(joined, zoo.join_language_models(zoo.load(forward), backward))
    assert joined.models["backward"]["sha256"] == files.sha256(tmp_path / "back" / "manifest.json")
    assert main(command) == 2
    assert "already exists" in capsys.readouterr().err
    assert main(["join-lm", forward, backward, "--output", forward, "--overwrite"]) == 2
    assert "is one of the language models that it is made of" in capsys.readouterr().err
    assert main(["join-lm", forward, backward, forward, "--output", str(tmp_path / "other")]) == 2
    assert "received 3" in capsys.readouterr().err
    with pytest.raises(ValueError, match="must read forward, but this one reads backward"):
        TextEncoder.load(backward)


def test_language_models_of_different_words_sizes_or_directions_are_not_joined():
    forward, backward = pair()
    with pytest.raises(ValueError, match=r"backward language model must read backward.*direction='backward'"):
        TextEncoder.from_bundles(forward, forward)
    with pytest.raises(ValueError, match=r"wrong order: the first must read forward.*Give them the other way round\."):
        TextEncoder.from_bundles(backward, forward)
    with pytest.raises(ValueError, match="same size; received units=4 and 5"):
        TextEncoder.from_bundles(forward, language_model("backward", units=5))
    with pytest.raises(ValueError, match="received wiring='dense' and 'stacked'"):
        TextEncoder.from_bundles(forward, language_model("backward", model="stacked_lstm_lm"))
    with pytest.raises(ValueError, match="made of language models"):
        TextEncoder.from_bundles(bundle("bilstm"))
    words = backward.vocabulary.words
    backward.vocabulary = type(backward.vocabulary)((*words[1:], words[0]))
    with pytest.raises(ValueError, match="in the same order; received 16 and 16 words, of which number 1 is "):
        TextEncoder.from_bundles(forward, backward)
    backward.vocabulary = forward.vocabulary
    layer = backward.network.get_layer("embedding")
    layer.set_weights([layer.get_weights()[0] + 1])
    with pytest.raises(ValueError, match=r"same word vectors.*trainable_embeddings=False"):
        TextEncoder.from_bundles(forward, backward)


def test_presets_and_manifests_know_an_encoder_and_no_model_is_loaded_from_it(folder):
    assert BundleFolder.open(folder).path == folder
    entry = presets.index_entry(folder)
    assert (entry["model"], entry["corpus"], entry["measure"], entry["score"]) == (
        "dense_lstm_lm",
        "raw",
        "dev perplexity",
        11.0,
    )
    with pytest.raises(zoo.BundleError, match="is a text encoder, which predicts nothing by itself"):
        zoo.load(folder)
    with pytest.raises(zoo.BundleError, match="is a text encoder, which predicts nothing by itself"):
        loading.load_bundle(str(folder), "classification")  # before it is said to be for another task
    description = str(zoo.describe(folder))
    assert "(text encoder)" in description.splitlines()[0]
    assert "Reads forward: dense_lstm_lm, epochs " in description
    assert "dev perplexity 11.00" in description


def test_a_damaged_or_incomplete_folder_is_refused(folder):
    weights = folder / "model.weights.h5"
    content = weights.read_bytes()
    weights.write_bytes(content[:-10])
    with pytest.raises(zoo.BundleError, match=r"model\.weights\.h5 has been changed"):
        TextEncoder.load(folder)
    refused(folder, r"model\.weights\.h5 is damaged")
    weights.write_bytes(content)
    (folder / "vocabulary.txt").write_text("the\n<eos>\n")
    refused(folder, r"words must hold <eos> and <unk>")
    (folder / "vocabulary.txt").write_text("the\n<eos>\n<unk>\n")
    refused(folder, r"/words has shape \(16, 7\), not \(3, 7\)")


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"arguments": {"units": 5}}, r"/forward/0 has shape \(7, 16\), not \(7, 20\)"),
        ({"arguments": {"num_layers": 10**12}}, r"num_layers=1,000,000,000,000 does not fit"),
        ({"arguments": {"units": 10**12}}, r"units=1,000,000,000,000 does not fit"),
        ({"arguments": {"num_layers": 3}}, r"/forward/6 has shape None"),
        ({"arguments": {"units": "4"}}, "units must be an integer"),
        ({"arguments": {"wiring": "loose"}}, "wiring"),
        ({"arguments": {"wiring": "stacked"}}, r"/forward/3 has shape \(11, 16\), not \(4, 16\)"),
        ({"arguments": {"cell": ["lstm"]}}, "cell"),
        ({"encoder": {"directions": ["forward"]}}, r"/backward/0 has shape \(7, 16\), not None"),
        ({"encoder": {"directions": ["backward"]}}, "directions must be forward"),
        ({"encoder": {"table": {"name": 1, "sha256": "0"}}}, "'table' must have a name"),
        ({"encoder": {"models": {"forward": 3}}}, "'models' must say"),
        ({"encoder": {"table": "../x"}}, "is damaged"),
    ],
)
def test_claims_that_do_not_fit_the_file_are_refused_before_memory_is_taken(folder, parts, message):
    change(folder, **parts)
    refused(folder, message)


def test_numbers_that_are_not_finite_and_other_arrays_are_refused(folder):
    with h5py.File(folder / "model.weights.h5", "a") as file:
        file["forward/0"][0, 0] = np.nan
    refused(folder, "/forward/0 holds values that are not finite numbers")
    with h5py.File(folder / "model.weights.h5", "a") as file:
        file["forward/0"][0, 0] = 0
        file["more"] = np.zeros(3)
    refused(folder, r"/more has shape \(3,\), not None")
    with h5py.File(folder / "model.weights.h5", "a") as file:
        del file["more"]
        file["more"] = h5py.ExternalLink("/etc/passwd", "/")
    refused(folder, "holds a link")


def test_rows_of_a_table_that_are_another_words_are_refused(table, tmp_path):
    folder = TextEncoder.from_bundles(*with_table(pair(), table)).save(tmp_path / "encoder")
    rows = np.frombuffer((folder / "shared_words.rows").read_bytes(), "<i4").copy()
    rows[[0, 2]] = rows[[2, 0]]
    (folder / "shared_words.rows").write_bytes(rows.tobytes())
    refused(folder, "another word's")
    assert len(rows) == len(WORDS) + 2
