"""Godin et al. 2017, Table 2: densely connected language models beside Zaremba's larger stacks.

The zoo has these five of its rows. All of them are rows of Table 1 as well.
"""

from tuning.command import main
from tuning.godin2017_table1 import MINUTES
from tuning.table import Table

ROWS = (
    "zaremba2014_medium",
    "godin2017_dense_200x2",
    "godin2017_dense_200x3",
    "zaremba2014_large",
    "godin2017_dense_200x4",
)

TABLE = Table(
    name="godin2017_table2",
    title="Are densely connected LSTMs better than larger stacks of LSTMs?",
    dataset="ptb",
    minutes={name: MINUTES[name] for name in ROWS},
    texts=42_068,
    recipes=ROWS,
    seeds=1,
)

if __name__ == "__main__":
    main(TABLE)
