"""Bundles that refer to a word table load as they were saved, and no claim of theirs is trusted."""

import json

import h5py
import numpy as np
import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo.classification.split import Split
from tests.bundle_harness import LABELS, WORDS, bundle, refused, seal, sealed_copy
from tests.preset_harness import TABLE, with_vectors, write_table
from tests.saving_harness import same_weights
from tests.shared_words_harness import MODELS, claim, claims, outputs, rows, write_folder


@pytest.fixture
def table(presets):
    return write_table(presets)


@pytest.fixture
def folder(table, tmp_path):
    """A saved bundle that shares its words."""
    return with_vectors(table).save(tmp_path / "shared", shared_words=True)


def arrays_of(folder):
    with h5py.File(folder / "model.weights.h5") as file:
        arrays = []
        file.visititems(lambda name, item: arrays.append(item[()]) if isinstance(item, h5py.Dataset) else None)
    return arrays


@pytest.mark.slow
@pytest.mark.parametrize("case", MODELS)
def test_a_bundle_that_shares_words_loads_bit_for_bit(table, tmp_path, case):
    model, arguments = MODELS[case]
    new_bundle = with_vectors(table, model, **arguments)
    folder = new_bundle.save(tmp_path / "shared", shared_words=True)
    again = zoo.load(folder)
    assert same_weights(again, new_bundle)
    assert outputs(again) == outputs(new_bundle)
    assert again.fingerprint() == new_bundle.fingerprint()
    assert "shared_words" not in again.config
    claims = write_folder(folder)["shared_words"]
    assert (claims["table"], claims["sha256"]) == (TABLE, table.sha256)
    assert zoo.load(again.save(tmp_path / "whole")).fingerprint() == new_bundle.fingerprint()
    assert not (tmp_path / "whole" / "shared_words.rows").exists()


def test_only_rows_that_the_table_lacks_are_written(table, folder):
    # padding, unknown, and the word that was trained on
    words = [array for array in arrays_of(folder) if array.ndim == 2 and array.shape[1] == table.dim]
    assert sorted(len(array) for array in words if len(array) < 4) == [0, 3]
    rows = np.frombuffer((folder / "shared_words.rows").read_bytes(), "<i4")
    assert rows.tolist() == [-1, -1, *(-1 if word == "film" else table.words.index(word) for word in WORDS)]


def test_a_vector_that_differs_in_its_last_bit_is_written(table, tmp_path):
    new_bundle = with_vectors(table)
    embedding = new_bundle.network.get_layer("embedding")
    values = embedding.table.numpy()
    values[2, 0] = np.nextafter(values[2, 0], np.float32(9))
    embedding.table.assign(values)
    folder = new_bundle.save(tmp_path / "shared", shared_words=True)
    assert same_weights(zoo.load(folder), new_bundle)
    rows = np.frombuffer((folder / "shared_words.rows").read_bytes(), "<i4")
    assert (rows[2:5] >= 0).tolist() == [False, False, True]


def test_any_installed_table_whose_rows_match_is_found(table, presets, tmp_path):
    other = write_table(presets, "another_7d", seed=2)
    new_bundle = with_vectors(other)
    new_bundle.config["training"].pop("vectors")
    folder = new_bundle.save(tmp_path / "shared", shared_words=True)
    assert write_folder(folder)["shared_words"]["table"] == "another_7d"
    assert same_weights(zoo.load(folder), new_bundle)


@pytest.mark.parametrize("name", ["bilstm", "dense_lstm_lm"])
def test_words_of_no_table_are_not_shared(table, tmp_path, name):
    with pytest.raises(ValueError, match=r"none of the model's word vectors is one of an installed table \(tiny_7d\)"):
        bundle(name).save(tmp_path / "new" / "shared", shared_words=True)
    assert not (tmp_path / "new" / "shared").exists()


def test_without_a_table_the_error_says_how_to_get_one(presets, tmp_path):
    with pytest.raises(ValueError, match=r"installed word table; there is none: pip install \./presets"):
        bundle("bilstm").save(tmp_path / "shared", shared_words=True)


def test_a_missing_table_is_named_with_its_sha256(table, folder, presets):
    (presets / "vectors" / TABLE).rename(presets / "vectors" / "renamed")
    with pytest.raises(zoo.BundleError, match=rf"'{TABLE}' with sha256 '{table.sha256[:12]}'.* not installed: pip"):
        zoo.load(folder)


def test_another_version_of_the_table_is_refused(table, folder, presets):
    newer = write_table(presets, seed=9)
    expected = rf"sha256 '{table.sha256[:12]}'.*installed one has '{newer.sha256[:12]}'.*another version"
    with pytest.raises(zoo.BundleError, match=expected):
        zoo.load(folder)


def test_a_damaged_table_is_refused(folder, presets):
    path = presets / "vectors" / TABLE / "vectors.npy"
    path.write_bytes(path.read_bytes()[:-1] + b"\x55")
    config = path.with_name("config.json")
    config.write_text(config.read_text() + " ")  # read anew
    with pytest.raises(zoo.BundleError, match=r"cannot be read: .*changed or damaged"):
        zoo.load(folder)


@pytest.mark.parametrize("name", ["shared_words.rows", "config.json"])
def test_a_changed_byte_is_found(folder, name):
    path = folder / name
    path.write_bytes(bytes([path.read_bytes()[0] ^ 1]) + path.read_bytes()[1:])
    with pytest.raises(zoo.BundleError, match=rf"{name} has been changed or damaged"):
        zoo.load(folder)


def set_row(at, value):
    def change(row_numbers):
        row_numbers[at] = value
        return row_numbers

    return rows(change)


def remove_rows(folder):
    (folder / "shared_words.rows").unlink()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (rows(lambda row_numbers: row_numbers[:-1]), "rows, config.json says"),
        (rows(lambda row_numbers: np.append(row_numbers, [1] * 1000)), "rows, config.json says"),
        (set_row(4, 10**9), "another word's"),
        (set_row(4, 0), "another word's"),
        (set_row(4, -5), "another word's"),
        (set_row(4, -1), r"does not match shared_words\.rows"),
        (set_row(0, 2), "another word's"),
        (remove_rows, r"shared_words\.rows is missing"),
        (claim(rows=10**12), "config.json says"),
        (claim(first=10**12), "another word's"),
        (claim(first=1), "another word's"),
        (claim(scale=0.0), "not one of word vectors"),
        (claim(scale=1e-300), "not finite"),
        (claim(scale="1"), "not one of word vectors"),
        (claim(rows=True), "not one of word vectors"),
        (claim(array="/layers/none"), r"has shape None"),
        (claim(array="/layers/bi_lstm/vars/0"), r"does not match shared_words\.rows"),
        (claims(None), "config.json is damaged"),
        (claims({}), "arrays is missing"),
        (claims({"table": "x", "sha256": "y", "arrays": []}), "1 to 6 arrays"),
        (claims({"table": ["x"], "sha256": "y", "arrays": [{}]}), "must name a table and its sha256"),
        (claims({"table": "x", "sha256": "y", "arrays": [{}]}), "array is missing"),
        (claims({"table": "../x", "sha256": "y", "arrays": [{"array": "a", "first": 0, "rows": 0, "scale": 1.0}]}),
         "not installed"),
    ],
)  # fmt: skip
def test_no_claim_about_shared_words_is_trusted(folder, tmp_path, change, message):
    copy = sealed_copy(folder, tmp_path / "copy")
    change(copy)
    refused(copy, message)


def test_a_bundle_that_leaves_out_words_without_saying_so_is_refused(folder, tmp_path):
    copy = sealed_copy(folder, tmp_path / "copy")
    config = write_folder(copy)
    config.pop("shared_words")
    (copy / "config.json").write_text(json.dumps(config))
    refused(copy, r"model\.weights\.h5")


def test_rows_that_the_manifest_does_not_list_are_not_read(folder):
    rows = folder / "shared_words.rows"
    content = rows.read_bytes()
    rows.unlink()
    seal(folder)
    rows.write_bytes(content)
    with pytest.raises(zoo.BundleError, match="missing in its manifest"):
        zoo.load(folder)


SPLIT = Split(["the film was good", "very bad", "it was long !"], [0, 1, 2])


def scored(table):
    new_bundle = with_vectors(table)
    new_bundle.rescore(dev=SPLIT, test=SPLIT)
    new_bundle.metrics |= {"best_epoch": 2, "epochs": 3, "train_texts": 9}
    return new_bundle


def test_a_float16_preset_is_scored_as_it_is_stored_and_the_bundle_stays_as_it_was(table, tmp_path):
    scored_bundle = scored(table)
    before, metrics = scored_bundle.model.get_weights(), dict(scored_bundle.metrics)
    folder = scored_bundle.save_to_preset(tmp_path / "preset", dtype="float16", test=SPLIT)
    assert all(np.array_equal(a, b) for a, b in zip(before, scored_bundle.model.get_weights(), strict=True))
    assert scored_bundle.metrics == metrics
    assert {array.dtype for array in arrays_of(folder)} == {np.dtype("float16")}
    again = zoo.load(folder)
    for old, new in zip(scored_bundle.network.weights, again.network.weights, strict=True):
        assert new.dtype == "float32"
        shared = np.all(old.numpy() == new.numpy(), axis=-1) if old.shape[-1] == table.dim else False
        assert np.array_equal(np.where(np.asarray(shared)[..., None], old, np.float32(np.float16(old))), new.numpy())
    embedding = scored_bundle.network.get_layer("embedding")
    assert np.array_equal(again.network.get_layer("embedding").frozen_table, embedding.frozen_table)
    assert "dev_accuracy" not in again.metrics
    assert again.metrics["test_loss"] == pytest.approx(again.evaluate(SPLIT)["loss"])
    assert again.metrics["test_loss"] != metrics["test_loss"]
    assert again.metrics["train_texts"] == 9
    assert "rounded to float16" in again.summary()
    assert again.labels == LABELS


def test_a_float16_preset_without_data_has_no_scores(table, tmp_path):
    scored_bundle = scored(table)
    with pytest.warns(UserWarning, match="without scores: give dev="):
        folder = scored_bundle.save_to_preset(tmp_path / "preset", dtype="float16")
    again = zoo.load(folder)
    assert not [name for name in again.metrics if name.startswith(("dev", "test"))]
    assert again.evaluation == {}


def test_a_float32_preset_keeps_scores_and_shares_words_only_where_a_table_has_them(table, presets, tmp_path):
    scored_bundle = scored(table)
    again = zoo.load(scored_bundle.save_to_preset(tmp_path / "preset"))
    assert again.metrics == scored_bundle.metrics
    assert (tmp_path / "preset" / "shared_words.rows").exists()
    bundle("bilstm").save_to_preset(tmp_path / "whole")
    assert not (tmp_path / "whole" / "shared_words.rows").exists()
    (presets / "vectors" / TABLE).rename(presets / "gone")
    assert zoo.load(tmp_path / "whole").config["model"] == "bilstm"
    scored_bundle.save_to_preset(tmp_path / "complete")
    assert same_weights(zoo.load(tmp_path / "complete"), scored_bundle)


def test_weights_that_float16_cannot_hold_are_refused(table, tmp_path):
    new_bundle = with_vectors(table)
    new_bundle.network.get_layer("logits").bias.assign([0, 7e4, 0])
    with pytest.raises(ValueError, match=r"float16 holds numbers up to 65,504; .* has 70,000"):
        new_bundle.save_to_preset(tmp_path / "preset", dtype="float16")
    with pytest.raises(ValueError, match="float16"):
        new_bundle.save_to_preset(tmp_path / "preset", dtype="int8")
    assert not (tmp_path / "preset").exists()
