"""Xie et al. 2019, Table 2: dynamic interaction and other classifiers, the eight of them that the zoo has.

The figures of the others are those of their own papers, as Xie et al. cite them. ``dc_bilstm_xie2019`` is the authors'
own run of DC-Bi-LSTM. MR, Subj and CR have no test texts: run those with ``--folds 10``.
"""

from tuning.command import main
from tuning.table import Row, Table

CORPORA = ("sst1_phrases", "sst2_phrases", "trec", "subj", "mr", "cr")
FIGURES = {
    "lstm_ding2018": (46.4, 84.9, None, None, None, None),
    "bilstm_ding2018": (49.1, 87.5, 93.6, 93.0, 81.8, None),
    "cnn_mc_kim2014": (47.4, 88.1, 92.2, 93.2, 81.1, 85.0),
    "dsa_bilstm_xie2019": (50.6, 88.5, None, None, None, None),
    "blstm_2dcnn_zhou2016": (52.4, 89.5, 96.1, 94.0, 82.3, None),
    "dc_bilstm_ding2018": (51.9, 89.7, 95.6, 94.5, 82.8, None),
    "dc_bilstm_xie2019": (50.1, 89.3, 94.8, 94.8, 83.3, 85.3),
    "di_bilstm_xie2019": (51.0, 89.9, 96.5, 95.2, 83.1, 87.5),
}

TABLE = Table(
    name="xie2019_table2",
    title="Is DC-Bi-LSTM better with dynamic interaction, and than other classifiers?",
    dataset="trec",
    minutes=dict(zip(FIGURES, (1, 1, 3, 6, 15, 2, 6, 8), strict=True)),
    texts=5452,
    rows={name: Row(*name.rsplit("_", 1)) for name in FIGURES},
    published={
        name: {corpus: figure for corpus, figure in zip(CORPORA, figures, strict=True) if figure is not None}
        for name, figures in FIGURES.items()
    },
)

if __name__ == "__main__":
    main(TABLE)
