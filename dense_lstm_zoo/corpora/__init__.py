"""The corpora: their names, where their files come from, and a user's own files."""
