"""Ding et al. 2018, Table 3: depth against width at 1.44 million parameters."""

from tuning.command import main
from tuning.table import Table

TABLE = Table(
    name="ding2018_table3",
    title="Is it better to be deep and narrow or shallow and wide, at equal parameters?",
    dataset="sst2",
    minutes=4,
    texts=6920,
    model="dc_bilstm",
    space={"num_dense_layers": [0, 5, 10, 15, 20]},
    budget="1.44M",
    recipes=(
        "ding2018_table3_0x10",
        "ding2018_table3_5x40",
        "ding2018_table3_10x20",
        "ding2018_table3_15x13",
        "ding2018_table3_20x10",
    ),
)

if __name__ == "__main__":
    main(TABLE)
