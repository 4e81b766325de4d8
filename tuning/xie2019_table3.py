"""Xie et al. 2019, Table 3: a stack of Bi-LSTMs with and without dynamic interaction."""

from tuning.runner import Table, main

TABLE = Table(
    name="xie2019_table3",
    title="Does dynamic interaction help a stack of four Bi-LSTMs?",
    recipes=("xie2019_table3_stacked", "xie2019_table3_stacked_di"),
    dataset="sst2",
    seeds=4,
)

if __name__ == "__main__":
    main(TABLE)
