"""Xie et al. 2019, Table 3: a stack of Bi-LSTMs with and without dynamic interaction."""

from tuning.command import main
from tuning.table import Table

TABLE = Table(
    name="xie2019_table3",
    title="Does dynamic interaction help a stack of four Bi-LSTMs?",
    dataset="sst2",
    minutes=4.5,
    texts=6920,
    recipes=("xie2019_table3_stacked", "xie2019_table3_stacked_di"),
    seeds=4,
)

if __name__ == "__main__":
    main(TABLE)
