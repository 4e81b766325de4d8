"""Training that goes on from a trained model with some of its weights frozen, for some epochs or for all."""

import dataclasses
import shutil

import keras
import numpy as np
import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo.bundles import text_hashes
from dense_lstm_zoo.models.registry import network
from dense_lstm_zoo.training.freezing import Freeze
from tests.saving_harness import same_weights
from tests.training_harness import interrupted, train
from tests.transfer_harness import MODELS, TEXTS, classification


def test_an_optimiser_begins_anew_when_everything_is_trained():
    keras.utils.set_random_seed(1)
    model = keras.Sequential(
        [keras.Input((1,)), *(keras.layers.Dense(1, use_bias=False, name=name) for name in ("encoder", "logits"))]
    )
    model.compile(keras.optimizers.Adam(0.01), "mse")
    model.optimizer.build(model.trainable_variables)
    weights = []

    class Watch(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            weights.append(float(model.layers[0].get_weights()[0][0, 0]))

    start = float(model.layers[0].get_weights()[0][0, 0])
    x = np.ones((8, 1), "float32")
    model.fit(x, 100 * x, batch_size=1, epochs=2, verbose=0, callbacks=[Watch(), Freeze("encoder", 1)])
    assert weights[:8] == [start] * 8
    # Adam's first step is as long as its learning rate; without a new beginning it would be 3 times as long.
    assert abs(weights[8] - start) == pytest.approx(0.01, rel=1e-3)
    assert all(variable.trainable for variable in model.variables[:2])


FINE_TUNING = {
    "classification": {"freeze": "encoder"},
    "tagging": {"freeze": "embedding"},
    "language_model": {
        "freeze": "encoder",
        "optimizer": "adam",
        "learning_rate": 0.01,
        "average": 0.9,
        "weight_decay": 0.1,
    },
}


def weights_by_part(model, freeze):
    """The weights that are frozen and the others, by name."""
    layers = [*network(model).layers, *([model.crf] if hasattr(model, "crf") else [])]
    head = ("logits", "softmax", "crf")
    names = {layer.name for layer in layers}
    still = {"embedding"} if freeze == "embedding" else names.difference(head)
    frozen, trainable = (
        [layer for layer in layers if (layer.name in still) == is_frozen] for is_frozen in (True, False)
    )
    return ([w for layer in part for w in layer.get_weights()] for part in (frozen, trainable))


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A trained source of each task."""
    folder = tmp_path_factory.mktemp("trained")
    folders = {}
    for task in MODELS:
        train(folder / task, task, epochs=1)
        folders[task] = folder / task
    return folders


@pytest.mark.slow
@pytest.mark.parametrize("task", MODELS)
def test_frozen_weights_stay_as_they_are_bit_for_bit(task, trained, tmp_path):
    options = FINE_TUNING[task]
    bundle = train(tmp_path / "run", task, init_from=trained[task], epochs=2, force_overlap=True, **options)
    ours, trainable = weights_by_part(bundle.model, options["freeze"])
    theirs, before = weights_by_part(zoo.load(trained[task]).model, options["freeze"])
    for our, their in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(our, their)
    assert any((our != their).any() for our, their in zip(trainable, before, strict=True))
    assert len(bundle.model.trainable_variables) == len(zoo.load(trained[task]).model.trainable_variables)


def tuned(folder, source, **options):
    settings = {"init_from": source, "epochs": 4, "freeze": "encoder", "unfreeze_after": 2, "seed": 6}
    return train(folder, **{**settings, "force_overlap": True, **options})


@pytest.fixture(scope="module")
def uninterrupted(trained, tmp_path_factory):
    """A fine-tuned model that nothing interrupted."""
    return tuned(tmp_path_factory.mktemp("tuned") / "whole", trained["classification"])


@pytest.mark.slow
def test_after_unfreezing_everything_is_trained_and_the_record_says_so(uninterrupted, trained):
    theirs, _ = weights_by_part(zoo.load(trained["classification"]).model, "encoder")
    ours, _ = weights_by_part(uninterrupted.model, "encoder")
    if uninterrupted.metrics["best_epoch"] > 2:
        assert any((our != their).any() for our, their in zip(ours, theirs, strict=True))
    assert uninterrupted.config["training"]["init_from"]["unfreeze_after"] == 2


@pytest.mark.slow
@pytest.mark.parametrize("epoch", [1, 2, 3])
def test_an_interrupted_fine_tuning_ends_with_the_same_weights(epoch, uninterrupted, trained, tmp_path):
    with interrupted(epoch=epoch, batch=2):
        tuned(tmp_path / "run", trained["classification"])
    if epoch == 1:
        with pytest.raises(ValueError, match="unfreeze_after was 2 and is 3"):
            tuned(tmp_path / "run", trained["classification"], unfreeze_after=3)
        other = zoo.load(trained["classification"])
        other.config["note"] = "another source"
        shutil.copytree(other.save(tmp_path / "other" / "classification"), tmp_path / "same" / "classification")
        with pytest.raises(ValueError, match=r"sha256 was '[0-9a-f]{64}' and is "):
            tuned(tmp_path / "run", tmp_path / "same" / "classification")
    bundle = tuned(tmp_path / "run", trained["classification"])
    assert same_weights(bundle, uninterrupted)
    assert bundle.history["loss"].tolist() == uninterrupted.history["loss"].tolist()


def test_patience_waits_for_the_unfreezing(tmp_path):
    from dense_lstm_zoo.training.checkpoint import Checkpoint
    from dense_lstm_zoo.training.state_files import Progress

    with Checkpoint(tmp_path / "state", {}, 2, at_least=3) as checkpoint:
        checkpoint.progress = Progress([{}] * 4, best_epoch=1)
        assert not checkpoint.is_done
        checkpoint.progress = Progress([{}] * 5, best_epoch=1)
        assert checkpoint.is_done
        checkpoint.progress = Progress([])


@pytest.mark.slow
def test_a_bundle_carries_the_hashes_of_all_texts_it_learnt_from_and_says_where_it_comes_from(
    uninterrupted, trained, tmp_path
):
    source = zoo.load(trained["classification"])
    corpus = dataclasses.replace(classification(("positive", "negative")), name="more")
    bundle = train(tmp_path / "more", dataset=corpus, init_from=trained["classification"], epochs=1)
    expected = {text_hashes.text_hash(text.split()) for text in TEXTS}
    assert expected <= set(bundle.train_texts.tolist())
    assert set(bundle.train_texts.tolist()) - expected == set(source.train_texts.tolist()) - expected
    again = train(tmp_path / "again", init_from=tmp_path / "more", epochs=1, force_overlap=True)
    parent = again.config["training"]["init_from"]
    assert (parent["name"], parent["dataset"], parent["init_from"]["dataset"]) == ("more", "more", "demo")
    card = (tmp_path / "again" / "README.md").read_text()
    assert "Trained further from more, a bilstm trained on more (manifest " in card
    np.testing.assert_array_equal(zoo.load(tmp_path / "again").train_texts, again.train_texts)
