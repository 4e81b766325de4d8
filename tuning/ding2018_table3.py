"""Ding et al. 2018, Table 3: depth against width at 1.44 million parameters."""

from tuning.runner import Table, main

TABLE = Table(
    name="ding2018_table3",
    title="Is it better to be deep and narrow or shallow and wide, at equal parameters?",
    recipes=(
        "ding2018_table3_0x10",
        "ding2018_table3_5x40",
        "ding2018_table3_10x20",
        "ding2018_table3_15x13",
        "ding2018_table3_20x10",
    ),
    dataset="sst2",
)

if __name__ == "__main__":
    main(TABLE)
