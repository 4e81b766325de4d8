"""A small builder of ONNX graphs: nodes with core operators, weights stored in a chosen precision."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

from dense_lstm_zoo import checks

OPSET = 18
IR_VERSION = 9  # the oldest that opset 18 allows, so that older runtimes read it
WEIGHTS = ("float32", "float16", "int8")
_SMALL = 1024  # numbers; smaller weights always stay in float32
_DTYPES = {
    "float32": TensorProto.FLOAT,
    "int32": TensorProto.INT32,
    "int64": TensorProto.INT64,
    "bool": TensorProto.BOOL,
}
_LARGEST_HALF = float(np.finfo(np.float16).max)
Attribute: TypeAlias = "int | float | str | Sequence[int] | Graph"  # of a node


class Value(str):
    """The name of a tensor in a graph, with its shape in the Keras model where that is known (None: dynamic)."""

    shape: tuple[int | None, ...] | None

    def __new__(cls, name: str, shape: Sequence[int | None] | None = None) -> Value:
        """Return the name with a shape."""
        value = super().__new__(cls, name)
        value.shape = None if shape is None else tuple(shape)
        return value


class WeightsFile:
    """The large weights of graphs in one file beside them. Equal ones are stored once.

    A runtime maps the file into memory: of a table of word vectors, only the rows that texts need are read.

    Args:
        smallest: How many numbers a weight must have to be there.
        name: The file's name.
    """

    def __init__(self, smallest: int = _SMALL, name: str = "weights.bin") -> None:
        self.smallest, self.name = smallest, name
        self.data = bytearray()
        self._places: dict[bytes, tuple[int, int]] = {}

    def add(self, array: np.ndarray) -> tuple[int, int]:
        """Return offset and length of an array's bytes, which are added unless they are there."""
        raw = np.ascontiguousarray(array).tobytes()
        key = hashlib.sha256(raw).digest()
        if key not in self._places:
            self.data.extend(bytes(-len(self.data) % 64))
            self._places[key] = len(self.data), len(raw)
            self.data.extend(raw)
        return self._places[key]


class Graph:
    """An ONNX graph under construction. Tensors are named by strings. Every method returns names.

    Args:
        weights: How large weights are stored: ``"float32"``, ``"float16"``, or ``"int8"`` with a float32 scale per
            output. Smaller types are turned into float32 by nodes that a runtime evaluates once, when it loads the
            graph, so that they make the file smaller but no answer slower. ``eight_bits`` has the exception: products
            that are computed in bytes, by operators of ONNX Runtime's own.
        parent: The graph around this one, for the body of a loop: the body sees all its tensors.

    Raises:
        ValueError: Another ``weights``.
    """

    def __init__(self, weights: str = "float32", parent: Graph | None = None) -> None:
        self.weights = checks.one_of("weights", weights, WEIGHTS)
        self.parent = parent
        self.nodes: list[onnx.NodeProto] = []
        self.inputs: list[onnx.ValueInfoProto] = []
        self.outputs: list[onnx.ValueInfoProto] = []
        self.arrays: dict[str, np.ndarray] = {} if parent is None else parent.arrays
        # For products of bytes, of sequences of which it is known: each feature's largest absolute value, (features,).
        self.bounds: dict[str, np.ndarray] = {} if parent is None else parent.bounds
        self.cache: dict[Any, str] = {}
        self._counts: Counter[str] = Counter() if parent is None else parent._counts
        self._names: dict[Any, str] = {} if parent is None else parent._names

    def body(self) -> Graph:
        """Return an empty graph for the body of a loop in this one."""
        return Graph(self.weights, self)

    def fresh(self, name: str) -> str:
        """Return a name that no tensor has yet."""
        self._counts[name] += 1
        return name if self._counts[name] == 1 else f"{name}_{self._counts[name]}"

    def op(self, kind: str, *inputs: str, outputs: int = 1, name: str | None = None, **attributes: Attribute) -> Any:
        """Add a node, and return the name of its output, or the list of names if it has several.

        Args:
            kind: The operator.
            *inputs: Names of its inputs. ``""`` leaves an optional one out.
            outputs: How many outputs it has.
            name: What the outputs are called.
            **attributes: Its attributes. A ``Graph`` becomes the body of a loop.
        """
        names = [self.fresh(name or kind.lower()) for _ in range(outputs)]
        plain: dict[str, Any] = {
            key: value.proto(key) if isinstance(value, Graph) else value for key, value in attributes.items()
        }
        self.nodes.append(helper.make_node(kind, list(inputs), names, name=names[0], **plain))
        return names[0] if outputs == 1 else names

    def constant(self, value: npt.ArrayLike, dtype: str = "float32") -> str:
        """Return a small constant. Equal ones are one."""
        return self.stored("constant", np.asarray(value, dtype))

    def ints(self, *values: int) -> str:
        """Return a vector of int64, as shapes, axes and positions are given."""
        return self.constant(list(values), "int64")

    def weight(self, array: np.ndarray, name: str, *, summed: int = 0) -> str:
        """Return a weight in float32, stored as ``weights`` says. Biases are stored in float32 always.

        Args:
            array: Its values.
            name: What it is called.
            summed: The axis that a product sums over; int8 has one scale for each place of the others.

        Raises:
            ValueError: Values that float16 cannot hold.
        """
        array = np.asarray(array, np.float32)
        is_bias = array.size <= 2 * array.shape[summed]  # of up to two directions; one scale each would be too coarse
        if self.weights == "float32" or array.size < _SMALL or is_bias:
            return self.stored(name, array)
        if self.weights == "float16":
            return self._root().op("Cast", self.stored(name, _halves(name, array)), to=TensorProto.FLOAT)
        rounded, scales = _bytes(array, summed)
        wide = self._root().op("Cast", self.stored(name, rounded), to=TensorProto.FLOAT)
        return self._root().op("Mul", wide, self.stored(f"{name}_scale", scales))

    def rows(self, array: np.ndarray, ids: str, name: str) -> str:
        """Return the rows of a table of float32 at ``ids``. The table is never in memory in more than it is stored."""
        array = np.asarray(array, np.float32)
        if self.weights == "float32" or array.size < _SMALL:
            vectors: str = self.op("Gather", self.stored(name, array), ids, axis=0)
        elif self.weights == "float16":
            vectors = self.op("Gather", self.stored(name, _halves(name, array)), ids, axis=0)
            vectors = self.op("Cast", vectors, to=TensorProto.FLOAT)
        else:
            rounded, scales = _bytes(array, 1)
            vectors = self.op("Cast", self.op("Gather", self.stored(name, rounded), ids, axis=0), to=TensorProto.FLOAT)
            vectors = self.op("Mul", vectors, self.op("Gather", self.stored(f"{name}_scale", scales), ids, axis=0))
            array = rounded * scales  # which may be larger by half a step
        if self.weights == "int8":
            self.bounds[vectors] = np.abs(array).max(axis=0, initial=0)
        return vectors

    def same_bounds(self, value: str, source: str) -> str:
        """Return a tensor of which the features are those of another."""
        if source in self.bounds:
            self.bounds[value] = self.bounds[source]
        return value

    def stored(self, name: str, array: np.ndarray) -> str:
        """Store an array, unless an equal one is there, as where a table is looked up and also multiplied by."""
        key = array.dtype.str, array.shape, hashlib.sha256(array.tobytes()).digest()
        if key not in self._names:
            self._names[key] = self.fresh(name)
            self.arrays[self._names[key]] = array
        return self._names[key]

    def _root(self) -> Graph:
        return self if self.parent is None else self.parent._root()

    def input(self, name: str, dtype: str, shape: Sequence[int | str]) -> Value:
        """Add an input; sizes that vary are named."""
        name = self.fresh(name)
        self.inputs.append(helper.make_tensor_value_info(name, _DTYPES[dtype], list(shape)))
        return Value(name, [size if isinstance(size, int) else None for size in shape])

    def output(self, value: str, name: str, dtype: str, shape: Sequence[int | str]) -> None:
        """Make a tensor an output of that name."""
        fresh = self.fresh(name)
        self.nodes.append(helper.make_node("Identity", [value], [fresh], name=fresh))
        self.outputs.append(helper.make_tensor_value_info(fresh, _DTYPES[dtype], list(shape)))

    def cast(self, value: str, dtype: str) -> str:
        """Return a tensor as another type."""
        return self.op("Cast", value, to=_DTYPES[dtype])

    def reshape(self, value: str, *shape: int) -> str:
        """Return a tensor with another shape; 0 keeps a size, -1 is what is left."""
        return self.op("Reshape", value, self.ints(*shape))

    def dim(self, value: str, axis: int) -> str:
        """Return a size as a vector of one int64."""
        return self.op("Shape", value, start=axis, end=axis + 1)

    def slice(self, value: str, axis: int, start: int, stop: int | None = None) -> str:
        """Return ``value[start:stop]`` along an axis. None is the end."""
        end = np.iinfo(np.int64).max if stop is None else stop
        return self.op("Slice", value, self.ints(start), self.constant([end], "int64"), self.ints(axis))

    def prune(self) -> None:
        """Remove nodes and inputs that no output depends on. Call it once the outputs are there."""
        names = {tensor.name for tensor in self.outputs}
        nodes = []
        for node in reversed(self.nodes):
            if names.intersection(node.output):
                nodes.append(node)
                names |= _reads(node)
        self.nodes = nodes[::-1]
        self.inputs = [tensor for tensor in self.inputs if tensor.name in names]

    def proto(self, name: str, external: WeightsFile | None = None) -> onnx.GraphProto:
        """Return the graph. A body has no weights of its own."""
        initializers = [] if self.parent is not None else [_tensor(n, a, external) for n, a in self.arrays.items()]
        return helper.make_graph(self.nodes, name, self.inputs, self.outputs, initializers)

    def model(self, name: str, external: WeightsFile | None = None) -> onnx.ModelProto:
        """Return the model, which is checked."""
        domains = {"", *(node.domain for node in self.nodes)}
        opset = [helper.make_opsetid(domain, 1 if domain else OPSET) for domain in sorted(domains)]
        model = helper.make_model(self.proto(name, external), opset_imports=opset, producer_name="dense_lstm_zoo")
        model.ir_version = IR_VERSION
        return model


def _reads(node: onnx.NodeProto) -> set[str]:
    """Return the tensors that a node reads, those of the bodies in it included."""
    bodies = [part.g for part in node.attribute if part.type == onnx.AttributeProto.GRAPH]
    return {*node.input, *(name for body in bodies for inner in body.node for name in _reads(inner))}


def _tensor(name: str, array: np.ndarray, external: WeightsFile | None) -> onnx.TensorProto:
    if external is None or array.size < external.smallest:
        return numpy_helper.from_array(np.asarray(array, order="C"), name)  # a scalar stays one
    tensor = onnx.TensorProto(
        name=name,
        data_type=helper.np_dtype_to_tensor_dtype(array.dtype),
        dims=array.shape,
        data_location=onnx.TensorProto.EXTERNAL,
    )
    offset, length = external.add(array)
    for key, value in {"location": external.name, "offset": offset, "length": length}.items():
        tensor.external_data.add(key=key, value=str(value))
    return tensor


def _halves(name: str, array: np.ndarray) -> np.ndarray:
    if array.size and np.abs(array).max() > _LARGEST_HALF:
        raise ValueError(f"{name} has values that float16 cannot hold; use weights='float32'.")
    return array.astype(np.float16)


def _bytes(array: np.ndarray, summed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return values from -127 to 127 and the scales that they are multiplied by."""
    scales = np.abs(array).max(axis=summed, keepdims=True) / 127
    scales[scales == 0] = 1
    return np.rint(array / scales).astype(np.int8), scales.astype(np.float32)
