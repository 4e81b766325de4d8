"""Files that are not text, told by how they begin."""

from __future__ import annotations

_ZIP = b"PK\x03\x04"
_IN_ZIP = {
    b"xl/": "an Excel workbook (xlsx)",
    b"word/": "a Word document (docx)",
    b"opendocument": "an OpenDocument file (ods, odt)",
}
_BEGINNINGS = {
    _ZIP: "a zip archive",
    b"PAR1": "a Parquet file",
    b"%PDF": "a PDF file",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "a file of an older Office program (xls, doc)",
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
_WAYS_OUT = {
    "xlsx": 'save the sheet as "CSV UTF-8", or read it with pandas.read_excel and give the frame',
    "Parquet": "read it with pandas.read_parquet and give the frame",
}


def check_is_text(beginning: bytes, name: str) -> None:
    """Raise ``ValueError`` for bytes that begin a file of a known binary kind, and say which.

    Args:
        beginning: The first bytes of the file, or all of them. Some thousand tell xlsx from other archives.
        name: The name of the file, for the error.

    Example:
        >>> check_is_text(b"PAR1...", "reviews.csv")
        Traceback (most recent call last):
        ValueError: reviews.csv is a Parquet file, whatever its name says: read it with pandas.read_parquet and give the
        frame.
    """
    kind = next((kind for start, kind in _BEGINNINGS.items() if beginning.startswith(start)), None)
    if beginning.startswith(_ZIP):
        kind = next((inner for part, inner in _IN_ZIP.items() if part in beginning), kind)
    elif beginning[257:262] == b"ustar":
        kind = "a tar archive"
    if kind is not None:
        way_out = next((way for word, way in _WAYS_OUT.items() if word in kind), "give a file of text")
        raise ValueError(f"{name} is {kind}, whatever its name says: {way_out}.")
