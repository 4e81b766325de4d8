"""Ding et al. 2018, Table 4: more and more dense layers of ten units."""

from tuning.command import main
from tuning.table import Table

DEPTHS = (0, 5, 10, 15, 20)

TABLE = Table(
    name="ding2018_table4",
    title="How many dense layers are best, at a width of 10?",
    dataset="sst2",
    minutes=3,
    texts=6920,
    model="dc_bilstm",
    space={"num_dense_layers": DEPTHS},
    arguments={"dense_units": 10, "top_units": 100},
    recipes=tuple(f"ding2018_table4_{depth}x10" for depth in DEPTHS),
)

if __name__ == "__main__":
    main(TABLE)
