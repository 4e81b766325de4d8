"""Wu et al. 2016, Table 3: gated skip connections at depths from 3 to 11."""

from tuning.runner import Table, main

TABLE = Table(
    name="wu2016_table3",
    title="How deep should a tagger with gated skip connections be?",
    recipes=tuple(f"wu2016_depth_{depth}" for depth in (3, 5, 7, 9, 11)),
    dataset="ewt_upos",
    seeds=2,
)

if __name__ == "__main__":
    main(TABLE)
