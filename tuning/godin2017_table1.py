"""Godin et al. 2017, Table 1: stacked and densely connected language models on the Penn Treebank."""

from tuning.command import main
from tuning.table import Table

MINUTES = {
    "godin2017_stacked_200x2_medium": 180,
    "godin2017_stacked_200x2": 470,
    "godin2017_stacked_200x3": 560,
    "godin2017_stacked_350x2": 900,
    "zaremba2014_medium": 800,
    "zaremba2014_large": 4000,
    "godin2017_dense_200x2": 1040,
    "godin2017_dense_200x3": 1300,
    "godin2017_dense_200x4": 1600,
    "godin2017_dense_200x5": 1900,
    "godin2017_dense_650x2": 2800,
    "godin2017_dense_650x2_variational": 2800,
}

TABLE = Table(
    name="godin2017_table1",
    title="Do densely connected LSTMs need fewer parameters for the same perplexity?",
    dataset="ptb",
    minutes=MINUTES,
    texts=42_068,
    recipes=tuple(MINUTES),
    seeds=1,
)

if __name__ == "__main__":
    main(TABLE)
