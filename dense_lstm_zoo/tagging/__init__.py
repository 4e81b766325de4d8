"""Tagging: factories, recipes, corpora, training runs, trained models."""
