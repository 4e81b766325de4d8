"""Sweeps: hyperparameter search over the zoo's models with keras-tuner.

``sweep`` plans and runs one, ``space`` and ``budget`` say what is tried, ``oracles`` proposes values and survives
kills, ``worker`` runs each ``trial`` in a process, ``trouble`` tells a trial's fault from the machine's, ``chief`` and
``fleet`` spread the work over machines, ``report`` shows what came out. ``table_plan`` plans a sweep whose points
are the rows of a table.
Importing this loads neither TensorFlow nor keras-tuner.
"""

from dense_lstm_zoo.search.space import Range

TUNERS = ("random", "bayesian", "hyperband", "grid")

__all__ = ["TUNERS", "Range"]
