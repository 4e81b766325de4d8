r"""The rules of the tokeniser, Penn Treebank style: the only copy, run by TensorFlow in graphs and by RE2 here.

``RULES`` are pairs of a pattern and a replacement in RE2's syntax, applied in this order to text in normal form NFKC.
Beside each stand strings of which every match holds at least one: a text without them needs no search (``NEEDS``).
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

_Rule = tuple[str, str, tuple[str, ...]]
# Characters become plain; much typographic text is ASCII from here on.
_CLEANING: tuple[_Rule, ...] = (
    (f"[{COMMA}{COLON}{DOT}{QUOTE}]", "\ufffd", (COMMA, COLON, DOT, QUOTE)),
    (r"[\s\p{Z}\p{Cc}\x{200B}\x{2060}\x{FEFF}]+", " ", ()),
    ("[“”„‟«»]", '"', tuple("“”„‟«»")),
    ("[‘’‚‛]", "'", tuple("‘’‚‛")),
    ("[—―]", " -- ", tuple("—―")),
    ("[–‐‑]", "-", tuple("–‐‑")),
)
_SPLITTING: tuple[_Rule, ...] = (
    # Always tokens of their own; runs of dots, dashes, stars and quotes stay together.
    (
        r'(["()\[\]{}!?;£€¥¡¿]|\.\.+|--+|(?:\\?\*)+|``+|\'\'+)',
        r" \1 ",
        (*'"()[]{}!?;£€¥¡¿*', "..", "--", "``", "''"),
    ),
    # Commas and colons, except between digits; twice, because the digits of neighbours overlap.
    (r"(\d),(\d)", rf"\1{COMMA}\2", (",",)),
    (r"(\d),(\d)", rf"\1{COMMA}\2", (",",)),
    (r"(\d):(\d)", rf"\1{COLON}\2", (":",)),
    (r"(\d):(\d)", rf"\1{COLON}\2", (":",)),
    (r"([,:])", r" \1 ", (",", ":")),
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
RULES = tuple((pattern, replacement) for pattern, replacement, _ in _CLEANING + _SPLITTING)
NUM_CLEANING = len(_CLEANING)
# For a pattern: strings of which every match holds at least one. A pattern without any is always searched for.
NEEDS = {pattern: needs for pattern, _, needs in _CLEANING + _SPLITTING if needs}

# For a pattern: in ASCII, the letters before the period that it matches are one of these words, in lower case.
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz")
WORDS_BEFORE_PERIOD = {
    _LISTED: frozenset(_ABBREVIATIONS.split("|")),
    _LISTED_CAPITALISED: frozenset(_CAPITALISED_ABBREVIATIONS.lower().split("|")),
    _NUMBER: frozenset(("no", "nos")),
    _DOTTED: _LETTERS,
    _INITIAL: _LETTERS,
}
