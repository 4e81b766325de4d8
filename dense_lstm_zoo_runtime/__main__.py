"""``python -m dense_lstm_zoo_runtime``."""

import sys

from dense_lstm_zoo_runtime.command import main

sys.exit(main())
