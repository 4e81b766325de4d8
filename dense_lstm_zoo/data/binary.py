"""Files that are not text, told by how they begin."""

from __future__ import annotations

_ARCHIVE = "a zip archive"
_IN_ZIP = {
    b"xl/": "an Excel workbook (xlsx)",
    b"word/": "a Word document (docx)",
    b"opendocument": "an OpenDocument file (ods, odt)",
}
_BEGINNINGS = {
    b"PK\x03\x04": _ARCHIVE,
    b"PAR1": "a Parquet file",
    b"%PDF": "a PDF file",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "a file of an older Office program (xls, doc), or an encrypted one",
    b"\x1f\x8b": "a file that is compressed with gzip",
    b"BZh": "a file that is compressed with bzip2",
    b"\xfd7zXZ\0": "a file that is compressed with xz",
    b"\x28\xb5\x2f\xfd": "a file that is compressed with zstd",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive",
    b"SQLite format 3\0": "an SQLite database",
    b"ARROW1": "an Arrow file",
    b"FEA1": "a Feather file",
    b"\x89HDF": "an HDF5 file",
    b"\x93NUMPY": "a NumPy array",
    b"\x89PNG": "a picture",
    b"GIF8": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"{\\rtf": "a document in RTF",
}
_NEVER_TEXT = bytes({*range(9), *range(14, 32)} - {0x1A, 0x1B})  # control characters but white space, ends and escapes
_WAYS_OUT = {"xlsx": "name it .xlsx", "Parquet": "name it .parquet"}


def kind_of(beginning: bytes) -> str | None:
    """Return the kind of binary file that begins with these bytes, or None.

    Args:
        beginning: The first bytes of the file, or all of them. Some thousand tell xlsx from other archives.

    Example:
        >>> kind_of(b"PAR1..."), kind_of(b"text,label")
        ('a Parquet file', None)
    """
    if beginning[257:262] == b"ustar":
        return "a tar archive"
    kind = next((kind for start, kind in _BEGINNINGS.items() if beginning.startswith(start)), None)
    return next((inner for part, inner in _IN_ZIP.items() if part in beginning), kind) if kind == _ARCHIVE else kind


def controls(content: bytes) -> int:
    """Return how many bytes are control characters that no text has.

    Example:
        >>> controls(b"a\\0b\\tc\\n")
        1
    """
    return len(content) - len(content.translate(None, _NEVER_TEXT))


def is_binary(content: bytes) -> bool:
    """Return whether bytes are those of no text, unless it is UTF-16: many are control characters.

    Example:
        >>> is_binary(bytes(range(256))), is_binary("очень скучно".encode("cp1251"))
        (True, False)
    """
    return controls(content) > len(content) // 50


def check_is_text(beginning: bytes, name: str) -> None:
    """Raise ``ValueError`` for bytes that begin a file of a known binary kind, and say which.

    Args:
        beginning: As for ``kind_of``.
        name: The name of the file, for the error.

    Example:
        >>> check_is_text(b"PAR1...", "reviews.csv")
        Traceback (most recent call last):
        ValueError: reviews.csv is a Parquet file, whatever its name says: name it .parquet.
    """
    if (kind := kind_of(beginning)) is not None:
        way_out = next((way for word, way in _WAYS_OUT.items() if word in kind), "give a file of text")
        raise ValueError(f"{name} is {kind}, whatever its name says: {way_out}.")
