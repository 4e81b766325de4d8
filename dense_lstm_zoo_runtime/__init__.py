"""Predict with ONNX exports of dense_lstm_zoo, on NumPy, ONNX Runtime and RE2 alone."""

from __future__ import annotations

__version__ = "0.1.0"
