"""Ding et al. 2018, Table 5: ten dense layers, wider and wider."""

from tuning.command import main
from tuning.table import Table

WIDTHS = (0, 5, 10, 15, 20)

TABLE = Table(
    name="ding2018_table5",
    title="How wide should ten dense layers be?",
    dataset="sst2",
    minutes=3,
    texts=6920,
    model="dc_bilstm",
    space={"dense_units": WIDTHS},
    arguments={"num_dense_layers": 10, "top_units": 100},
    recipes=tuple(f"ding2018_table5_10x{width}" for width in WIDTHS),
)

if __name__ == "__main__":
    main(TABLE)
