"""Encodings of text files: by their marks, and those that fit bytes that are not in the encoding that was expected."""

from __future__ import annotations

import codecs
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator

from dense_lstm_zoo.data.binary import controls, is_binary

UTF_16 = (b"\xff\xfe", b"\xfe\xff")  # the byte order marks that such files begin with
_UTF_32 = (b"\xff\xfe\0\0", b"\0\0\xfe\xff")
_SAMPLE = 1 << 16  # bytes
_ENOUGH = 0.25  # of the characters beyond ASCII must be common ones
_LATIN = "\u2019\u2018\u201c\u201d\u201e\u2013\u2014\u2026\u20ac\u00a0"
_CYRILLIC = "оеаинтсрвлкмдпуяыьгзбчйхжшюцщэ"
_CHINESE = "的一是不了在人有我他中大上好很到以看就出会也你"
# The characters beyond ASCII that texts in each encoding use most. Of encodings that fit equally, the first is named.
_COMMON = {
    "cp1252": _LATIN + "éèàùâêîôûçëïüöäßñáíóúãõåæøœÉÈÀÇÄÖÜÑÁÓÅÆØ«»¿¡°£",
    "cp1250": _LATIN + "ąćęłńóśźżáčďéěíňřšťúůýžőűöüŁŚŻŹČŠŽŘ",
    "cp1254": _LATIN + "ğışçöüİŞÇÖÜâîû",
    "cp1251": _CYRILLIC + "ієїґ",
    "koi8-r": _CYRILLIC,
    "cp866": _CYRILLIC,
    "cp1253": "αοιετσνηυρπκμλςίόάέήύώδγχθφβξζψ",
    "cp1255": "יוהלאתרבשמנםעדקחפגןכזסטצךף",
    "cp1256": "اليمنتروبدعسقكفحهجشصطخزذثغضظءأإآةىئؤ",
    "cp874": "านรอกเงมยลวดทสตะปบคหแจพชขใไโผ่้ัีิ็์ุู",
    "cp932": "のにはをたがでてとしれさいるもなすっかりこきあくらまんい、。ー",
    "gb18030": _CHINESE + "这们个来为国说时要电影没对片,。",
    "big5": _CHINESE + "這們個來為國說時要電影沒對片,。",
    "cp949": "이다는의을가에하고지로한를인은도기사들서어그있나아리수니입습영화정",
    "euc-jp": "のにはをたがでてとしれさいるもなすっかりこきあくらまんい、。ー",
}
# ISO's encodings, and Windows' that have the same letters, and quotes and dashes in place of control characters.
_WINDOWS = {"iso8859-1": "cp1252", "iso8859-15": "cp1252", "iso8859-2": "cp1250", "iso8859-9": "cp1254"}
_CONTROLS = re.compile("[\x80-\x9f]")
_ONE_SCRIPT = 0.85  # of the upper halves in UTF-16 are two bytes


def by_mark(beginning: bytes, codec: str) -> str:
    """Return the codec of a file: that of its byte order mark where UTF-8 was expected, else the expected one.

    Example:
        >>> by_mark("a".encode("utf-16"), "utf-8-sig"), by_mark(b"a", "utf-8-sig")
        ('utf-16', 'utf-8-sig')
    """
    if codec not in ("utf-8", "utf-8-sig"):
        return codec
    if beginning.startswith(_UTF_32):
        return "utf-32"
    return "utf-16" if beginning.startswith(UTF_16) else codec


def check_has_mark(beginning: bytes, codec: str, name: str) -> None:
    """Raise ``ValueError`` for UTF-16 without its byte order mark: as UTF-8, half of it would be NULs.

    Args:
        beginning: The first bytes of a file.
        codec: What was expected.
        name: The name of the file, for the error.

    Example:
        >>> check_has_mark("fine".encode(), "utf-8-sig", "a.txt")
        >>> check_has_mark("fine".encode("utf-16-le"), "utf-8-sig", "a.txt")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ValueError: a.txt is UTF-16 without its mark. Its bytes fit utf-16-le, ...
    """
    if codec.startswith("utf-8") and utf_16(beginning) is not None:
        raise ValueError(f"{name} is UTF-16 without its mark. {advice(beginning, codec)}")


def advice(content: bytes, codec: str) -> str:
    """Return what to do about bytes that are not in the encoding that was expected.

    Args:
        content: The bytes, of the whole file, from the line on that cannot be decoded, or around it.
        codec: What was expected.

    Example:
        >>> advice("it\\u2019s fine".encode("cp1252"), "utf-8-sig")
        'Its bytes fit cp1252, where that text is "it\\u2019s fine": give encoding="cp1252" (--encoding cp1252).'
    """
    if content.startswith(UTF_16) and codec != "utf-16":
        return 'It begins with the byte order mark of UTF-16: give encoding="utf-16" (--encoding utf-16).'
    if codec.startswith("utf-8") and (count := _few_wrong(content)):
        return (
            f"The rest is UTF-8, with at least {count:,} wrong byte{'s' if count > 1 else ''}: mend them where they "
            'are, or leave them out with "iconv -c -f UTF-8 -t UTF-8 old > new".'
        )
    name = best_fit(content)
    if name is None and is_binary(content):
        return "Its bytes are those of no text."
    if name is None or codecs.lookup(name).name == codecs.lookup(codec).name:
        return 'Give its encoding, such as encoding="cp1252" (--encoding cp1252), or save it as UTF-8.'
    sample = content[:_SAMPLE] if name.startswith("utf-16") else _sample(content)
    lines = [line for line in sample.decode(name, "ignore").splitlines() if line.strip()]
    example = next((line for line in lines if not line.isascii()), "".join(lines[:1])).strip()[:60]
    return f'Its bytes fit {name}, where that text is "{example}": give encoding="{name}" (--encoding {name}).'


def _few_wrong(content: bytes) -> int:
    """Return the number of bytes that are not UTF-8, or 0 if they are not few beside characters that are."""
    text = content.decode("utf-8", "surrogateescape")
    wrong = sum("\udc80" <= char <= "\udcff" for char in text)
    right = sum(char > "\x7f" for char in text) - wrong
    return wrong if right > 10 * wrong else 0


def watched(lines: Iterable[str], codec: str, name: str) -> Iterable[str]:
    """Return lines unchanged, with a warning at the first one whose encoding has made quotes control characters.

    Args:
        lines: Decoded lines, or whole texts.
        codec: The codec that they were decoded with.
        name: What they were read from, for the warning.
    """
    return _watched(lines, codec, name) if codec in _WINDOWS else lines


def _watched(lines: Iterable[str], codec: str, name: str) -> Iterator[str]:
    is_quiet = True
    for line in lines:
        if is_quiet and (match := _CONTROLS.search(line)):
            is_quiet = False
            code = ord(match[0])
            better = _WINDOWS[codec]
            as_text = bytes([code]).decode(better, "replace")
            warnings.warn(
                f"{name} has control characters in {codec}, such as {code:#04x}, which is {as_text} in {better}: give "
                f'encoding="{better}" (--encoding {better}).',
                stacklevel=4,
            )
        yield line


def best_fit(content: bytes) -> str | None:
    """Return the encoding in which bytes beyond ASCII are the most common characters, or None if that says nothing.

    Example:
        >>> best_fit("очень скучно".encode("cp1251")), best_fit("caf\\u00e9".encode("latin-1"))
        ('cp1251', 'cp1252')
    """
    if (order := utf_16(content)) is not None:
        return order
    sample, best, best_share = _sample(content), None, _ENOUGH
    for name, common in ({} if is_binary(sample) else _COMMON).items():
        if (text := _text(sample, name)) is None:
            continue
        foreign = [char for char in text if not char.isascii()]
        points = sum(1.0 if char in common else 0.3 if char.lower() in common else 0.0 for char in foreign)
        share = points / max(len(foreign), 1)
        if share > best_share:
            best, best_share = name, share
    return best


def utf_16(content: bytes) -> str | None:
    """Return the order of UTF-16 without its mark, ``utf-16-le`` or ``utf-16-be``, or None for other bytes.

    As UTF-8 they would be text with many control characters. Fewer than four of them say nothing.

    Example:
        >>> utf_16("очень скучно".encode("utf-16-be")), utf_16(b"a stray \\0 in a text")
        ('utf-16-be', None)
    """
    sample = content[:_SAMPLE]
    if (number := controls(sample)) < 4:
        return None
    is_utf_8 = _text(sample, "utf-8") is not None
    if not is_utf_8 and number <= len(sample) // 50:
        return None
    texts = [sample.decode(name, "replace") for name in ("utf-16-le", "utf-16-be")]
    order = _order_by_halves(sample) if is_utf_8 else _order_by_spaces(sample, texts)
    if order is None or is_binary(texts[order].encode()):
        return None
    if texts[order].count("\ufffd") > 1 + len(texts[order]) // 50:  # a character cut in half makes no other encoding
        return None
    return ("utf-16-le", "utf-16-be")[order]


def _order_by_halves(sample: bytes) -> int | None:
    """Return the order in which bytes that are UTF-8 too can be nothing but UTF-16, or None.

    Of one script, nearly all upper halves are those of its letters, or zeros: of spaces, line ends and Latin letters.
    """
    shares = []
    for start in (1, 0):
        half = sample[start::2]
        usual = Counter(half).most_common(2)
        shares.append(sum(count for _, count in usual) / max(len(half), 1) if 0 in dict(usual) else 0.0)
    order = shares.index(max(shares))
    return order if shares[order] > _ONE_SCRIPT else None


def _order_by_spaces(sample: bytes, texts: list[str]) -> int | None:
    """Return the order in which zeros are on one side, or spaces: Chinese, which is not UTF-8, has zeros on both."""
    zeros = [sample[start::2].count(0) for start in (1, 0)]  # of spaces, line ends and Latin letters
    for counts in (zeros, [len(re.findall("[ \n]", text)) for text in texts]):
        order = counts.index(max(counts))
        if counts[order] > 10 * counts[1 - order]:
            return order
    return None


def _text(sample: bytes, codec: str) -> str | None:
    """Return the beginning of a text, whose last character may be cut, or None if it is not in the encoding."""
    try:
        return codecs.getincrementaldecoder(codec)().decode(sample)
    except UnicodeDecodeError:
        return None


def _sample(content: bytes) -> bytes:
    """Return bytes from the beginning of the first line that is not ASCII on."""
    content = content.removeprefix(codecs.BOM_UTF8)
    place = next((i for i, byte in enumerate(content) if byte > 127), 0)
    start = content.rfind(b"\n", 0, place) + 1
    return content[start : start + _SAMPLE]
