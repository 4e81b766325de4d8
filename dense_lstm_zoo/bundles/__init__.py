"""Trained models on disk: written, checked, read, published and downloaded."""
