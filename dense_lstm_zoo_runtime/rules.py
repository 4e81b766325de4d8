r"""The rules of the tokeniser, Penn Treebank style: the only copy, run by TensorFlow in graphs and by RE2 here.

``VERSIONS`` are lists of pairs of a pattern and a replacement in RE2's syntax, applied in this order to text in normal
form NFKC. A model keeps the version that it was trained with: version 1 splits URLs into ``http``, ``:`` and the rest,
version 2 keeps URLs and e-mail addresses whole. Beside each rule stand strings of which every match holds at least one:
a text without them needs no search (``NEEDS``).
"""

from __future__ import annotations

# Characters that must not be split off are replaced by private-use characters, which never remain in text, and restored
# at the end: RE2's regular expressions have no look-ahead.
COMMA, COLON, DOT, QUOTE = "\ue000", "\ue001", "\ue002", "\ue003"

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

_LISTED = rf"(?i)(^|[\s(-])({_ABBREVIATIONS})\.(\s|$)"
_LISTED_CAPITALISED = rf"(^|[\s(-])({_CAPITALISED_ABBREVIATIONS})\.(\s|$)"
_NUMBER = r"(?i)(^|\s)(nos?)\.(\s\d)"
_DOTTED = r"(^|[\s(-])((?:\pL\.)+\pL)\."
_INITIAL = r"(^|\s)(\pL)\.(\s+\S)"

# Stands before a URL while rules run: a control character, which the cleaning rules have made a space everywhere else.
_MARK = "\x02"
# Letters of URLs: of scripts with spaces between words, so that a URL ends where Chinese, Japanese or Thai goes on.
_URL_LETTERS = "a-zA-Z0-9\u00c0-\u052f\u05d0-\u05ea\u0620-\u0669\u066e-\u06d3\u0900-\u0963\u0966-\u0dff\u1e00-\u1fff"
# A URL ends in such a character or in brackets that it opened itself. Other marks belong to it where it goes on after
# them. An ellipsis, quotes, angle and square brackets end it.
_URL_END, _URL_MARKS = f"{_URL_LETTERS}/=&#+", "_~@,;:!?*%-"
_URL_PART = rf"(?:[{_URL_END}]|\([{_URL_END}.{_URL_MARKS}]*\))"
_URL_BODY = rf"{_URL_PART}(?:\.?(?:[{_URL_MARKS}]\.?)*{_URL_PART})*"
_URL = rf"(?:[a-zA-Z][a-zA-Z0-9+]{{0,15}}://|(?:www|WWW|Www)\.){_URL_BODY}"
_EMAIL = r"(?:mailto:)?[\pL\d]+(?:(?:[.%+-]|_+)[\pL\d]+)*@[\pL\d-]+(?:\.[\pL\d-]*[\pL\d])+"

_Rule = tuple[str, str, tuple[str, ...]]
# Characters become plain. Much typographic text is ASCII from here on.
_CLEANING: tuple[_Rule, ...] = (
    (f"[{COMMA}{COLON}{DOT}{QUOTE}]", "\ufffd", (COMMA, COLON, DOT, QUOTE)),
    (r"[\s\p{Z}\p{Cc}\x{200B}\x{2060}\x{FEFF}]+", " ", ()),
    ("[“”„‟«»]", '"', tuple("“”„‟«»")),
    ("[‘’‚‛]", "'", tuple("‘’‚‛")),
    ("[—―]", " -- ", tuple("—―")),
    ("[–‐‑]", "-", tuple("–‐‑")),
)
# Always tokens of their own. Runs of dots, dashes, stars and quotes stay together.
_MARKS = r'["()\[\]{}!?;£€¥¡¿]', r"\.\.+|--+|(?:\\?\*)+|``+|\'\'+"
_NEEDS_OF_MARKS = (*'"()[]{}!?;£€¥¡¿*', "..", "--", "``", "''")
# Commas and colons, except between digits. Twice, because the digits of neighbours overlap.
_BETWEEN_DIGITS: tuple[_Rule, ...] = (
    (r"(\d),(\d)", rf"\1{COMMA}\2", (",",)),
    (r"(\d),(\d)", rf"\1{COMMA}\2", (",",)),
    (r"(\d):(\d)", rf"\1{COLON}\2", (":",)),
    (r"(\d):(\d)", rf"\1{COLON}\2", (":",)),
)
_SPLITTING: tuple[_Rule, ...] = (
    ("({}|{})".format(*_MARKS), r" \1 ", _NEEDS_OF_MARKS),
    *_BETWEEN_DIGITS,
    (r"([,:])", r" \1 ", (",", ":")),
)
# The same in one pass, which takes what stands behind a mark whole.
_SPLITTING_AROUND_URLS: tuple[_Rule, ...] = (
    (
        rf"(^|[^{_URL_LETTERS}])({_URL})|(^|[^\pL\d._%+-]|\.\.|--)({_EMAIL})",
        rf"\1\3 {_MARK}\2\4 ",
        ("://", "www.", "WWW.", "Www.", "@"),
    ),
    *_BETWEEN_DIGITS,
    (rf"({_MARK}\S+|{_MARKS[0][:-1]},:]|{_MARKS[1]})", r" \1 ", (_MARK, ",", ":", *_NEEDS_OF_MARKS)),
    (_MARK, "", (_MARK,)),
)
_REST: tuple[_Rule, ...] = (
    (r"\$([\d.])", r"$ \1", ("$",)),
    (r"(^|[\s'])(\$+)([^\s$])", r"\1\2 \3", ("$",)),
    (r"(^|[\s'])(\$+)([^\s$])", r"\1\2 \3", ("$",)),
    (r"'\.", "' .", ("'.",)),
    (r"\.'(\s|\.|$)", r". '\1", (".'",)),
    # Clitics, also before a closing quote or the last period, twice for "she'd've"; then other quotes.
    (rf"(?i)([\pL\d.])('(?:{_CLITICS}))('?\.?(?:\s|$))", r"\1 \2\3", ("'",)),
    (rf"(?i)([\pL\d.])('(?:{_CLITICS}))('?\.?(?:\s|$))", r"\1 \2\3", ("'",)),
    (r"(?i)(\pL)(n't)('?\.?(?:\s|$))", r"\1 \2\3", ("'t", "'T")),
    (rf"(?i)(^|\s)'((?:{_LEADING})\b|\d)", rf"\1{QUOTE}\2", ("'",)),
    (r"(^|\s)'([^\s'])", r"\1' \2", ("'",)),
    (r"([^\s'])'(\s|$)", r"\1 '\2", ("'",)),
    # A period ends a sentence unless it belongs to an abbreviation: a listed one, dotted letters, an initial.
    (_LISTED, rf"\1\2{DOT}\3", (".",)),
    (_LISTED_CAPITALISED, rf"\1\2{DOT}\3", (".",)),
    (_NUMBER, rf"\1\2{DOT}\3", (".",)),
    (_DOTTED, rf"\1\2{DOT}", (".",)),
    (_INITIAL, rf"\1\2{DOT}\3", (".",)),
    (r"([^\s.])\.(\s|$)", r"\1 .\2", (".",)),
    (r"(\d)%(\s|$)", r"\1 %\2", ("%",)),
    (COMMA, ",", (COMMA,)),
    (COLON, ":", (COLON,)),
    (DOT, ".", (DOT,)),
    (QUOTE, "'", (QUOTE,)),
)


def _rules(*parts: tuple[_Rule, ...]) -> tuple[tuple[str, str], ...]:
    return tuple((pattern, replacement) for part in parts for pattern, replacement, _ in part)


VERSIONS = {
    1: _rules(_CLEANING, _SPLITTING, _REST),
    2: _rules(_CLEANING, _SPLITTING_AROUND_URLS, _REST),
}
NEWEST = max(VERSIONS)  # which new vocabularies get
NUM_CLEANING = len(_CLEANING)  # of every version
# For a pattern: strings of which every match holds at least one. A pattern without any is always searched for.
NEEDS = {pattern: needs for pattern, _, needs in _CLEANING + _SPLITTING + _SPLITTING_AROUND_URLS + _REST if needs}

# For a pattern: in ASCII, the letters before the period that it matches are one of these words, in lower case.
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz")
WORDS_BEFORE_PERIOD = {
    _LISTED: frozenset(_ABBREVIATIONS.split("|")),
    _LISTED_CAPITALISED: frozenset(_CAPITALISED_ABBREVIATIONS.lower().split("|")),
    _NUMBER: frozenset(("no", "nos")),
    _DOTTED: _LETTERS,
    _INITIAL: _LETTERS,
}
