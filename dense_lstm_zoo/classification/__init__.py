"""Sentence classification: factories, recipes, corpora, training runs, trained models."""
