"""Requests are read and checked here: no more of a body than the limit is ever in memory."""

from __future__ import annotations

import json
import re
from typing import Any

from pydantic_core import from_json
from starlette.requests import ClientDisconnect, Request

from dense_lstm_zoo_runtime.claims import parse_json
from dense_lstm_zoo_runtime.serve.errors import RequestError
from dense_lstm_zoo_runtime.serve.settings import Settings

# A client that is still sending does not see an answer, so the rest of a body that is too large is read and dropped,
# up to this number of bytes.
_DROPPED = 64 * 1_048_576
_HALF = re.compile("[\ud800-\udfff]")


async def read_body(request: Request, limit: int) -> bytes:
    """Return the body of a request.

    Raises:
        RequestError: It has more than ``limit`` bytes (413).
        ClientDisconnect: The client left before it had sent everything.
    """
    declared = request.headers.get("content-length", "")
    length = int(declared) if declared.isdecimal() else 0
    waits = "expect" in request.headers  # it sends the body once it is asked to
    if length > limit and (waits or length > _DROPPED):
        raise _too_large(limit, length)
    parts: list[bytes] = []
    size, more = 0, True
    while more:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        part, more = message.get("body", b""), message.get("more_body", False)
        size += len(part)
        if size <= limit:
            parts.append(part)
        else:
            parts.clear()
        if size > _DROPPED:
            break
    if size > limit:
        raise _too_large(limit, length or size)
    return b"".join(parts)


def _too_large(limit: int, size: int) -> RequestError:
    message = f"The body has {size:,} bytes; at most {limit:,} are accepted. Send the texts in several requests."
    return RequestError(413, "body_too_large", message, {"Connection": "close"})


def read_texts(
    body: bytes, settings: Settings, takes_tokens: bool, *, takes_label: bool = False
) -> tuple[list[Any], str | None]:
    """Return the texts of a request's body, and the label that it names or None.

    Args:
        body: JSON: ``{"texts": [...]}``.
        settings: The limits.
        takes_tokens: Whether an item may also be a list of tokens.
        takes_label: Whether there may be a ``label`` beside the texts.

    Raises:
        RequestError: It is not JSON (400), not texts (422), or too much (413). The message gives the item's position.
    """
    try:
        data = from_json(body, allow_inf_nan=False)
        parse_json(body.decode())  # of two equal keys, the first reader takes the last
    except ValueError as error:
        if (position := _half_a_character(body)) is not None:
            message = f"texts[{position}] holds half of a character, such as \\ud83d alone: it was cut inside one."
            raise RequestError(422, "not_texts", message) from None
        message = f'The body is not valid JSON: {error}. Send {{"texts": ["..."]}} in UTF-8.'
        raise RequestError(400, "not_json", message) from None
    if not isinstance(data, dict):
        raise _not_texts(_described(data))
    label = data.pop("label", None) if takes_label else None
    if label is not None and not isinstance(label, str):
        raise RequestError(422, "not_texts", f"label must be a string; received {_described(label)}.")
    if list(data) != ["texts"]:
        raise _not_texts(f"an object with the keys {_described(list(data))}")
    if not isinstance(data["texts"], list):
        raise _not_texts(f"texts that are {_described(data['texts'])}")
    texts = data["texts"]
    if len(texts) > settings.max_texts:
        message = f"The request has {len(texts):,} texts; at most {settings.max_texts:,} are accepted. Send several."
        raise RequestError(413, "too_many_texts", message)
    for position, text in enumerate(texts):
        _check(position, text, settings.max_chars, takes_tokens)
    return texts, label


def _half_a_character(body: bytes) -> int | None:
    """Return the position of a text with a lone surrogate, which JSON's escapes can hold, if that is what is wrong."""
    try:
        texts = json.loads(body)["texts"]
        halves = (bool(_HALF.search(json.dumps(text, ensure_ascii=False))) for text in texts)
        return next(position for position, is_half in enumerate(halves) if is_half)
    except (ValueError, LookupError, TypeError, RecursionError, StopIteration):
        return None


def _check(position: int, text: Any, limit: int, takes_tokens: bool) -> None:
    if isinstance(text, str):
        length = len(text)
    elif takes_tokens and isinstance(text, list) and all(isinstance(token, str) for token in text):
        length = sum(map(len, text)) + len(text)  # tokens as if between spaces, so that empty ones count too
    else:
        accepted = "a string or a list of strings" if takes_tokens else "a string"
        raise RequestError(422, "not_texts", f"texts[{position}] must be {accepted}; received {_described(text)}.")
    if length > limit:
        message = f"texts[{position}] has {length:,} characters; at most {limit:,} are accepted. Send it in parts."
        raise RequestError(413, "text_too_long", message)


def _not_texts(description: str) -> RequestError:
    message = f'The body must be an object with one list: {{"texts": ["..."]}}; received {description}.'
    return RequestError(422, "not_texts", message)


def _described(value: Any) -> str:
    """Return a value for a message: what it is, and how it begins."""
    text = repr(value)
    return f"{text if len(text) <= 60 else text[:60] + '...'} ({type(value).__name__})"
