"""A small text encoder that knows words of the demo corpora."""

from dense_lstm_zoo import tasks
from dense_lstm_zoo.language.encoder import TextEncoder
from tests.text_encoder_harness import language_model, with_table
from tests.training_harness import small_demo


def words_of(task):
    """Some words of the demo corpus, which the language models are to know."""
    corpus = small_demo(task)
    rows = list(tasks.find(task).job_class.token_rows(corpus.train))
    return tuple(dict.fromkeys(word.casefold() for row in rows[:40] for word in row))


def text_encoder(task, folder, table=None, **arguments):
    words = (*words_of(task), "<eos>", "<unk>")
    bundles = []
    for direction, seed in (("forward", 1), ("backward", 2)):
        encoder_half = language_model(direction, seed, vocab_size=len(words), **arguments)
        encoder_half.vocabulary = type(encoder_half.vocabulary)(words)
        bundles.append(encoder_half)
    if table is not None:
        with_table(bundles, table, but=())
    encoder = TextEncoder.from_bundles(*bundles)
    encoder.save(folder)
    return TextEncoder.load(folder)
