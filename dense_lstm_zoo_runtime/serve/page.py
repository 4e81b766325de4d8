"""The page at ``/``, on which models are tried. It is one file, and its policy lets it load nothing else."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

_FILE = Path(__file__).with_name("page.html")


@dataclass(frozen=True)
class Page:
    """The page's bytes and its headers."""

    content: bytes
    headers: dict[str, str]

    @classmethod
    def read(cls) -> Page:
        """Read the page. Its policy names the hashes of its own script and style, and allows no others."""
        content = _FILE.read_bytes()
        policy = (
            "default-src 'none'",
            f"script-src {_hash(content, b'script')}",
            f"style-src {_hash(content, b'style')}",
            "connect-src 'self'",
            "img-src data:",  # the empty icon, without which a browser asks for /favicon.ico
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        )
        headers = {
            "Content-Security-Policy": "; ".join(policy),
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "Cache-Control": "no-cache",
        }
        return cls(content, headers)


def _hash(content: bytes, tag: bytes) -> str:
    (text,) = re.findall(rb"<%b>(.*?)</%b>" % (tag, tag), content, re.DOTALL)
    return f"'sha256-{base64.b64encode(hashlib.sha256(text).digest()).decode()}'"
