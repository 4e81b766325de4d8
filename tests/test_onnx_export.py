"""The folder of an ONNX export: whole or not at all, made from a bundle that it names, and used by the command line."""

import hashlib
import json
import shutil
import subprocess
import sys
import warnings

import numpy as np
import onnx
import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo.cli import loading
from dense_lstm_zoo.reports import cards
from dense_lstm_zoo_runtime import ExportError, Predictor
from tests.bundle_harness import WORDS, bundle
from tests.cli_harness import output_of
from tests.preset_harness import with_vectors, write_table

TEXTS = ["The film was n't good, but long!", "", "nothing known"]


def quietly_saved(model, path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # it has no scores
        return model.save(path)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A classifier's bundle with an export in its folder."""
    path = quietly_saved(bundle("dc_bilstm"), tmp_path_factory.mktemp("runs") / "trec")
    zoo.load(path).export(path / "onnx", format="onnx")
    return path


def test_an_export_holds_its_files_their_checksums_and_the_bundles_card(run):
    folder = run / "onnx"
    names = {file.name for file in folder.iterdir()}
    assert names == {"model.onnx", "vocabulary.txt", "config.json", "manifest.json", "README.md"}
    sums = json.loads((folder / "manifest.json").read_text())["sha256"]
    assert sums == {
        name: hashlib.sha256((folder / name).read_bytes()).hexdigest()
        for name in names - {"manifest.json", "README.md"}
    }
    config = json.loads((folder / "config.json").read_text())
    assert config["bundle"] == hashlib.sha256((run / "manifest.json").read_bytes()).hexdigest()
    assert config["labels"] == zoo.load(run).labels
    assert (folder / "README.md").read_text().startswith("# dc_bilstm trained on none")
    assert (folder / "vocabulary.txt").read_bytes() == (run / "vocabulary.txt").read_bytes()


def test_a_language_model_is_two_graphs_over_one_file_of_weights(tmp_path):
    folder = bundle("dense_lstm_lm", vocab_size=16, units=40).export(tmp_path / "lm", format="onnx")
    inside = {file.name for file in folder.iterdir()}
    assert inside >= {"model.onnx", "score.onnx", "weights.bin"}
    for name in ("model.onnx", "score.onnx"):
        onnx.checker.check_model(str(folder / name), full_check=True)
        assert (folder / name).stat().st_size < (folder / "weights.bin").stat().st_size / 2


def test_a_large_table_of_words_stands_in_a_file_of_its_own(tmp_path, monkeypatch):
    from dense_lstm_zoo.exports.onnx import folder as folders

    new_bundle = bundle("bilstm", embedding_dim=7)
    expected = new_bundle.probabilities(TEXTS)
    monkeypatch.setattr(folders, "_LARGE", 7 * new_bundle.vocabulary.size)
    folder = new_bundle.export(tmp_path / "out", format="onnx")
    matrix = new_bundle.network.get_layer("embedding").get_matrix()
    assert (folder / "weights.bin").read_bytes().startswith(matrix.tobytes())
    probabilities = [[p.probabilities[label] for label in new_bundle.labels] for p in Predictor(folder).predict(TEXTS)]
    np.testing.assert_allclose(probabilities, expected, atol=1e-5)
    (folder / "weights.bin").write_bytes(bytes((folder / "weights.bin").stat().st_size))
    with pytest.raises(ExportError, match=r"weights\.bin has been changed or damaged"):
        Predictor(folder)


def test_smaller_weights_make_a_smaller_file_and_nearly_the_same_answers(tmp_path):
    new_bundle = bundle("bilstm", units=64, embedding_dim=40)
    expected, sizes = new_bundle.probabilities(TEXTS), []
    for weights, tolerance in {"float32": 1e-5, "float16": 2e-3, "int8": 2e-2}.items():
        folder = new_bundle.export(tmp_path / weights, format="onnx", weights=weights)
        probabilities = [
            [p.probabilities[label] for label in new_bundle.labels] for p in Predictor(folder).predict(TEXTS)
        ]
        np.testing.assert_allclose(probabilities, expected, atol=tolerance)
        sizes.append((folder / "model.onnx").stat().st_size)
    assert sizes[1] < 0.6 * sizes[0]
    assert sizes[2] < 0.4 * sizes[0]


def test_shared_words_are_left_out_and_looked_up_in_the_table(tmp_path, monkeypatch):
    monkeypatch.setenv("DENSE_LSTM_ZOO_PRESETS", str(tmp_path / "presets"))
    table = write_table(tmp_path / "presets")
    new_bundle = bundle("cnn_mc", embedding_dim=table.dim, trainable_embeddings=False)
    for layer in [layer for layer in new_bundle.network.layers if layer.name.endswith("embedding")]:
        matrix = layer.get_matrix()
        for i, word in enumerate(new_bundle.vocabulary.words, start=2):
            if word in table:
                matrix[i] = table.vectors([word])[0]
        layer.set_matrix(matrix)
    folder = new_bundle.export(tmp_path / "shared", format="onnx", shared_words=True)
    inputs = [value.name for value in onnx.load(folder / "model.onnx").graph.input]
    assert sorted(inputs) == ["embedding", "lengths", "static_embedding"]
    own = np.load(folder / "own_words_0.npy")
    assert own.dtype == np.float32
    num_shared = sum(word in table for word in new_bundle.vocabulary.words)
    assert 0 < num_shared == new_bundle.vocabulary.size - len(own)
    probabilities = [[p.probabilities[label] for label in new_bundle.labels] for p in Predictor(folder).predict(TEXTS)]
    np.testing.assert_allclose(probabilities, new_bundle.probabilities(TEXTS), atol=1e-5)


def test_own_words_are_in_float16_where_that_changes_none(tmp_path, presets):
    table = write_table(presets)
    exact = with_vectors(table)
    rounded = zoo.load(exact.save_to_preset(tmp_path / "preset", dtype="float16", shared_words=True))
    for new_bundle, name in ((exact, "float32"), (rounded, "float16")):
        folder = new_bundle.export(tmp_path / name, format="onnx", shared_words=True)
        own, matrix = np.load(folder / "own_words_0.npy"), new_bundle.network.get_layer("embedding").get_matrix()
        assert (own.dtype, len(own)) == (name, sum(word not in table for word in WORDS) + 3)
        assert np.isin(own, matrix).all()
        probabilities = [
            [p.probabilities[label] for label in new_bundle.labels] for p in Predictor(folder).predict(TEXTS)
        ]
        np.testing.assert_allclose(probabilities, new_bundle.probabilities(TEXTS), atol=1e-5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"format": "onnxx"}, "Unknown value of format: 'onnxx'. Did you mean 'onnx'"),
        ({"format": "onnx", "weights": "int4"}, "Unknown value of weights: 'int4'.*float16, float32"),
        ({"weights": "int8"}, "are for format='onnx'"),
        ({"shared_words": True}, "are for format='onnx'"),
    ],
)
def test_wrong_options_are_refused_before_anything_is_written(run, tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        zoo.load(run).export(tmp_path / "out", **options)
    assert not list(tmp_path.iterdir())


def test_without_the_package_onnx_the_error_says_how_to_get_it(run, tmp_path, monkeypatch):
    loaded_bundle = zoo.load(run)
    monkeypatch.setitem(sys.modules, "onnx", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"pip install \./dense_lstm_zoo_runtime '\.\[onnx\]'"):
        loaded_bundle.export(tmp_path / "out", format="onnx")
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_there_is_replaced_only_if_asked(run, tmp_path):
    loaded_bundle = zoo.load(run)
    folder = loaded_bundle.export(tmp_path / "out", format="onnx")
    (folder / "mine.txt").write_text("mine")
    with pytest.raises(FileExistsError):
        loaded_bundle.export(folder, format="onnx")
    with pytest.raises(FileExistsError, match=r"also holds 'mine\.txt', which an export does not have"):
        loaded_bundle.export(folder, format="onnx", overwrite=True)
    assert (folder / "mine.txt").is_file()
    (folder / "mine.txt").unlink()
    loaded_bundle.export(folder, format="onnx", overwrite=True)


def test_a_layer_without_an_onnx_form_is_named_and_nothing_is_left(tmp_path, monkeypatch):
    from dense_lstm_zoo.exports.onnx import walk

    new_bundle = bundle("bilstm")
    monkeypatch.delitem(walk.CONVERTERS, "BiLSTM")
    with pytest.raises(ValueError, match=r"'bilstm_1' \(BiLSTM\) has no ONNX form here"):
        new_bundle.export(tmp_path / "out", format="onnx")
    assert not list(tmp_path.iterdir())


def test_a_card_that_fails_is_only_a_warning(run, tmp_path, monkeypatch):
    loaded_bundle = zoo.load(run)
    monkeypatch.setattr(cards, "model_card", lambda *_: 1 / 0)
    with pytest.warns(UserWarning, match=r"lacks README\.md \(ZeroDivisionError"):
        folder = loaded_bundle.export(tmp_path / "out", format="onnx")
    assert Predictor(folder).predict(TEXTS)


def test_what_has_changed_since_it_was_saved_is_not_taken_for_the_saved_bundle(run):
    loaded_bundle = zoo.load(run)
    assert loaded_bundle.saved_as == hashlib.sha256((run / "manifest.json").read_bytes()).hexdigest()
    loaded_bundle.metrics["temperature"] = 2.0
    assert loaded_bundle.saved_as is None
    other = zoo.load(run)
    other.model.get_layer("logits").bias.assign([1.0, 2.0, 3.0])
    assert other.saved_as is None
    assert bundle("bilstm").saved_as is None


def test_an_export_is_not_taken_for_a_bundle(run):
    with pytest.raises(zoo.BundleError, match="is an ONNX export, not a bundle: python -m dense_lstm_zoo_runtime"):
        zoo.load(run / "onnx")


class TestOnTheCommandLine:
    def test_predict_uses_the_export_in_the_runs_folder_and_says_so(self, run, capsys):
        status, out, err = output_of(capsys, "predict", run, *TEXTS)
        assert status == 0
        line, notice = err.splitlines()
        assert line == f"using {run / 'onnx'} (ONNX, float32 weights)"
        assert notice.startswith("2 of 3 texts: the model knows none of their words")
        expected = zoo.load(run).predict(TEXTS)
        assert [line.split("\t")[0] for line in out.splitlines()] == [prediction.label for prediction in expected]

    def test_an_export_of_another_bundle_is_not_used(self, tmp_path, capsys):
        path = quietly_saved(bundle("lstm"), tmp_path / "one")
        bundle("lstm").export(path / "onnx", format="onnx")
        status, out, err = output_of(capsys, "predict", path, TEXTS[0])
        assert (status, out.count("\n")) == (0, 1)
        assert "was not made from this bundle and is not used; export it again" in err

    def test_a_damaged_export_is_not_used(self, tmp_path, capsys):
        path = quietly_saved(bundle("lstm"), tmp_path / "one")
        zoo.load(path).export(path / "onnx", format="onnx")
        (path / "onnx" / "model.onnx").write_bytes(b"changed")
        status, out, err = output_of(capsys, "predict", path, TEXTS[0])
        assert (status, out.count("\n")) == (0, 1)
        assert "is not used: " in err
        assert "changed or damaged" in err

    @pytest.mark.parametrize(
        ("name", "command"), [("dense_lstm_lm", ("score", "the film")), ("gated_skip_tagger", ("predict", "the film"))]
    )
    def test_other_tasks_answer_the_same_with_and_without_it(self, tmp_path, capsys, name, command):
        path = quietly_saved(bundle(name), tmp_path / "one")
        verb, text = command
        without = output_of(capsys, verb, path, text)[1]
        assert output_of(capsys, "export", path, path / "onnx", "--format", "onnx")[0] == 0
        assert output_of(capsys, verb, path, text)[1] == without
        assert output_of(capsys, verb, path / "onnx", text) == (0, without, "")

    def test_an_export_answers_by_itself_and_in_columns_of_a_file(self, run, capsys, tmp_path):
        expected = output_of(capsys, "predict", run, TEXTS[0])[1]
        assert output_of(capsys, "predict", run / "onnx", TEXTS[0]) == (0, expected, "")
        file = tmp_path / "in.csv"
        file.write_text("text,id\nthe film,1\n", encoding="utf-8")
        status, out, _ = output_of(capsys, "predict", run / "onnx", "--file", file)
        assert (status, out.splitlines()[0].split(",")[:3]) == (0, ["text", "id", "label"])

    def test_an_export_reads_the_columns_that_training_read(self, tmp_path, capsys):
        new_bundle, file = bundle("bilstm_tagger"), tmp_path / "in.conll"
        new_bundle.config["training"]["columns"] = {"token_column": 1, "tag_column": 0, "separator": "|"}
        new_bundle.export(tmp_path / "export", format="onnx")
        file.write_text("X|the film\nY|was\n", encoding="utf-8")
        first, second = new_bundle.predict([["the film", "was"]])[0].tags
        expected = f"X|the film|{first}\nY|was|{second}\n\n"
        arguments = ["predict", tmp_path / "export", "--file", file]
        assert output_of(capsys, *arguments) == (0, expected, "")
        file.write_text("the film\tX\nwas\tY\n", encoding="utf-8")
        status, out, _ = output_of(capsys, *arguments, "--token-column", "0", "--separator", "\\t")
        assert (status, out) == (0, f"the film\tX\t{first}\nwas\tY\t{second}\n\n")
        status, out, _ = output_of(
            capsys, *arguments, "--separator", "\t", "--output", tmp_path / "out.conllu", "--token-column=0"
        )
        rows = [line.split("\t") for line in (tmp_path / "out.conllu").read_text(encoding="utf-8").splitlines()[1:3]]
        assert [(row[1], row[4], len(row)) for row in rows] == [("the film", first, 10), ("was", second, 10)]
        _, _, err = output_of(capsys, "predict", tmp_path / "export", "the film", "--separator", "|")
        assert err == "error: --separator is for columns; the input is text.\n"
        path = tmp_path / "export" / "config.json"
        config = json.loads(path.read_text(encoding="utf-8"))
        path.write_text(json.dumps({name: config[name] for name in config if name != "columns"}), encoding="utf-8")
        assert loading.read_config(path.parent)["training"] == {"columns": {}}  # as an older version wrote it

    def test_an_export_for_another_task_or_a_damaged_one_is_refused(self, run, capsys, tmp_path):
        status, _, err = output_of(capsys, "score", run / "onnx", "the film")
        assert (status, err.count("\n")) == (2, 1)
        assert "is for classification, not for language_model: use predict" in err
        shutil.copytree(run / "onnx", tmp_path / "export")
        (tmp_path / "export" / "model.onnx").write_bytes(b"changed")
        status, _, err = output_of(capsys, "predict", tmp_path / "export", "the film")
        assert (status, err.count("\n")) == (2, 1)
        assert "changed or damaged" in err

    @pytest.mark.slow
    def test_a_fresh_process_answers_without_tensorflow(self, run):
        code = (
            "import sys; from dense_lstm_zoo.cli import main; status = main(sys.argv[1:]);"
            "print(sorted({'tensorflow', 'keras', 'pandas', 'onnx'} & sys.modules.keys())); sys.exit(status)"
        )
        ran = subprocess.run([sys.executable, "-c", code, "predict", run, TEXTS[0]], capture_output=True, text=True)
        assert ran.returncode == 0, ran.stderr
        assert ran.stdout.splitlines()[-1] == "[]"
