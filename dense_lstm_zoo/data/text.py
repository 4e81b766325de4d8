"""The tokeniser: Penn Treebank style, as graph code shared by training and exported models."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import keras
import tensorflow as tf
import tensorflow_text as tf_text

from dense_lstm_zoo import checks

# Characters that must not be split off are replaced by private-use characters, which never remain in text, and restored
# at the end: RE2's regular expressions have no look-ahead.
_COMMA, _COLON, _DOT, _QUOTE = "\ue000", "\ue001", "\ue002", "\ue003"

# Written with a period inside a sentence. Those in the second list are also ordinary words in lower case.
_ABBREVIATIONS = (
    "mr|mrs|ms|dr|prof|sr|jr|st|inc|corp|co|ltd|bros|cos|vs|etc|gen|sen|rep|gov|rev|lt|sgt|capt|adm|al|cf|dept|approx|"
    "jan|feb|mar|apr|jun|jul|aug|sept|sep|oct|nov|dec|ave|blvd"
)
_CAPITALISED_ABBREVIATIONS = (
    "Ala|Ariz|Ark|Calif|Colo|Conn|Del|Fla|Ga|Ill|Ind|Ky|La|Mass|Md|Mich|Minn|Miss|Mo|Neb|Nev|Okla|Ore|Pa|Tenn|Va|Wis|"
    "Mt|Messrs|Sens|Reps|Col|Bhd|Bancorp"
)
_CLITICS = "s|m|d|ll|re|ve"
_LEADING = f"{_CLITICS}|t|em|til|tis|twas|cause|n|round|bout"

# (pattern, replacement), applied in this order.
_RULES: tuple[tuple[str, str], ...] = (
    (f"[{_COMMA}{_COLON}{_DOT}{_QUOTE}]", "\ufffd"),
    (r"[\s\p{Z}\p{Cc}\x{200B}\x{2060}\x{FEFF}]+", " "),
    ("[“”„‟«»]", '"'),
    ("[‘’‚‛]", "'"),
    ("[—―]", " -- "),
    ("[–‐‑]", "-"),
    # Always tokens of their own; runs of dots, dashes, stars and quotes stay together.
    (r'(["()\[\]{}!?;£€¥¡¿]|\.\.+|--+|(?:\\?\*)+|``+|\'\'+)', r" \1 "),
    # Commas and colons, except between digits; twice, because the digits of neighbours overlap.
    (r"(\d),(\d)", rf"\1{_COMMA}\2"),
    (r"(\d),(\d)", rf"\1{_COMMA}\2"),
    (r"(\d):(\d)", rf"\1{_COLON}\2"),
    (r"(\d):(\d)", rf"\1{_COLON}\2"),
    (r"([,:])", r" \1 "),
    (r"\$([\d.])", r"$ \1"),
    (r"(^|[\s'])(\$+)([^\s$])", r"\1\2 \3"),
    (r"(^|[\s'])(\$+)([^\s$])", r"\1\2 \3"),
    (r"'\.", "' ."),
    (r"\.'(\s|\.|$)", r". '\1"),
    # Clitics, also before a closing quote or the last period, twice for "she'd've"; then other quotes.
    (rf"(?i)([\pL\d.])('(?:{_CLITICS}))('?\.?(?:\s|$))", r"\1 \2\3"),
    (rf"(?i)([\pL\d.])('(?:{_CLITICS}))('?\.?(?:\s|$))", r"\1 \2\3"),
    (r"(?i)(\pL)(n't)('?\.?(?:\s|$))", r"\1 \2\3"),
    (rf"(?i)(^|\s)'((?:{_LEADING})\b|\d)", rf"\1{_QUOTE}\2"),
    (r"(^|\s)'([^\s'])", r"\1' \2"),
    (r"([^\s'])'(\s|$)", r"\1 '\2"),
    # A period ends a sentence unless it belongs to an abbreviation: a listed one, dotted letters, an initial.
    (rf"(?i)(^|[\s(-])({_ABBREVIATIONS})\.(\s|$)", rf"\1\2{_DOT}\3"),
    (rf"(^|[\s(-])({_CAPITALISED_ABBREVIATIONS})\.(\s|$)", rf"\1\2{_DOT}\3"),
    (r"(?i)(^|\s)(nos?)\.(\s\d)", rf"\1\2{_DOT}\3"),
    (r"(^|[\s(-])((?:\pL\.)+\pL)\.", rf"\1\2{_DOT}"),
    (r"(^|\s)(\pL)\.(\s+\S)", rf"\1\2{_DOT}\3"),
    (r"([^\s.])\.(\s|$)", r"\1 .\2"),
    (r"(\d)%(\s|$)", r"\1 %\2"),
    (_COMMA, ","),
    (_COLON, ":"),
    (_DOT, "."),
    (_QUOTE, "'"),
)


class StringLayer(keras.layers.Layer):
    """A layer on strings, which accepts a list or array as well as a tensor."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(autocast=False, **kwargs)
        self.built = True  # there are no weights to create, and an export refuses unbuilt layers

    def __call__(self, inputs: Any) -> Any:
        """Convert first: Keras itself would refuse a list of strings."""
        return super().__call__(tf.convert_to_tensor(inputs, tf.string))


@keras.saving.register_keras_serializable(package="dense_lstm_zoo")
class Tokenizer(StringLayer):
    """Split raw text into words and punctuation as the Penn Treebank does, keeping case.

    Text is normalised first (invalid UTF-8 replaced, Unicode NFKC, typographic quotes and dashes made plain). Text that
    is already tokenised passes unchanged: "does n't" stays two tokens, and "doesn't" becomes the same two. This is
    graph code, so that training and exported models cannot differ; case is folded later, at the vocabulary.

    Call arguments:
        inputs: A tensor of strings (batch,), or a list or array of them.

    Returns:
        A ragged tensor of strings (batch, (tokens)); a row may be empty.

    Example:
        >>> Tokenizer()(["It doesn't cost $5, Mr. Smith."]).to_list()[0]
        [b'It', b'does', b"n't", b'cost', b'$', b'5', b',', b'Mr.', b'Smith', b'.']
    """

    def call(self, inputs: Any) -> tf.RaggedTensor:
        """Tokenise."""
        text = tf.strings.unicode_transcode(inputs, "UTF-8", "UTF-8", errors="replace")
        text = tf_text.normalize_utf8(text, "NFKC")
        for pattern, replacement in _RULES:
            text = tf.strings.regex_replace(text, pattern, replacement)
        return tf.strings.split(text)


def fold(tokens: tf.RaggedTensor) -> tf.RaggedTensor:
    """Return tokens in lower case, the form used for look-up."""
    return tokens.with_flat_values(tf_text.case_fold_utf8(tokens.flat_values))


def to_bytes(texts: Iterable[str | bytes]) -> list[bytes]:
    """Return texts in UTF-8; a lone surrogate, which a ``str`` can hold but UTF-8 cannot, becomes ``?``.

    Raises:
        TypeError: Not a sequence of strings, or an item that is not a string; the message gives its position.
    """
    checks.sequence(texts)
    return [_to_bytes(number, text) for number, text in enumerate(texts)]


def _to_bytes(number: int, text: Any) -> bytes:
    if isinstance(text, bytes):
        return text
    if not isinstance(text, str):
        raise TypeError(checks.not_text("texts", number, text))
    return text.encode("utf-8", "replace")
