"""Asking a server over HTTP: JSON there and back, patience with servers that are busy, and errors that never show a text.

Nothing that a server answers is printed but its status and a short code: an error page may repeat what it was sent.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from http.client import HTTPException, responses
from typing import Any, NoReturn
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, OpenerDirector, ProxyHandler, Request, build_opener

from evidentia.errors import InputError, ServerError, counted, shown, typed
from evidentia.pipeline.addresses import address_of, is_loopback, is_private, key_in, shown_address

_HINTS = {
    400: "Texts may be too long or too many for it: try a smaller batch_size.",
    401: "Name the environment variable that holds its key with api_key_env.",
    403: "Name the environment variable that holds its key with api_key_env.",
    404: "Check the address and the model's name.",
    413: "Try a smaller batch_size.",
    422: "Check the form of the request and the model's name.",
}


@dataclass(frozen=True)
class ServerSettings:
    """How to ask: ``api_key_env`` names an environment variable; ``version`` tells apart models that share a name.

    A failed request is sent again after ``backoff`` seconds, twice that, and so on, or when the server says.
    """

    api_key_env: str | None = None
    batch_size: int = field(default=64, metadata={"minimum": 1})
    timeout: float = field(default=120.0, metadata={"minimum": 0.001})
    retries: int = field(default=5, metadata={"minimum": 0})
    backoff: float = field(default=1.0, metadata={"minimum": 0})
    longest_wait: float = field(default=120.0, metadata={"minimum": 0})
    version: str = ""


HOW = ("api_key_env", "batch_size", "timeout", "retries", "backoff", "longest_wait")  # changes no answer


class _AgainError(Exception):
    """The request may be sent again, after this many seconds if the server said so."""

    def __init__(self, reason: str, after: float | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.after = after


class _NoRedirect(HTTPRedirectHandler):
    """Texts and keys go to the address that was given and to no other."""

    def redirect_request(self, *_: Any) -> None:
        return None


def checked_url(url: str, api_key_env: str | None = None) -> str:
    """The address, if texts, and a key if there is one, can be sent there; a key inside it would end up in files."""
    parts = address_of(url)
    if parts is None:
        raise InputError(f"{shown_address(url)} is not an address like http://127.0.0.1:8000/v1.")
    if (secret := key_in(parts)) is not None:
        raise InputError(f"The address holds {secret}. Leave it out and set api_key_env.")
    if api_key_env is not None and not is_private(parts):
        raise InputError(
            f"The key in {typed(api_key_env)} (api_key_env) would go to {parts.netloc} where everybody on the way can read it. "
            "Keys are sent over https or to this machine only: change the address."
        )
    return url.rstrip("/")


def ask(url: str, body: Mapping[str, Any], settings: ServerSettings) -> Any:
    """Post the body and read the JSON answer, again and again where that may help; else a ServerError."""
    request = Request(url, json.dumps(body).encode("ascii"), _headers(settings), method="POST")
    opener = _opener(url)
    for attempt in range(settings.retries + 1):
        try:
            return _once(opener, request, settings.timeout)
        except _AgainError as failed:
            pause = settings.backoff * 2**attempt if failed.after is None else failed.after
            if attempt == settings.retries or pause > settings.longest_wait:
                raise ServerError(_giving_up_message(url, failed, attempt + 1, pause)) from None
            time.sleep(pause)
    raise AssertionError("unreachable")


def _opener(url: str) -> OpenerDirector:
    """What is meant for this machine goes through no proxy, which would read it."""
    return build_opener(_NoRedirect, *([ProxyHandler({})] if is_loopback(urlsplit(url)) else []))


def _once(opener: OpenerDirector, request: Request, timeout: float) -> Any:
    try:
        with opener.open(request, timeout=timeout) as answer:
            content = answer.read()
    except HTTPError as error:
        with error:
            _refused(request.full_url, error)
    except TimeoutError:
        raise _AgainError(f"no answer within {timeout:g} s") from None
    except URLError as error:
        if isinstance(error.reason, TimeoutError):
            raise _AgainError(f"no answer within {timeout:g} s") from None
        raise _AgainError(f"no connection ({type(error.reason).__name__})") from None
    except (OSError, HTTPException) as error:
        raise _AgainError(f"the connection broke ({type(error).__name__})") from None
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        raise ServerError(
            f"{_host(request.full_url)} answered {counted(len(content), 'byte')} that are not JSON."
        ) from None


def _refused(url: str, error: HTTPError) -> NoReturn:
    """Say again what the status means: try once more, or never."""
    reason = f"status {error.code} {responses.get(error.code, '')}".rstrip()
    if error.code in {408, 429} or error.code >= 500:
        raise _AgainError(reason, _retry_after(error.headers.get("Retry-After"))) from None
    if 300 <= error.code < 400:
        raise ServerError(f"{_host(url)} sends us elsewhere ({reason}). Give the final address.") from None
    hint = _HINTS.get(error.code, "")
    raise ServerError(f"{_host(url)} refused: {reason}{_code(error)}. {hint}".rstrip()) from None


def _code(error: HTTPError) -> str:
    """The server's own short code for what is wrong, if it gives one; never its message."""
    try:
        details = json.loads(error.read(65536))["error"]
        code = details.get("code") or details.get("type")
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError, OSError, HTTPException):
        return ""
    return f" ({shown(code)})" if isinstance(code, str | int) else ""


def _retry_after(header: str | None) -> float | None:
    """Seconds to wait, from a number or a date."""
    if header is None:
        return None
    try:
        return max(0.0, float(header))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(header).timestamp() - time.time())
    except ValueError:
        return None


def _giving_up_message(url: str, failed: _AgainError, attempts: int, pause: float) -> str:
    message = f"{_host(url)} failed {counted(attempts, 'time')}, last with {failed.reason}."
    if failed.after is not None and pause > 0:
        message += f" It asks to wait {pause:g} s; longest_wait allows longer pauses."
    return message + " What it answered before is in the cache, if that is on: run again to continue."


def _headers(settings: ServerSettings) -> dict[str, str]:
    headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "evidentia"}
    if (name := settings.api_key_env) is not None:
        key = os.environ.get(name, "").strip()
        if not key:
            raise InputError(f"The environment variable {typed(name)} (api_key_env) is not set.")
        if not key.isascii() or not key.isprintable():
            raise InputError(f"The environment variable {typed(name)} (api_key_env) does not hold a key.")
        headers["Authorization"] = f"Bearer {key}"
    return headers


def _host(url: str) -> str:
    return urlsplit(url).netloc
