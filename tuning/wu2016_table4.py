"""Wu et al. 2016, Table 4: parts of speech by deep taggers with gated skips.

With ``--dataset wsj`` it runs on the paper's corpus, a licensed one, and without it on open sentences with the same
tags.
"""

from tuning.command import main
from tuning.table import Table

TABLE = Table(
    name="wu2016_table4",
    title="How good are deep taggers with gated skip connections at parts of speech?",
    dataset="ewt_xpos",
    minutes={"wu2016_wsj_7_layers": 340, "wu2016_wsj_9_layers": 430},
    texts=12_544,
    recipes=("wu2016_wsj_7_layers", "wu2016_wsj_9_layers"),
    seeds=2,
)

if __name__ == "__main__":
    main(TABLE)
