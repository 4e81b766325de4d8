"""Ding et al. 2018, section 4.4: plain stacks of Bi-LSTMs at depths 1 to 8.

"When depth reached more than five, the performance (for example, 30 % when the depth is 8) drastically decreased." The
paper does not say how wide the layers are. Here they have 100 units in each direction.
"""

from tuning.command import main
from tuning.table import Row, Table

DEPTHS = range(1, 9)

TABLE = Table(
    name="ding2018_stacked",
    title="How deep can Bi-LSTMs be stacked without dense connections?",
    dataset="sst1",
    minutes={f"stacked_{depth}": 0.5 + 0.6 * depth for depth in DEPTHS},
    texts=8544,
    rows={f"stacked_{depth}": Row("stacked_bilstm", "ding2018", {"num_layers": depth}) for depth in DEPTHS},
    published={"stacked_8": {"sst1_phrases": 30.0}},
)

if __name__ == "__main__":
    main(TABLE)
