"""Fine-tuning layer by layer: what each epoch trains, what becomes of the optimiser, and runs that are interrupted."""

import logging

import keras
import numpy as np
import pytest

from dense_lstm_zoo.bundles import text_hashes
from dense_lstm_zoo.training.freezing import Freeze
from dense_lstm_zoo.training.loop import Paused
from tests import bundle_harness, model_harness
from tests.saving_harness import same_weights
from tests.training_harness import interrupted, train

LAYERS = ("logits", "bilstm_1", "embedding")  # of a bilstm, from the top down
OPTIONS = {"unfreeze": "gradual", "layer_decay": 2.6, "epochs": 4, "seed": 6}


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    bundle = bundle_harness.bundle("bilstm")
    bundle.train_texts = text_hashes.hash_texts([["a", "text", "seen", "before"]])
    return bundle.save(tmp_path_factory.mktemp("sources") / "source")


class Watch(keras.callbacks.Callback):
    """Keeps the paths of the weights that each epoch has changed."""

    def __init__(self):
        super().__init__()
        self.changed = []

    def on_epoch_begin(self, epoch, logs=None):
        self.before = {w.path: w.numpy() for w in self.model.weights}

    def on_epoch_end(self, epoch, logs=None):
        self.changed.append({w.path for w in self.model.weights if (w.numpy() != self.before[w.path]).any()})

    @property
    def layers(self):
        """Return the layers of a bilstm that each epoch has changed."""
        return [[x for x in LAYERS if any(path.startswith(x) for path in changed)] for changed in self.changed]


def test_what_is_trained_grows_by_a_layer_from_the_top_down():
    model, freeze = model_harness.tiny("bilstm"), Freeze(gradual=True)
    freeze.set_model(model)
    layers = []
    for epoch in range(4):
        freeze.on_epoch_begin(epoch)
        layers.append([x for x in LAYERS if any(w.path.startswith(x) for w in model.trainable_variables)])
        freeze.on_epoch_end(epoch)
    assert layers == [list(LAYERS[:1]), list(LAYERS[:2]), list(LAYERS), list(LAYERS)]
    assert freeze.first_whole_epoch(model) == 2


@pytest.fixture(scope="module")
def uninterrupted(source, tmp_path_factory):
    """A run that nothing interrupted, and what its epochs changed."""
    watch, folder = Watch(), tmp_path_factory.mktemp("tuned") / "whole"
    return train(folder, init_from=source, callbacks=[watch], **OPTIONS), watch.layers


@pytest.mark.slow
def test_each_epoch_trains_one_more_layer_from_the_top_down(uninterrupted):
    bundle, changed = uninterrupted
    assert changed == [["logits"], ["logits", "bilstm_1"], list(LAYERS), list(LAYERS)]
    assert len(bundle.model.trainable_variables) == 9
    origin = bundle.config["training"]["init_from"]
    assert (origin["unfreeze"], origin["layer_decay"]) == ("gradual", 2.6)


@pytest.mark.slow
def test_the_card_says_how_the_layers_were_trained(uninterrupted, tmp_path):
    card = (uninterrupted[0].save(tmp_path / "run") / "README.md").read_text()
    assert "gradual unfreezing, one layer per epoch from the top down" in card
    assert "that of the one above divided by 2.6" in card
    assert "--unfreeze gradual" in card
    assert "--layer-decay 2.6" in card


@pytest.mark.slow
@pytest.mark.parametrize("epoch", [1, 2])
def test_an_interrupted_run_ends_with_the_same_weights(epoch, uninterrupted, source, tmp_path):
    with interrupted(epoch=epoch, batch=2):
        train(tmp_path / "run", init_from=source, **OPTIONS)
    if epoch == 1:
        with pytest.raises(ValueError, match=r"layer_decay was 2\.6 and is 2\.0"):
            train(tmp_path / "run", init_from=source, **{**OPTIONS, "layer_decay": 2.0})
    bundle = train(tmp_path / "run", init_from=source, **OPTIONS)
    assert same_weights(bundle, uninterrupted[0])
    assert bundle.history["loss"].tolist() == uninterrupted[0].history["loss"].tolist()


@pytest.mark.slow
def test_words_that_are_frozen_for_good_take_no_epoch(source, tmp_path):
    watch = Watch()
    options = {**OPTIONS, "epochs": 2, "freeze": "embedding"}
    train(tmp_path / "run", init_from=source, callbacks=[watch], **options)
    assert watch.layers == [["logits"], ["logits", "bilstm_1"]]


def test_a_layer_that_joins_takes_a_first_step_of_its_own_rate():
    keras.utils.set_random_seed(1)
    names = ("embedding", "encoder", "logits")
    layers = [keras.layers.Dense(1, use_bias=False, name=name) for name in names]
    model = keras.Sequential([keras.Input((1,)), *layers])
    model.compile(keras.optimizers.Adam(0.01), "mse")
    model.optimizer.build(model.trainable_variables)
    weights = [[float(layer.get_weights()[0][0, 0]) for layer in layers]]

    class Each(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            weights.append([float(layer.get_weights()[0][0, 0]) for layer in layers])

    x, freeze = np.ones((8, 1), "float32"), Freeze(gradual=True)
    assert freeze.first_whole_epoch(model) == 2
    model.fit(x, 100 * x, batch_size=1, epochs=3, verbose=0, callbacks=[Each(), freeze])
    steps = np.abs(np.diff(np.array(weights), axis=0))
    assert (steps[:8, :2] == 0).all()
    assert (steps[8:16, 0] == 0).all()
    # Adam's first step is as long as its learning rate; without a new beginning it would be 3 times as long.
    assert [steps[0, 2], steps[8, 1], steps[16, 0]] == pytest.approx([0.01] * 3, rel=1e-3)


@pytest.mark.slow
def test_short_epochs_do_not_make_tensorflow_warn_of_retracing(caplog):
    names = ("embedding", *(f"encoder_{depth}" for depth in range(9)), "logits")
    model = keras.Sequential([keras.Input((1,)), *(keras.layers.Dense(1, name=name) for name in names)])
    model.compile("adam", "mse")
    model.optimizer.build(model.trainable_variables)
    x = np.ones((2, 1), "float32")
    model.fit(x, x, batch_size=1, epochs=len(names), verbose=0, callbacks=[Freeze(gradual=True)])
    assert "retracing" not in caplog.text
    logging.getLogger("tensorflow").warning("triggered tf.function retracing")  # of something else, after training
    assert "retracing" in caplog.text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epochs": 2}, r"one more layer in each epoch, which takes this model 3 epochs; received epochs=2"),
        ({"freeze": "encoder"}, r"unfreeze='gradual' says when each layer is trained; received freeze='encoder'"),
        ({"freeze": "embedding", "unfreeze_after": 1}, r"received freeze='embedding', unfreeze_after=1"),
        ({"unfreeze": "gradually"}, r"value of unfreeze: 'gradually'\. Did you mean 'gradual'"),
        ({"layer_decay": 0.5}, r"layer_decay divides .* at least 1; received 0\.5"),
        ({"init_from": None}, r"unfreeze='gradual' needs init_from"),
        ({"init_from": None, "unfreeze": None}, r"layer_decay=2\.6 needs init_from"),
    ],
)
def test_options_that_contradict_each_other_are_refused_before_any_work(options, message, source, tmp_path):
    with pytest.raises(ValueError, match=message):
        train(tmp_path / "run", **{"init_from": source, **OPTIONS, **options})
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "model", "arguments", "top"),
    [
        ("language_model", "dense_lstm_lm", {}, {"logits", "softmax", "stack/lstm_3"}),
        ("tagging", "gated_skip_tagger", {"crf": True}, {"logits", "crf", "encoder/forward_4", "encoder/backward_4"}),
    ],
)
def test_layers_of_other_tasks_join_one_by_one_too(task, model, arguments, top, tmp_path):
    bundle = bundle_harness.bundle(model, **arguments)
    bundle.train_texts = text_hashes.hash_texts([])
    sizes = {x: bundle.config["arguments"][x] for x in ("num_layers", "units", "embedding_dim")}
    options = {**OPTIONS, **sizes, "optimizer": "adam", "learning_rate": 0.01, "epochs": 6, "pause_after": 2}
    watch = Watch()
    with pytest.raises(Paused):
        train(tmp_path / "run", task, init_from=bundle.save(tmp_path / "source"), callbacks=[watch], **options)
    first, second = ({"/".join(path.split("/")[:-1]) for path in changed} for changed in watch.changed)
    assert first < second == top
