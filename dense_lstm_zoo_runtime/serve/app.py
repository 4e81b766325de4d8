"""The application: routes, and how a request becomes an answer or a refusal."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Receive, Scope, Send

from dense_lstm_zoo_runtime import __version__
from dense_lstm_zoo_runtime.serve import descriptions
from dense_lstm_zoo_runtime.serve.batching import Batcher
from dense_lstm_zoo_runtime.serve.errors import RequestError, too_busy, unknown
from dense_lstm_zoo_runtime.serve.explaining import Explainer
from dense_lstm_zoo_runtime.serve.metrics import Metrics
from dense_lstm_zoo_runtime.serve.middleware import Shortcut, Watch
from dense_lstm_zoo_runtime.serve.models import Model
from dense_lstm_zoo_runtime.serve.page import Page
from dense_lstm_zoo_runtime.serve.reading import read_body, read_texts
from dense_lstm_zoo_runtime.serve.settings import Settings

_KEYS = {"predict": "predictions", "embed": "vectors", "explain": "explanations"}
_SOON = 0.05  # seconds in which most answers are there
_log = logging.getLogger("uvicorn.error")


def create_app(models: Mapping[str, Model], settings: Settings) -> FastAPI:
    """Return the application that serves these models.

    Args:
        models: Models by name. The first one answers ``/v1/predict``, ``/v1/embed`` and ``/v1/explain``.
        settings: The limits. Its ``models``, ``host`` and ``port`` are not used.
    """
    metrics = Metrics(settings)
    executor = ThreadPoolExecutor(settings.workers, thread_name_prefix="predict")
    batchers: dict[tuple[str, str], Batcher] = {}
    for model in models.values():
        for name, operation in model.operations.items():
            batchers[model.name, name] = batcher = Batcher(
                operation,
                executor,
                workers=settings.workers,
                max_batch=settings.max_batch,
                max_wait=settings.max_wait_ms / 1000,
                max_queue=settings.max_queue,
                on_batch=metrics.batch_counter(model.name, name),
            )
            metrics.watch_queue(model.name, name, batcher)

    explainer = Explainer(executor, batchers.values())
    page = Page.read()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        for batcher in batchers.values():
            batcher.start()
        yield
        for batcher in batchers.values():
            await batcher.stop()
        executor.shutdown(wait=False, cancel_futures=True)  # nobody waits for what is still being predicted

    app = FastAPI(
        title="Dense LSTM Zoo",
        version=__version__,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    _answer_errors(app, metrics)
    first = next(iter(models))
    shortcuts: dict[str, Shortcut] = {}
    app.add_middleware(Watch, metrics=metrics, max_requests=settings.max_requests, shortcuts=shortcuts)

    async def answer(request: Request, operation: str, name: str) -> Response:
        if name not in models:
            raise unknown("model", name, models)
        model = models[name]
        if operation not in model.all_operations:
            raise unknown(f"operation of the {model.task} model {name!r}:", operation, model.all_operations)
        began = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(settings.timeout):
                body = await read_body(request, settings.max_body)
        except TimeoutError:
            message = f"The body had not arrived after {settings.timeout:g} s. Send it at once, or less of it."
            raise RequestError(408, "slow_body", message, {"Connection": "close"}) from None
        texts, label = read_texts(body, settings, model.takes_tokens, takes_label=operation == "explain")
        seconds_left = began + settings.timeout - asyncio.get_running_loop().time()
        if operation == "explain":
            work = _explain(explainer, model, texts, label)
        else:
            work = batchers[name, operation].predict(texts)
        answers = await _unless_cut(request, work, seconds_left, settings.timeout)
        content = b'{"%s":[%s]}' % (_KEYS[operation].encode(), b",".join(answers))
        return Response(content, media_type="application/json")

    def shortcut(operation: str, name: str) -> ASGIApp:
        async def reply(scope: Scope, receive: Receive, send: Send) -> None:
            request = Request(scope, receive)
            try:
                response = await answer(request, operation, name)
            except RequestError as error:
                response = _refuse(metrics, error)
            await response(scope, receive, send)

        return reply

    for model in models.values():
        for verb in model.all_operations:
            reply = shortcut(verb, model.name)
            shortcuts[f"/v1/models/{model.name}:{verb}"] = Shortcut(f"/v1/models/{{name}}:{verb}", reply)
            if model.name == first:
                shortcuts[f"/v1/{verb}"] = Shortcut(f"/v1/{verb}", reply)

    @app.post("/v1/predict", openapi_extra=descriptions.PREDICT, response_class=JSONResponse)
    async def predict(request: Request) -> Response:
        """Answer texts with the first model."""
        return await answer(request, "predict", first)

    @app.post("/v1/embed", openapi_extra=descriptions.EMBED, response_class=JSONResponse)
    async def embed(request: Request) -> Response:
        """Return the vectors of texts by the first model, which must be a classifier."""
        return await answer(request, "embed", first)

    @app.post("/v1/explain", openapi_extra=descriptions.EXPLAIN, response_class=JSONResponse)
    async def explain(request: Request) -> Response:
        """Return what each word of a text contributes to a label by the first model, which must be a classifier."""
        return await answer(request, "explain", first)

    @app.post("/v1/models/{name}:predict", openapi_extra=descriptions.PREDICT, response_class=JSONResponse)
    async def predict_with(request: Request, name: str) -> Response:
        """Answer texts with a model."""
        return await answer(request, "predict", name)

    @app.post("/v1/models/{name}:embed", openapi_extra=descriptions.EMBED, response_class=JSONResponse)
    async def embed_with(request: Request, name: str) -> Response:
        """Return the vectors of texts by a classifier."""
        return await answer(request, "embed", name)

    @app.post("/v1/models/{name}:explain", openapi_extra=descriptions.EXPLAIN, response_class=JSONResponse)
    async def explain_with(request: Request, name: str) -> Response:
        """Return what each word of a text contributes to a label by a classifier."""
        return await answer(request, "explain", name)

    @app.head("/", include_in_schema=False)
    @app.get("/", include_in_schema=False)
    async def show_page() -> Response:
        """Show a page to try the models."""
        return Response(page.content, media_type="text/html", headers=page.headers)

    @app.get("/v1/models")
    async def list_models() -> dict[str, Any]:
        """List the models, with their labels and operations."""
        return {"models": [model.description() for model in models.values()]}

    @app.head("/healthz", include_in_schema=False)
    @app.get("/healthz")
    async def healthz() -> dict[str, str]:
        """Say that the process lives."""
        return {"status": "live"}

    @app.head("/readyz", include_in_schema=False)
    @app.get("/readyz")
    async def readyz() -> dict[str, str]:
        """Say that the models are loaded and there is room for a text, or 503."""
        if any(batcher.full for batcher in batchers.values()):
            raise too_busy("queue_full", "a queue is full")
        return {"status": "ready"}

    @app.get("/metrics")
    async def show_metrics() -> Response:
        """Show counts and times in Prometheus' text format."""
        return Response(generate_latest(metrics.registry), media_type=CONTENT_TYPE_LATEST)

    return app


async def _explain(explainer: Explainer, model: Model, texts: list[str], label: str | None) -> list[bytes]:
    if len(texts) != 1:
        message = f"An explanation takes many predictions: send one text per request; received {len(texts)}."
        raise RequestError(422, "not_texts", message)
    if label is not None and label not in model.labels:
        raise unknown(f"label of the model {model.name!r}:", label, model.labels)
    assert model.explain is not None
    return [await explainer.explain(model.explain(texts[0], label))]


async def _unless_cut(request: Request, answering: Any, seconds_left: float, timeout: float) -> list[bytes]:
    """Return the answers. Cancel the work if the time is over or the client has left."""
    tasks = [asyncio.ensure_future(answering)]
    soon = min(_SOON, max(seconds_left, 0))
    try:
        await asyncio.wait(tasks, timeout=soon)
        if not tasks[0].done():  # only then is it worth a task of its own to watch the client
            tasks.append(asyncio.ensure_future(request.receive()))  # after the body, only a disconnect comes
            await asyncio.wait(tasks, timeout=max(seconds_left - soon, 0), return_when=asyncio.FIRST_COMPLETED)
        if tasks[0].done():
            return tasks[0].result()
        if tasks[1].done():
            raise RequestError(499, "client_left", "The client has left.")
        message = f"The answer took longer than {timeout:g} s. Try again later, or send fewer and shorter texts."
        raise RequestError(504, "slow_answer", message)
    finally:
        if not all(task.done() for task in tasks):
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


def _refuse(metrics: Metrics, error: RequestError) -> Response:
    metrics.rejected.labels(error.reason).inc()
    return JSONResponse({"error": error.message}, error.status, error.headers)


def _answer_errors(app: FastAPI, metrics: Metrics) -> None:
    """Make every error one JSON object, ``{"error": "..."}``."""

    async def refuse(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestError)
        return _refuse(metrics, error)

    async def route(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        method, path = request.method, request.url.path[:100]
        message = f"{method} {path}: {error.detail}."
        if error.status_code == 404:
            message = unknown("path", path, descriptions.PATHS).message
        if error.status_code == 405:
            allowed = (error.headers or {}).get("Allow", "")
            message = f"{path} does not accept {method}; use {allowed.replace(', ', ' or ')}."
        return JSONResponse({"error": message}, error.status_code, error.headers)

    async def fail(request: Request, error: Exception) -> Response:
        message = "The server failed on this request; its log says why. Other requests are not affected."
        return JSONResponse({"error": message}, 500)

    app.add_exception_handler(RequestError, refuse)
    app.add_exception_handler(HTTPException, route)
    app.add_exception_handler(Exception, fail)
