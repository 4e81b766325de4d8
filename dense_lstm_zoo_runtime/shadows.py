"""Files of a user's that hide a library of the same name: Python looks into the folder it runs in first.

The import of this module ends if there is one. Nothing is imported here that such a file could hide.
"""

import sys
from _frozen_importlib_external import PathFinder

# Libraries, and modules of Python's, that the packages import or that these import at once.
LIBRARIES = frozenset(
    [
        "apache_beam",
        "argcomplete",
        "fastapi",
        "grpc",
        "h11",
        "h5py",
        "httptools",
        "huggingface_hub",
        "keras",
        "keras_tuner",
        "matplotlib",
        "numpy",
        "onnx",
        "onnxruntime",
        "openpyxl",
        "pandas",
        "prometheus_client",
        "pyarrow",
        "pydantic_core",
        "re2",
        "scipy",
        "sklearn",
        "starlette",
        "tensorboard",
        "tensorflow",
        "tensorflow_text",
        "uvicorn",
        "uvloop",
    ]
)
STANDARD = frozenset(
    [
        "abc",
        "argparse",
        "array",
        "ast",
        "asyncio",
        "base64",
        "bisect",
        "codecs",
        "collections",
        "concurrent",
        "contextlib",
        "contextvars",
        "copy",
        "csv",
        "ctypes",
        "dataclasses",
        "datetime",
        "decimal",
        "difflib",
        "enum",
        "fcntl",
        "fnmatch",
        "functools",
        "gzip",
        "hashlib",
        "hmac",
        "html",
        "http",
        "importlib",
        "inspect",
        "io",
        "ipaddress",
        "json",
        "keyword",
        "linecache",
        "locale",
        "logging",
        "math",
        "numbers",
        "operator",
        "os",
        "pathlib",
        "pickle",
        "pkgutil",
        "platform",
        "posixpath",
        "pprint",
        "queue",
        "random",
        "re",
        "reprlib",
        "resource",
        "secrets",
        "select",
        "shlex",
        "shutil",
        "signal",
        "socket",
        "ssl",
        "stat",
        "statistics",
        "string",
        "struct",
        "subprocess",
        "tarfile",
        "tempfile",
        "termios",
        "textwrap",
        "threading",
        "token",
        "tokenize",
        "tomllib",
        "traceback",
        "types",
        "typing",
        "unicodedata",
        "urllib",
        "uuid",
        "warnings",
        "weakref",
        "zipfile",
        "zlib",
    ]
)


def hiding() -> str:
    """Return a sentence that names a file which hides a library, in the folder Python looks into first, or nothing."""
    for name in (*sorted(STANDARD), *sorted(LIBRARIES)):
        spec = None if name in sys.builtin_module_names else PathFinder.find_spec(name, sys.path[:1])
        if spec is None or spec.origin is None:
            continue
        other = PathFinder.find_spec(name, sys.path[1:])
        if other is None or other.origin in (None, spec.origin):
            continue
        if name in STANDARD or not _is_installed(name, spec.origin):
            kind = "library" if name in LIBRARIES else "module of Python's"
            return f"{spec.origin} hides the {kind} {name!r}: rename that file, or run in another folder."
    return ""


def _is_installed(library: str, origin: str) -> bool:
    """Return whether a library was installed where it lies, as pip's ``--target`` puts it beside a program."""
    from pathlib import Path  # Python's own: no file hides it where this is called

    init = Path(origin)
    if init.stem != "__init__":
        return False
    own = PathFinder.find_spec(__package__, sys.path[:1])
    if own is not None and own.origin is not None:  # with its libraries, whose metadata many delete to save room
        return True
    line = f"\n{library}/{init.name},"
    try:
        records = [path.read_text(encoding="utf-8") for path in init.parents[1].glob("*.dist-info/RECORD")]
    except (OSError, ValueError):
        return False
    return any(line in f"\n{record}" for record in records)


def refuse() -> None:
    """End in one line if a file hides a library.

    Raises:
        ImportError: There is one. As the command ``python -m``, the process ends with status 2 instead.
    """
    if sentence := hiding():
        if sys.argv[:1] == ["-m"]:
            sys.stderr.write(f"error: {ascii(sentence)[1:-1] if not sentence.isprintable() else sentence}\n")
            raise SystemExit(2)
        raise ImportError(sentence)


refuse()
