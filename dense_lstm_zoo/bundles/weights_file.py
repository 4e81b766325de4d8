"""A bundle's file of weights: writing it, or a smaller one, and loading it into the whole model."""

from __future__ import annotations

import errno
import math
import os
import posixpath
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import h5py
    import keras
    import numpy as np

_OVERHEAD = 512  # bytes that HDF5 needs for an array besides its values, at least
DTYPES = ("float32", "float16")
Change = Callable[[str, "np.ndarray"], "np.ndarray"]


def save(model: keras.Model, path: Path) -> None:
    """Write a model's weights.

    A lack of space is said before: HDF5 would print a traceback for each object that it cannot close then.

    Raises:
        OSError: The disk has less room than the weights need.
    """
    import tensorflow as tf

    sizes = [math.prod(weights.shape) * tf.as_dtype(weights.dtype).size for weights in model.weights]
    needed = sum(sizes) + _OVERHEAD * len(sizes)
    disk = shutil.disk_usage(path.parent)
    if disk.total and disk.free < needed:  # some network drives tell neither
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    model.save_weights(path)


def rewrite(source: Path, target: Path, change: Change) -> None:
    """Copy a file of weights to ``target``. ``change`` gets each array's name and values and returns the new values.

    HDF5 never gives the space of a deleted array back, so that changing a file in place would not make it smaller.
    """
    import h5py

    with h5py.File(source, "r") as old, h5py.File(target, "w") as new:
        _copy(old, new, change)


def _copy(old: h5py.Group, new: h5py.Group, change: Change) -> None:
    import h5py

    for name, value in old.attrs.items():
        new.attrs[name] = value
    for name, item in old.items():
        if isinstance(item, h5py.Group):
            _copy(item, new.create_group(name), change)
        else:
            array = new.create_dataset(name, data=change(item.name, item[()]))
            for key, value in item.attrs.items():
                array.attrs[key] = value


def reduce(path: Path, change: Change | None, dtype: str) -> None:
    """Replace a file of weights by one with changed arrays, stored as ``dtype``."""

    def smaller(name: str, values: np.ndarray) -> np.ndarray:
        values = change(name, values) if change else values
        return _rounded(name, values) if dtype == "float16" else values

    target = path.with_name("reduced.h5")
    rewrite(path, target, smaller)
    target.replace(path)


def _rounded(name: str, values: np.ndarray) -> np.ndarray:
    import numpy as np

    if values.dtype != np.float32:
        return values
    with np.errstate(over="ignore"):
        halves = values.astype(np.float16)
    if not np.isfinite(halves).all():
        largest = np.abs(values).max()
        raise ValueError(f"float16 holds numbers up to 65,504; {name} has {largest:,.0f}. Use dtype='float32'.")
    return halves


def load(path: Path, model: keras.Model, change: Change | None = None, names: Iterable[str] = ()) -> None:
    """Load a file of weights into a model. ``change`` gives the values of the arrays ``names`` and of their layers.

    Nothing is written: Keras fills all other layers from the file itself.

    Raises:
        KeyError: The file has no such array, or the model no such layer.
        ValueError: The arrays of a layer do not fit it.
    """
    if change is None:
        model.load_weights(path)
        return
    import h5py

    layers = {layer.name: layer for layer in model.layers}
    with h5py.File(path, "r") as file:
        groups = [file[group] for group in dict.fromkeys(posixpath.dirname(name) for name in names)]
        changed = [(layers[group.attrs["name"]], group) for group in groups]
        model.load_weights(path, objects_to_skip=[layer for layer, _ in changed])
        for layer, group in changed:
            if len(layer.weights) != len(group):
                raise ValueError(f"{group.name} holds {len(group)} arrays, the layer {layer.name} {len(layer.weights)}")
            layer.load_own_variables({key: change(array.name, array[()]) for key, array in group.items()})
