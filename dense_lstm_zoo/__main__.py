"""``python -m dense_lstm_zoo`` is the command ``dense-lstm-zoo``."""

import sys

from dense_lstm_zoo.cli import main

sys.exit(main())
