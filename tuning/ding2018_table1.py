"""Ding et al. 2018, Table 1: DC-Bi-LSTM and other classifiers, the five of them that the zoo has.

The figures of the others are those of their own papers, as Ding et al. cite them. MR and Subj have no test texts: run
those with ``--folds 10``.
"""

from tuning.command import main
from tuning.table import Row, Table

PUBLISHED = {
    "lstm_ding2018": {"sst1_phrases": 46.4, "sst2_phrases": 84.9},
    "bilstm_ding2018": {"mr": 81.8, "sst1_phrases": 49.1, "sst2_phrases": 87.5, "subj": 93.0, "trec": 93.6},
    "cnn_mc_kim2014": {"mr": 81.1, "sst1_phrases": 47.4, "sst2_phrases": 88.1, "subj": 93.2, "trec": 92.2},
    "blstm_2dcnn_zhou2016": {"mr": 82.3, "sst1_phrases": 52.4, "sst2_phrases": 89.5, "subj": 94.0, "trec": 96.1},
    "dc_bilstm_ding2018": {"mr": 82.8, "sst1_phrases": 51.9, "sst2_phrases": 89.7, "subj": 94.5, "trec": 95.6},
}

TABLE = Table(
    name="ding2018_table1",
    title="Is DC-Bi-LSTM better than other classifiers of sentences?",
    dataset="trec",
    minutes=dict(zip(PUBLISHED, (1, 1, 3, 15, 2), strict=True)),
    texts=5452,
    rows={name: Row(*name.rsplit("_", 1)) for name in PUBLISHED},
    published=PUBLISHED,
)

if __name__ == "__main__":
    main(TABLE)
