"""A tagger's scores to tags and their probabilities in the graph: a softmax, or a CRF as in ``layers.crf``."""

from __future__ import annotations

from dense_lstm_zoo.exports.onnx.basic import numbers
from dense_lstm_zoo.exports.onnx.graph import Graph
from dense_lstm_zoo.exports.onnx.loops import Typed, over_time
from dense_lstm_zoo.exports.onnx.recurrent import time_major
from dense_lstm_zoo.layers import CRF


def likeliest(graph: Graph, logits: str) -> tuple[str, str]:
    """Return the likeliest tag of each token by the softmax, int32 (batch, time), and its probability, likewise."""
    tags = graph.cast(graph.op("ArgMax", logits, axis=2, keepdims=0), "int32")
    return tags, graph.op("ReduceMax", graph.op("Softmax", logits, axis=2), graph.ints(2), keepdims=0)


def decoded(graph: Graph, crf: CRF, logits: str, lengths: str) -> tuple[str, str]:
    """Return the likeliest tags as a sequence (Viterbi), int32 (batch, time), and the marginal probability of each."""
    # One step of padding is added: for a single token, a loop over pairs would have no steps.
    scores = time_major(graph, graph.op("Pad", logits, graph.ints(0, 0, 0, 0, 1, 0)))
    field = _Field(graph, crf, scores, lengths)
    tags, shares = field.tags(), field.marginals()
    probabilities = graph.op("GatherElements", shares, tags, axis=2)
    tags, probabilities = (
        graph.op("Squeeze", graph.slice(values, 0, 0, -1), graph.ints(2)) for values in (tags, probabilities)
    )
    swapped = [graph.op("Transpose", values, perm=[1, 0]) for values in (graph.cast(tags, "int32"), probabilities)]
    return swapped[0], swapped[1]


class _Field:
    """A CRF over potentials (time + 1, batch, K)."""

    def __init__(self, graph: Graph, crf: CRF, scores: str, lengths: str) -> None:
        self.graph, self.count = graph, crf.num_tags
        self.transitions, self.end = graph.constant(numbers(crf.transitions)), graph.constant(numbers(crf.end))
        self.first = graph.op("Add", self._at_first(scores), graph.constant(numbers(crf.start)))
        self.shape = "batch", crf.num_tags
        # What a step reads: a token's scores, and whether it is real; the first token has no step.
        time = graph.op("Squeeze", graph.dim(scores, 0), graph.ints(0))
        steps = graph.op("Range", graph.constant(1, "int64"), time, graph.constant(1, "int64"))
        steps = graph.op("Unsqueeze", graph.cast(steps, "int32"), graph.ints(1, 2))
        real = graph.op("Less", steps, graph.op("Unsqueeze", lengths, graph.ints(0, 2)))
        self.reads = [Typed(graph.slice(scores, 0, 1), self.shape), Typed(real, ("batch", 1), "bool")]

    def _at_first(self, values: str) -> str:
        return self.graph.op("Squeeze", self.graph.slice(values, 0, 0, 1), self.graph.ints(0))

    def _with_first(self, first: str, later: str) -> str:
        """Return a sequence with one more step at its beginning."""
        return self.graph.op("Concat", self.graph.op("Unsqueeze", first, self.graph.ints(0)), later, axis=0)

    def _with_last(self, earlier: str, last: str) -> str:
        return self.graph.op("Concat", earlier, self.graph.op("Unsqueeze", last, self.graph.ints(0)), axis=0)

    def tags(self) -> str:
        """Return the tags of the likeliest sequence, int64 (time + 1, batch, 1)."""
        graph = self.graph

        def forward(body: Graph, carries: list[str], inputs: list[str]) -> tuple[list[str], list[str]]:
            through = body.op("Add", body.op("Unsqueeze", carries[0], body.ints(2)), self.transitions)
            came_from = body.op("ArgMax", through, axis=1, keepdims=0)
            new = body.op("Add", body.op("ReduceMax", through, body.ints(1), keepdims=0), inputs[0])
            new = _shifted(body, new)  # sums over a long text would lose precision
            best = body.op("Where", inputs[1], new, carries[0])
            return [best], [best, came_from]

        start = Typed(self.first, self.shape)
        bests, pointers = over_time(graph, forward, [start], self.reads, ["float32", "int64"])
        # The best of the last step is that of each row's last token: a step of padding changes nothing.
        best = graph.op("Squeeze", graph.slice(bests, 0, -1), graph.ints(0))
        last = graph.op("ArgMax", graph.op("Add", best, self.end), axis=1, keepdims=1)
        same = graph.op("Range", *(graph.constant(n, "int64") for n in (0, self.count, 1)))
        pointers = graph.op("Where", self.reads[1].value, pointers, same)

        def backward(body: Graph, carries: list[str], inputs: list[str]) -> tuple[list[str], list[str]]:
            tag = body.op("GatherElements", inputs[0], carries[0], axis=1)
            return [tag], [tag]

        start, inputs = Typed(last, ("batch", 1), "int64"), Typed(pointers, self.shape, "int64")
        (tags,) = over_time(graph, backward, [start], [inputs], ["int64"], reverse=True)
        return self._with_last(tags, last)

    def marginals(self) -> str:
        """Return the probability of each tag, (time + 1, batch, K)."""
        graph = self.graph

        def forward(body: Graph, carries: list[str], inputs: list[str]) -> tuple[list[str], list[str]]:
            through = body.op("Add", body.op("Unsqueeze", carries[0], body.ints(2)), self.transitions)
            new = body.op("Add", body.op("ReduceLogSumExp", through, body.ints(1), keepdims=0), inputs[0])
            alpha = body.op("Where", inputs[1], _shifted(body, new), carries[0])
            return [alpha], [alpha]

        (alphas,) = over_time(graph, forward, [Typed(self.first, self.shape)], self.reads)

        def backward(body: Graph, carries: list[str], inputs: list[str]) -> tuple[list[str], list[str]]:
            after = body.op("Unsqueeze", body.op("Add", carries[0], inputs[0]), body.ints(1))
            before = body.op("ReduceLogSumExp", body.op("Add", after, self.transitions), body.ints(2), keepdims=0)
            beta = body.op("Where", inputs[1], _shifted(body, before), carries[0])
            return [beta], [beta]

        last = graph.op("Expand", self.end, graph.op("Shape", self.first))
        (betas,) = over_time(graph, backward, [Typed(last, self.shape)], self.reads, reverse=True)
        both = graph.op("Add", self._with_first(self.first, alphas), self._with_last(betas, last))
        return graph.op("Softmax", both, axis=2)


def _shifted(body: Graph, scores: str) -> str:
    """Return scores (batch, K) less the largest: only their differences matter."""
    return body.op("Sub", scores, body.op("ReduceMax", scores, body.ints(1), keepdims=1))
