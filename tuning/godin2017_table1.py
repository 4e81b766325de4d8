"""Godin et al. 2017, Table 1: stacked and densely connected language models on the Penn Treebank."""

from tuning.runner import Table, main

TABLE = Table(
    name="godin2017_table1",
    title="Do densely connected LSTMs need fewer parameters for the same perplexity?",
    recipes=(
        "godin2017_stacked_200x2_medium",
        "godin2017_stacked_200x2",
        "godin2017_stacked_200x3",
        "godin2017_stacked_350x2",
        "zaremba2014_medium",
        "zaremba2014_large",
        "godin2017_dense_200x2",
        "godin2017_dense_200x3",
        "godin2017_dense_200x4",
        "godin2017_dense_200x5",
        "godin2017_dense_650x2",
        "godin2017_dense_650x2_variational",
    ),
    dataset="ptb",
    seeds=1,
)

if __name__ == "__main__":
    main(TABLE)
