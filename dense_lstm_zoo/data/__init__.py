"""Reading text: corpora, tokeniser and vocabulary, word vectors, batches."""
