"""Wu et al. 2016, Table 3: gated skip connections at depths from 3 to 11."""

from tuning.command import main
from tuning.table import Table

DEPTHS = (3, 5, 7, 9, 11)

TABLE = Table(
    name="wu2016_table3",
    title="How deep should a tagger with gated skip connections be?",
    dataset="ewt_upos",
    minutes={f"wu2016_depth_{depth}": 48 * depth for depth in DEPTHS},
    texts=12_544,
    model="gated_skip_tagger",
    recipe="wu2016_7_layers",
    space={"num_layers": DEPTHS},
    recipes=tuple(f"wu2016_depth_{depth}" for depth in DEPTHS),
    seeds=2,
)

if __name__ == "__main__":
    main(TABLE)
