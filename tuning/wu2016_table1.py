"""Wu et al. 2016, Table 1: supertags by deep taggers with gated skips, also without characters and without dropout.

With ``--dataset ccgbank`` it runs on the paper's corpus, a licensed one, and without it on open sentences.
"""

from tuning.command import main
from tuning.table import Table

TABLE = Table(
    name="wu2016_table1",
    title="How good are deep taggers with gated skip connections, and what do characters and dropout add?",
    dataset="ewt_upos",
    minutes={
        "wu2016_7_layers": 340,
        "wu2016_7_layers_no_char": 340,
        "wu2016_7_layers_no_dropout": 340,
        "wu2016_9_layers": 430,
    },
    texts=12_544,
    recipes=("wu2016_7_layers", "wu2016_7_layers_no_char", "wu2016_7_layers_no_dropout", "wu2016_9_layers"),
    seeds=2,
)

if __name__ == "__main__":
    main(TABLE)
