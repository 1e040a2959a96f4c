"""An OpenAI-compatible chat server on loopback that answers by rules, and fails as real ones do."""

from __future__ import annotations

import json
import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Reply = tuple[int, dict[str, str], bytes]


def answered(text: str, *, chances: dict[str, float] | None = None, finish: str = "stop") -> Reply:
    """A sound answer; ``chances`` are the probabilities of the first token."""
    choice: dict[str, Any] = {"message": {"role": "assistant", "content": text}, "finish_reason": finish}
    if chances is not None:
        top = [{"token": token, "logprob": math.log(chance)} for token, chance in chances.items()]
        choice["logprobs"] = {"content": [{"token": text[:1], "logprob": 0.0, "top_logprobs": top}]}
    body = {"choices": [choice], "usage": {"prompt_tokens": 100, "completion_tokens": 5}}
    return 200, {}, json.dumps(body).encode()


@dataclass
class ChatServer:
    """What it was asked, and how it answers."""

    reply: Callable[[dict[str, Any]], Reply]
    asked: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    url: str = ""


@contextmanager
def chat_server(reply: Callable[[dict[str, Any]], Reply]) -> Iterator[ChatServer]:
    """Serve on a free port of loopback for as long as the block lasts."""
    server = ChatServer(reply)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            server.asked.append(body)
            server.headers.append(dict(self.headers))
            status, headers, content = server.reply(body)
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(content))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    server.url = f"http://127.0.0.1:{listening.server_port}/v1"
    try:
        yield server
    finally:
        listening.shutdown()
        listening.server_close()


def is_evidence(body: dict[str, Any]) -> bool:
    """Whether quotes are asked for, and not a score."""
    return "Transcript:" in body["messages"][-1]["content"]


def careful(body: dict[str, Any]) -> Reply:
    """Quotes the whole turn about sleep, invents one more, and scores 2 with some doubt."""
    if is_evidence(body):
        return answered(json.dumps({"Sleep": ["i cannot SLEEP nearly every night", "I saw a ghost in the attic"]}))
    return answered("2", chances={"2": 0.6, "3": 0.2, "NA": 0.2})


def slow(seconds: float) -> Callable[[dict[str, Any]], Reply]:
    """Answers carefully, and late."""

    def reply(body: dict[str, Any]) -> Reply:
        time.sleep(seconds)
        return careful(body)

    return reply
