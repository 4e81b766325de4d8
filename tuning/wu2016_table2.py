"""Wu et al. 2016, Table 2: where a skip connection should enter a cell, and other deep recurrent models."""

from tuning.command import main
from tuning.table import Table

TABLE = Table(
    name="wu2016_table2",
    title="Which skip connection is best, at seven layers?",
    dataset="ewt_upos",
    minutes=340,
    texts=12_544,
    recipes=(
        "wu2016_highway",
        "wu2016_rhn",
        "wu2016_none",
        "wu2016_gates",
        "wu2016_internals",
        "wu2016_gated_internals",
        "wu2016_outputs",
        "wu2016_gated_outputs",
        "wu2016_gated_sigmoid",
        "wu2016_gated_outputs_forget_bias_5",
    ),
    seeds=2,
)

if __name__ == "__main__":
    main(TABLE)
