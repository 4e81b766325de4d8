"""The requests in ``/openapi.json``, and the paths that an unknown one is compared with."""

from __future__ import annotations

from typing import Any

PATHS = (
    "/",
    "/healthz",
    "/metrics",
    "/openapi.json",
    "/readyz",
    "/v1/embed",
    "/v1/explain",
    "/v1/models",
    "/v1/models/NAME:embed",
    "/v1/models/NAME:explain",
    "/v1/models/NAME:predict",
    "/v1/predict",
)

_ERROR = {"type": "object", "properties": {"error": {"type": "string"}}, "required": ["error"]}
_ERRORS = {
    "400": "The body is not JSON.",
    "404": "The model or the label does not exist, or the model cannot do this.",
    "408": "The body came too slowly.",
    "413": "Too many texts, a text that is too long, or too large a body.",
    "422": "The body is JSON, but not texts.",
    "503": "The server is busy; Retry-After says when to try again.",
    "504": "The answer took too long.",
}


def _described(key: str, item: dict[str, Any], text: dict[str, Any], **others: dict[str, Any]) -> dict[str, Any]:
    """Return the OpenAPI description of an operation that takes texts, and what else may be beside them."""
    properties = {"texts": {"type": "array", "items": text}, **others}
    request = {"type": "object", "properties": properties, "required": ["texts"]}
    answer = {"type": "object", "properties": {key: {"type": "array", "items": item}}, "required": [key]}
    responses = {status: _content(_ERROR) | {"description": description} for status, description in _ERRORS.items()}
    responses["200"] = _content(answer) | {"description": "One item per text, in order."}
    return {"requestBody": _content(request) | {"required": True}, "responses": responses}


def _content(schema: dict[str, Any]) -> dict[str, Any]:
    return {"content": {"application/json": {"schema": schema}}}


_TEXT = {"type": "string"}
_TOKENS = {"type": "array", "items": _TEXT}
_NUMBER = {"type": "number"}
_NUMBERS = {"type": "array", "items": _NUMBER}
_INTEGER = {"type": "integer"}
_SPAN = {
    "title": "Span",
    "type": "object",
    "properties": {
        "label": _TEXT,
        "text": _TEXT,
        "start": _INTEGER,
        "end": _INTEGER,
        "confidence": _NUMBER,
        "first_token": _INTEGER,
        "end_token": _INTEGER,
    },
}
_CLASS = {
    "label": _TEXT,
    "probability": _NUMBER,
    "probabilities": {"type": "object", "additionalProperties": _NUMBER},
}
_PREDICTION: dict[str, Any] = {
    "oneOf": [
        {
            "title": "Class",
            "type": "object",
            "properties": {
                **_CLASS,
                "known_words": {"type": ["integer", "null"]},
                "labels": {**_TOKENS, "description": "Only of models whose texts may have several labels, or none."},
            },
        },
        {
            "title": "Tags",
            "type": "object",
            "properties": {
                "tokens": _TOKENS,
                "tags": _TOKENS,
                "probabilities": _NUMBERS,
                "spans": {
                    "type": "array",
                    "items": _SPAN,
                    "description": "Of a tagger whose tags mark spans. Characters are those of Unicode, from 0.",
                },
            },
        },
        {
            "title": "Score",
            "type": "object",
            "properties": {
                "log_probability": _NUMBER,
                "perplexity": {"type": ["number", "null"]},
                "tokens": {"type": "integer"},
                "unknown_words": {"type": "integer"},
            },
        },
    ]
}

_EXPLANATION = {
    "title": "Explanation",
    "type": "object",
    "properties": {
        **_CLASS,
        "tokens": _TOKENS,
        "effects": _NUMBERS,
        "in_vocabulary": {"type": "array", "items": {"type": "boolean"}},
        "group": {"type": "integer"},
    },
}

PREDICT = _described("predictions", _PREDICTION, {"oneOf": [_TEXT, _TOKENS]})
EMBED = _described("vectors", _NUMBERS, _TEXT)
EXPLAIN = _described("explanations", _EXPLANATION, _TEXT, label={**_TEXT, "description": "By default the likeliest."})
