"""A load test of the server with Python's standard library alone: ``python load.py --help``.

Each client is one connection that sends its next request when the last one is answered. Times are the clients', from
the first byte sent to the last byte received. Memory is the server's own, as its ``/metrics`` say.
"""

from __future__ import annotations

import argparse
import array
import asyncio
import collections
import csv
import json
import os
import platform
import random
import re
import shlex
import statistics
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

# Common enough to be in the vocabulary of any English model: those that drop unknown words read every one of them.
_WORDS = """the of and to in a is that it was for on are as with they at be this from have or by one had not but what
all were when we there can an your which their said if do will each about how up out them then she many some so these
would other into has more her two like him see time could no make than first been its who now people my made over did
down only way find use may water long little very after words called just where most know"""

_MEMORY, _PROCESSOR_TIME = "process_resident_memory_bytes", "process_cpu_seconds_total"
_TEXTS, _BATCHES = "zoo_batch_texts_sum", "zoo_batch_texts_count"
_LENGTH = re.compile(rb"(?i)\r\ncontent-length: (\d+)")
_CLOSING = re.compile(rb"(?i)\nconnection: close")


@dataclass
class Tally:
    """The answers so far: their times in seconds, their statuses, and the requests that are still to be sent.

    A request is lost if the server closes its connection before it has answered.
    """

    remaining: int
    deadline: float
    lost: int = 0
    seconds: array.array[float] = field(default_factory=lambda: array.array("d"))
    statuses: collections.Counter[int] = field(default_factory=collections.Counter)

    @property
    def is_over(self) -> bool:
        """True if no other request is sent."""
        return self.remaining <= 0 or time.perf_counter() >= self.deadline


def texts(lengths: Sequence[int]) -> Iterator[str]:
    """Yield texts without end, each of one of ``lengths`` words, and the same ones each time."""
    draw, words = random.Random(1), _WORDS.split()
    while True:
        yield " ".join(draw.choices(words, k=draw.choice(lengths)))


def request(address: str, path: str, batch: Sequence[str]) -> bytes:
    """Return a whole HTTP request for predictions of some texts."""
    body = json.dumps({"texts": batch}).encode()
    return f"POST {path} HTTP/1.1\r\nHost: {address}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


class Client(asyncio.Protocol):
    """One connection, which sends its next request when the last one is answered.

    Streams would take as long for a request as the server itself, and the two share the machine.

    Args:
        requests: The requests to choose from.
        tally: Where answers are counted.
    """

    def __init__(self, requests: Sequence[bytes], tally: Tally) -> None:
        self.closed = asyncio.get_running_loop().create_future()
        self._requests, self._tally = requests, tally
        self._answer = bytearray()
        self._end = 0  # of the answer that arrives, once its length is known
        self._is_waiting = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send the first request."""
        assert isinstance(transport, asyncio.WriteTransport)
        self._transport = transport
        self._send()

    def data_received(self, data: bytes) -> None:
        """Take a part of an answer. After the last part, send the next request."""
        self._answer += data
        if not self._end:
            head, separator, _ = self._answer.partition(b"\r\n\r\n")
            if not separator:
                return
            length, self._is_last = _LENGTH.search(head), _CLOSING.search(head) is not None
            self._end = len(head) + len(separator) + int(length[1] if length else 0)
        if len(self._answer) < self._end:
            return
        self._is_waiting = False
        self._tally.seconds.append(time.perf_counter() - self._began)
        self._tally.statuses[int(self._answer.split(None, 2)[1])] += 1
        del self._answer[:]
        self._end = 0
        if self._is_last or self._tally.is_over:
            self._transport.close()
        else:
            self._send()

    def connection_lost(self, error: Exception | None) -> None:
        """Count a request that is not answered as lost."""
        self._tally.lost += self._is_waiting
        self.closed.set_result(None)

    def _send(self) -> None:
        self._tally.remaining -= 1
        self._is_waiting = True
        self._began = time.perf_counter()
        self._transport.write(self._requests[self._tally.remaining % len(self._requests)])


async def client(host: str, port: int, requests: Sequence[bytes], tally: Tally) -> None:
    """Send requests until there are none left or the time is over; on a new connection if the server closes one."""
    while not tally.is_over:
        _, connection = await asyncio.get_running_loop().create_connection(lambda: Client(requests, tally), host, port)
        await connection.closed


def metrics(url: str) -> tuple[dict[str, float], dict[str, str]]:
    """Return the server's memory, processor time, texts and batches so far, and its settings and versions."""
    with urllib.request.urlopen(f"{url}/metrics", timeout=30) as answer:
        lines = answer.read().decode().splitlines()
    totals = dict.fromkeys((_MEMORY, _PROCESSOR_TIME, _TEXTS, _BATCHES), 0.0)
    info: dict[str, str] = {}
    for line in lines:
        name = re.split(r"[{ ]", line, maxsplit=1)[0]
        if name in totals:
            totals[name] += float(line.rpartition(" ")[2])
        if name == "zoo_server_info":
            info = dict(re.findall(r'(\w+)="([^"]*)"', line))
    return totals, info


def parser() -> argparse.ArgumentParser:
    """Return the options."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--url", default="http://127.0.0.1:8000", help="the server (default %(default)s)")
    options.add_argument("--model", help="the model's name (default: the server's first)")
    options.add_argument(
        "--requests",
        type=int,
        default=100_000,
        help="requests to send, if there is time (default %(default)s)",
    )
    options.add_argument("--seconds", type=float, default=30, help="seconds to run at most (default %(default)s)")
    options.add_argument("--clients", type=int, default=8, help="connections at a time (default %(default)s)")
    options.add_argument("--texts", type=int, default=1, help="texts in a request (default %(default)s)")
    options.add_argument("--tokens", default="30", help="words in a text: 30, or 1-60 for mixed ones (default 30)")
    options.add_argument("--warm-up", type=int, default=500, help="requests before the measured ones (default 500)")
    options.add_argument("--csv", type=Path, help="append a row to this file")
    return options


def measure(options: argparse.Namespace) -> dict[str, object]:
    """Run the load test and return its row. A request that the server has lost counts among those not 200.

    Raises:
        OSError: The server cannot be reached, or no longer.
        ValueError: It has not answered a single request.
    """
    url = urlsplit(options.url)
    host, port = url.hostname or "127.0.0.1", url.port or 80
    path = f"/v1/models/{options.model}:predict" if options.model else "/v1/predict"
    low, _, high = options.tokens.partition("-")
    source = texts(range(int(low), int(high or low) + 1))
    requests = [request(url.netloc, path, [next(source) for _ in range(options.texts)]) for _ in range(1000)]

    async def run(number: int, seconds: float) -> Tally:
        tally = Tally(number, time.perf_counter() + seconds)
        await asyncio.gather(*(client(host, port, requests, tally) for _ in range(options.clients)))
        return tally

    start, _ = metrics(options.url)
    asyncio.run(run(options.warm_up, options.seconds))
    before, info = metrics(options.url)
    began = time.perf_counter()
    tally = asyncio.run(run(options.requests, options.seconds))
    wall = time.perf_counter() - began
    after, _ = metrics(options.url)
    if not tally.seconds:
        raise ValueError(f"none of {tally.lost:,} requests was answered: the server closed their connections.")
    answered = len(tally.seconds)
    percentiles = (
        statistics.quantiles(tally.seconds, n=100, method="inclusive") if answered > 1 else [*tally.seconds] * 99
    )
    spent = {name: after[name] - before[name] for name in before}
    memory = [f"{totals[_MEMORY] / 1e6:.1f}" for totals in (start, before, after)]
    settings = ("workers", "threads", "max_batch", "max_wait_ms")
    versions = [f"{name.replace('_', '-')} {version}" for name, version in info.items() if version.count(".") > 1]
    return {
        "clients": options.clients,
        "texts": options.texts,
        "tokens": options.tokens,
        **{name: info.get(name, "") for name in settings},
        "requests": answered + tally.lost,
        "not_200": answered - tally.statuses[200] + tally.lost,
        "requests_per_second": f"{answered / wall:.0f}",
        "p50_ms": f"{1000 * percentiles[49]:.2f}",
        "p99_ms": f"{1000 * percentiles[98]:.2f}",
        "server_cpu_ms_per_request": f"{1000 * spent[_PROCESSOR_TIME] / answered:.2f}",
        "texts_per_batch": f"{spent[_TEXTS] / max(spent[_BATCHES], 1):.2f}",
        "rss_start_mb": memory[0],
        "rss_warm_mb": memory[1],
        "rss_end_mb": memory[2],
        "command": shlex.join(["python", "load.py", *_without_csv(sys.argv[1:])]),
        "versions": ", ".join([f"python {platform.python_version()}", *sorted(versions)]),
        "machine_load": f"{os.getloadavg()[0]:.1f}",
        "processor": f"{_processor()}, {os.cpu_count()} cores",
    }


def _without_csv(arguments: Sequence[str]) -> list[str]:
    """Return the arguments without the file that rows go into, which says nothing of what was measured."""
    text = re.sub(r"(^|\0)--csv[=\0][^\0]*", "", "\0".join(arguments))
    return [argument for argument in text.split("\0") if argument]


def _processor() -> str:
    try:
        names = re.findall(r"model name\s*: (.+)", Path("/proc/cpuinfo").read_text())
    except OSError:
        names = []
    return names[0] if names else platform.machine()


def main() -> int:
    """Measure, print the row and append it to the file. Return 1 if a request was not answered with 200."""
    options = parser().parse_args()
    try:
        row = measure(options)
    except (OSError, ValueError) as error:
        print(f"error: {options.url}: {error}", file=sys.stderr)
        return 1
    width = max(map(len, row))
    print("\n".join(f"{name:{width}}  {value}" for name, value in row.items()))
    if options.csv:
        new = not options.csv.exists()
        with options.csv.open("a", newline="") as file:
            writer = csv.DictWriter(file, row, lineterminator="\n")
            if new:
                writer.writeheader()
            writer.writerow(row)
    return 1 if row["not_200"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
