"""Ding et al. 2018, Table 4: more and more dense layers of ten units."""

from tuning.runner import Table, main

TABLE = Table(
    name="ding2018_table4",
    title="How many dense layers are best, at a width of 10?",
    recipes=tuple(f"ding2018_table4_{depth}x10" for depth in (0, 5, 10, 15, 20)),
    dataset="sst2",
)

if __name__ == "__main__":
    main(TABLE)
