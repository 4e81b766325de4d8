"""Ding et al. 2018, Table 5: ten dense layers, wider and wider."""

from tuning.runner import Table, main

TABLE = Table(
    name="ding2018_table5",
    title="How wide should ten dense layers be?",
    recipes=tuple(f"ding2018_table5_10x{width}" for width in (0, 5, 10, 15, 20)),
    dataset="sst2",
)

if __name__ == "__main__":
    main(TABLE)
