"""Language models: factories, recipes, corpora, training runs, trained models."""
