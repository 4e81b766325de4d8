"""Text in: corpora, tokeniser and vocabulary, word vectors, batches."""
