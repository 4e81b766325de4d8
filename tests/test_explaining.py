"""Explanations: saliency against finite differences, shares against the pooling layer, figures and the command."""

import numpy as np
import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo.classification import pictures
from dense_lstm_zoo.cli import main
from tests.bundle_harness import bundle, with_random_weights
from tests.model_harness import Case
from tests.slow_cases import slow_but

pytestmark = pytest.mark.usefixtures("real_pictures")

MODELS = zoo.list_models(task="classification")
QUICK = ("bilstm", "di_bilstm", "cnn_mc")  # one of each pooling: recurrent, dynamic, none
TEXT = "The film was n't very GOOD !"


def kernel(name):
    """The argument that spares a model XLA's compiling, for all models but one."""
    return {} if name == "dc_bilstm" else Case(name).accepted(kernel="native")


@pytest.mark.parametrize("name", slow_but(QUICK, MODELS))
def test_saliency_is_the_logits_slope_as_a_word_grows(name):
    trained = with_random_weights(bundle(name, num_frozen_words=0, **kernel(name)), seed=1, scale=0.7)
    explanation = trained.explain(TEXT)
    (prediction,) = trained.predict([TEXT])
    assert (explanation.label, explanation.tokens) == (
        prediction.label,
        ["The", "film", "was", "n't", "very", "GOOD", "!"],
    )
    assert explanation.probability == pytest.approx(prediction.probability, abs=1e-6)
    ids = trained.text_to_ids([TEXT]).to_tensor().numpy()
    assert len(set(ids[0])) == ids.shape[1]  # each word is in the text once: its row of the table is its vector
    tables = [layer for layer in trained.model.layers if layer.name in ("embedding", "static_embedding")]
    start, best = [layer.get_weights()[0] for layer in tables], trained.labels.index(explanation.label)

    def logit(word: int, scale: float) -> float:
        for layer, table in zip(tables, start, strict=True):
            grown = table.copy()
            grown[word] *= scale
            layer.set_weights([grown])
        return float(trained.model(ids)[0, best])

    for word, saliency in zip(ids[0], explanation.saliency, strict=True):
        slope = (logit(word, 1.01) - logit(word, 0.99)) / 0.02
        assert saliency == pytest.approx(slope, abs=2e-3 + 0.01 * abs(slope))
    assert np.abs(explanation.saliency).max() > 0.01


def test_a_label_that_is_named_is_explained():
    trained = with_random_weights(bundle("bilstm", num_frozen_words=0, kernel="native"), seed=1, scale=0.7)
    (prediction,) = trained.predict([TEXT])
    of_label = {label: trained.explain(TEXT, label=label) for label in trained.labels}
    for label, explanation in of_label.items():
        assert explanation.label == label
        assert explanation.probability == pytest.approx(prediction.probabilities[label], abs=1e-6)
    np.testing.assert_allclose(of_label[prediction.label].saliency, trained.explain(TEXT).saliency, atol=1e-6)
    other = next(label for label in trained.labels if label != prediction.label)
    ids = trained.text_to_ids([TEXT]).to_tensor().numpy()
    layer, place = trained.model.get_layer("embedding"), trained.labels.index(other)
    (start,) = layer.get_weights()
    logits = []
    for scale in (0.99, 1.01):
        grown = start.copy()
        grown[ids[0, 1]] *= scale
        layer.set_weights([grown])
        logits.append(float(trained.model(ids)[0, place]))
    assert of_label[other].saliency[1] == pytest.approx((logits[1] - logits[0]) / 0.02, abs=5e-3)
    with pytest.raises(ValueError, match=r"Unknown label of the model: 'yess'\. Did you mean 'yes'"):
        trained.explain(TEXT, label="yess")


@pytest.mark.parametrize(
    ("name", "layers"),
    [
        ("di_bilstm", ["layer 1", "layer 2"]),
        pytest.param("stacked_di_bilstm", ["layer 1", "layer 2"], marks=pytest.mark.slow),  # as above
        ("dsa_bilstm", ["head 1", "head 2"]),
        ("bilstm", []),
    ],
)
def test_shares_are_of_words_by_layer(name, layers):
    trained = with_random_weights(
        bundle(name, **kernel(name), **({"num_heads": 2} if name == "dsa_bilstm" else {})), seed=1, scale=0.7
    )
    explanation = trained.explain(TEXT)
    assert explanation.layers == layers
    assert explanation.shares.shape == (7, len(layers))
    if layers:
        np.testing.assert_allclose(explanation.shares.sum(axis=0), 1, atol=1e-5)
        assert np.ptp(explanation.shares, axis=0).min() > 1e-3


@pytest.mark.slow
def test_words_that_the_model_leaves_out_are_left_out_and_an_empty_text_has_one():
    assert bundle("bilstm", "drop").explain("a zzz film , zzz").tokens == ["film", ","]
    assert bundle("bilstm", "unk").explain("a zzz film").tokens == ["a", "zzz", "film"]
    for policy in ("drop", "unk"):
        explanation = bundle("di_bilstm", policy).explain(" ")
        assert explanation.tokens == [""]
        np.testing.assert_allclose(explanation.shares, 1)
    with pytest.raises(TypeError, match="explain takes one string; received"):
        bundle("bilstm").explain(["a"])


@pytest.mark.slow
@pytest.mark.parametrize(("name", "ending", "magic"), [("di_bilstm", "svg", b"<?xml"), ("lstm", "png", b"\x89PNG")])
def test_an_explanation_can_be_drawn(name, ending, magic, tmp_path):
    pytest.importorskip("matplotlib")
    path = tmp_path / f"e.{ending}"
    pictures.explanation(bundle(name).explain(TEXT), path, "a title")
    assert path.read_bytes().startswith(magic)


@pytest.mark.slow
def test_the_command_prints_words_by_layers(run, tmp_path, capsys):
    trained, folder = run
    assert main(["explain", str(folder), "the old film", "--output", str(tmp_path / "e.png")]) == 0
    lines = capsys.readouterr().out.splitlines()
    explanation = trained.explain("the old film")
    assert lines[0] == f"{explanation.label}\t{explanation.probability:.4f}"
    assert lines[1] == "token\tsaliency"
    assert [line.split("\t")[0] for line in lines[2:]] == explanation.tokens
    assert (tmp_path / "e.png").is_file()
    other = next(label for label in trained.labels if label != explanation.label)
    assert main(["explain", str(folder), "the old film", "--label", other]) == 0
    assert capsys.readouterr().out.startswith(f"{other}\t{1 - explanation.probability:.4f}")
    assert main(["explain", str(folder), "a", "--label", f"{other}x"]) == 2
    assert f"Did you mean '{other}'" in capsys.readouterr().err
    assert main(["explain", str(folder), "a", "--output", "e.txt"]) != 0
    assert "must end in .png, .svg or .pdf" in capsys.readouterr().err
