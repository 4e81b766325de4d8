"""Small taggers at many depths, with and without skips, and with skips of every kind at seven layers."""

from benchmarks.tagging import KEY, columns, draw
from tuning.command import main
from tuning.table import Row, Table

SMALL = {"units": 64, "epochs": 8}
SKIPS = ("outputs", "gates", "internals", "gated_internals", "gated_sigmoid")


def _row(model: str = "gated_skip_tagger", **settings: object) -> Row:
    sizes = {name: settings.pop(name) for name in ("num_layers", "depth") if name in settings}
    return Row(model, "batched_fixed_vectors", {**sizes, **SMALL, **settings})


TABLE = Table(
    name="tagging_depth",
    title="Do skip connections let a tagger be deep, and which kind is best?",
    dataset="ewt_upos",
    minutes=11,
    texts=12_544,
    rows={
        **{f"plain_{depth}": _row("bilstm_tagger", num_layers=depth) for depth in (1, 3, 5, 7, 9, 11)},
        **{f"gated_outputs_{depth}": _row(num_layers=depth) for depth in (3, 5, 7, 9, 11)},
        **{f"{skip}_7": _row(num_layers=7, skip=skip) for skip in SKIPS},
        "highway_7": _row("highway_tagger", num_layers=7),
        "rhn_3": _row("rhn_tagger", depth=3),
        "no_dropout_7": _row(num_layers=7, dropout=0, window_dropout=0),
        "no_characters_7": _row(num_layers=7, char_dim=0),
        # The rows above were run when the softmax started from Glorot's distribution, and those below since: what they
        # are compared with is the first of them.
        "orthogonal_7": _row(num_layers=7, recurrent_initializer="orthogonal"),
        "forget_bias_5_7": _row(num_layers=7, forget_bias=5.0),
        "glorot_7": _row(num_layers=7, recurrent_initializer="glorot_uniform"),
    },
    seeds=2,
    columns=columns,
    key=KEY,
    results="tagging",
    after=draw,
)

if __name__ == "__main__":
    main(TABLE)
