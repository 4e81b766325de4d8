"""Accuracy against time and size: the zoo's presets beside what one would take instead."""
