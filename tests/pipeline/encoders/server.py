"""A real server on this machine that answers as embedders and rerankers do, and misbehaves on demand."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any

Body = dict[str, Any]


@dataclass
class Answer:
    """What to send: a status, headers and a body; ``cut`` closes the connection halfway, ``hang`` waits for the end."""

    body: object = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    cut: bool = False
    hang: bool = False


@dataclass
class Seen:
    """What a server was asked."""

    path: str
    headers: dict[str, str]
    body: Body


class Server:
    """Answers with ``behave(request number, body)``; may be stopped and started again on the same port."""

    def __init__(self, behave: Callable[[int, Body], Answer]) -> None:
        self.behave = behave
        self.seen: list[Seen] = []
        self.ended = Event()
        self.port = 0
        self.start()

    def start(self) -> None:
        """Listen, on the port of before if there was one."""
        self.ended.clear()
        self._server = ThreadingHTTPServer(("127.0.0.1", self.port), self._handler())
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        self._thread = Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def stop(self) -> None:
        """Stop listening and let go of every connection."""
        self.ended.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}"

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                server.seen.append(Seen(self.path, dict(self.headers), body))
                answer = server.behave(len(server.seen) - 1, body)
                if answer.hang:
                    server.ended.wait()
                    return
                content = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
                self.send_response(answer.status)
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content[: len(content) // 2] if answer.cut else content)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        return Handler


@contextmanager
def serving(behave: Callable[[int, Body], Answer]) -> Iterator[Server]:
    """A server for the length of a block."""
    server = Server(behave)
    try:
        yield server
    finally:
        server.stop()


def vector(text: str) -> list[float]:
    """Three numbers that tell texts apart."""
    return [float(len(text)), float(sum(map(ord, text)) % 97), 1.0]


def embeddings(_: int, body: Body) -> Answer:
    """A good answer in the OpenAI form, in reverse order, as the form allows."""
    data = [{"object": "embedding", "index": i, "embedding": vector(text)} for i, text in enumerate(body["input"])]
    return Answer({"object": "list", "data": data[::-1], "model": body["model"]})


def jina(_: int, body: Body) -> Answer:
    """A good answer in the Jina and Cohere form, best first."""
    scores = [len(body["query"]) + len(text) / 10 for text in body["documents"]]
    order = sorted(range(len(scores)), key=lambda i: -scores[i])[: body["top_n"]]
    return Answer({"results": [{"index": i, "relevance_score": scores[i]} for i in order]})


def tei(_: int, body: Body) -> Answer:
    """A good answer in the form of text-embeddings-inference."""
    scores = [len(body["query"]) + len(text) / 10 for text in body["texts"]]
    return Answer([{"index": i, "score": scores[i]} for i in sorted(range(len(scores)), key=lambda i: -scores[i])])
