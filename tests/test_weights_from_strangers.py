"""A bundle with a forged file of weights: only plain numbers are read, and as many as the model has."""

import h5py
import numpy as np
import pytest

import dense_lstm_zoo as zoo
from dense_lstm_zoo.bundles import checks
from tests import model_harness as harness
from tests.bundle_harness import refused, sealed_copy
from tests.slow_cases import slow_but


@pytest.fixture
def bundle(run, tmp_path):
    """A copy to be changed, and sealed again."""
    return sealed_copy(run[1], tmp_path / "bundle")


def arrays(file):
    names = []
    file.visititems(lambda name, item: names.append(name) if isinstance(item, h5py.Dataset) else None)
    return names


def poisoned(value):
    def poison(file, name):
        file[name][(0,) * file[name].ndim] = value

    return poison


def replaced(make):
    def replace(file, name):
        shape = file[name].shape
        del file[name]
        make(file, name, shape)

    return replace


def external_storage(file, name, shape):
    file.create_dataset(name, shape, "f4", external=[("/etc/passwd", 0, h5py.h5f.UNLIMITED)])


def virtual(file, name, shape):
    layout = h5py.VirtualLayout(shape, "f4")
    layout[...] = h5py.VirtualSource("/tmp/other.h5", "secret", shape)
    file.create_virtual_dataset(name, layout)


def external_link(file, name, shape):
    file[name] = h5py.ExternalLink("/tmp/other.h5", "/secret")


def soft_link(file, name, shape):
    file[name] = h5py.SoftLink("/layers")


def external_group(file, name, shape):
    file["/layers/more"] = h5py.ExternalLink("/tmp/other.h5", "/")


def compressed(file, name, shape):
    file.create_dataset(name, (10**6, 10**6), "f4", chunks=(1000, 1000), compression="gzip")


def never_written(file, name, shape):
    file.create_dataset(name, (10**6, 10**6), "f4")


def strings(file, name, shape):
    file[name] = np.array(["a"] * 3, dtype=h5py.string_dtype())


def twice(file, name, shape):
    file[name] = file[arrays(file)[0]]


def loop(file, name, shape):
    file["/layers/loop"] = file["/layers"]


def another_shape(file, name, shape):
    file[name] = np.zeros((*shape, 2), "f4")


def one_more(file, name, shape):
    file[name] = np.zeros(shape, "f4")
    file["/layers/more/vars/0"] = np.zeros((3, 5), "f4")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (poisoned(np.nan), "not finite"),
        (poisoned(np.inf), "not finite"),
        (replaced(external_storage), "not a plain array"),
        (replaced(virtual), "not a plain array"),
        (replaced(external_link), "holds a link"),
        (replaced(external_group), "holds a link"),
        (replaced(soft_link), "holds a link"),
        (replaced(compressed), "not a plain array"),
        (replaced(never_written), "not a plain array"),
        (replaced(strings), "not a plain array"),
        (replaced(twice), "under two names"),
        (replaced(loop), "under two names"),
        (replaced(another_shape), "does not match config.json|does not hold"),
        (replaced(one_more), r"has \(3, 5\) too many"),
        (replaced(lambda *_: None), "does not hold"),
    ],
)
def test_weights_that_are_not_plain_numbers_of_this_file_are_refused_by_name(bundle, change, message):
    with h5py.File(bundle / "model.weights.h5", "r+") as file:
        change(file, arrays(file)[-1])
    refused(bundle, rf"model\.weights\.h5.*({message})|model\.weights\.h5 {message}")


STRANGE = [
    *harness.CASES,
    harness.Case(
        "dense_lstm_lm", (("softmax", "tied"), ("optimizer", "adam"), ("average", 0.9), ("learning_rate", 0.01))
    ),
    harness.Case("bilstm_tagger", (("crf", True), ("char_filters", 3))),
    harness.Case("bilstm", (("char_filters", 3), ("embedding_learning_rate", 1e-3))),
]


# A model of each kind of weights, and those with options.
QUICK = {"lstm", "di_bilstm", "cnn_mc", "blstm_2dcnn", "gated_skip_tagger", "rhn_tagger", "dense_lstm_lm"}


@pytest.mark.parametrize(
    "case", slow_but([case for case in STRANGE if case.options or case.name in QUICK], STRANGE), ids=str
)
def test_every_model_can_be_built_from_the_shapes_of_its_weights(tmp_path, case):
    weights = case.build().weights
    shapes = [tuple(weight.shape) for weight in weights]
    with checks.bounded_by(tmp_path, shapes):
        again = case.build()
    checks.check_shapes(tmp_path, again, shapes)
    with (
        pytest.raises(zoo.BundleError, match=r"which model\.weights\.h5 does not hold"),
        checks.bounded_by(tmp_path, [(1, 1)]),
    ):
        case.build(**case.accepted(units=2000, dense_units=2000, embedding_dim=2000))
