"""A hypermodel in the tuners of keras-tuner, as a user calls them."""

import keras_tuner
import numpy as np
import pytest

import dense_lstm_zoo as zoo

TUNERS = {
    "RandomSearch": {"max_trials": 1},
    "GridSearch": {"max_trials": 2},
    "BayesianOptimization": {"max_trials": 2, "num_initial_points": 1},
    "Hyperband": {"max_epochs": 2, "factor": 2},
}
IDS = np.array([[2, 3], [4, 5], [2, 5], [4, 3]])
LABELS = np.array([0, 1, 0, 1])


def hypermodel_of(space, **arguments):
    """A hypermodel of a tiny classifier."""
    fixed = {"vocab_size": 6, "num_classes": 2, "embedding_dim": 2, "kernel": "native", **arguments}
    return zoo.HyperModel("bilstm", space, **fixed)


@pytest.mark.parametrize(
    "name", ["RandomSearch", *(pytest.param(name, marks=pytest.mark.slow) for name in TUNERS if name != "RandomSearch")]
)
def test_every_tuner_searches_a_registered_model(name, tmp_path):
    tuner = getattr(keras_tuner, name)(
        zoo.HyperModel("lstm", {"units": [2, 3]}, vocab_size=6, num_classes=2, embedding_dim=2, kernel="native"),
        objective="val_loss",
        seed=1,
        directory=tmp_path,
        project_name="own",
        **TUNERS[name],
    )
    tuner.search(IDS, LABELS, validation_data=(IDS, LABELS), epochs=1, verbose=0)
    assert tuner.get_best_hyperparameters()[0].get("units") in (2, 3)
    assert tuner.get_best_models()[0](IDS).shape == (4, 2)


def test_a_budget_gives_the_width_of_each_depth():
    hypermodel = zoo.HyperModel(
        "dc_bilstm", {"num_dense_layers": [5, 10]}, budget=1_440_000, vocab_size=6, num_classes=2
    )
    assert [hypermodel.arguments({"num_dense_layers": depth})["dense_units"] for depth in (5, 10)] == [40, 20]


def test_an_option_of_training_is_left_to_tune():
    hypermodel = hypermodel_of({"batch_size": [2, 4]}, units=2)
    parameters = keras_tuner.HyperParameters()
    model = hypermodel.build(parameters)
    with pytest.raises(ValueError, match="batch_size is an option of training, not an argument of bilstm"):
        hypermodel.fit(parameters, model, IDS, LABELS)


@pytest.mark.parametrize(
    ("space", "message"),
    [
        ({}, "The search space is empty"),
        ({"unit": [2]}, "Did you mean 'units'"),
        ({"units": []}, "units needs a Range or a list of values"),
        ({"embedding_dim": [2, 3]}, "embedding_dim is both fixed and searched"),
    ],
)
def test_a_space_that_cannot_be_searched_is_refused(space, message):
    with pytest.raises(ValueError, match=message):
        hypermodel_of(space)
