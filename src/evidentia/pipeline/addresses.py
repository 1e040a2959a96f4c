"""Addresses of servers: which ones texts may be sent to, which may have a key, and which must not be repeated anywhere."""

from __future__ import annotations

import re
from ipaddress import ip_address
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from evidentia.errors import typed

_PORTS = {"http": 80, "https": 443}
_NOT_IN_ADDRESSES = re.compile(r"[\s\\<>\"^`{|}\x00-\x1f\x7f]")
_KEY_NAME = re.compile(
    r"key|token|secret|passw|pwd|auth|sig|credential|bearer|session|jwt|^(sk|pat|code)$", re.IGNORECASE
)
_KEY_BY_PREFIX = re.compile(
    r"((sk|pk|rk|pat|glpat|nvapi|xox[a-z])-|(hf|gsk|gh[a-z]|jina|pk|sk)_|bearer |AIza|AKIA|eyJ)\S{8,}", re.IGNORECASE
)
_LONG_VALUE = re.compile(r"(?=.*\d)(?=.*[A-Za-z])[\w+/=.~-]{24,}", re.ASCII)


def address_of(url: str) -> SplitResult | None:
    """The parts of an address that texts can be sent to; None where it is none.

    >>> address_of("http://127.0.0.1:8000/v1").port, address_of("127.0.0.1:8000")
    (8000, None)
    """
    try:
        parts = urlsplit(url)
        sound = parts.scheme in _PORTS and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return None
    return None if not sound or _NOT_IN_ADDRESSES.search(url) or ".." in unquote(parts.path).split("/") else parts


def key_in(parts: SplitResult) -> str | None:
    """Where an address holds something that looks like a key, in words; None where it holds none.

    >>> key_in(urlsplit("https://example.org/rerank?api_key=x"))
    'a key (in its query)'
    """
    if "@" in unquote(parts.netloc):
        return "a user name or password"
    asked = parse_qsl(parts.query.replace(";", "&"), keep_blank_values=True)
    if any(
        _KEY_NAME.search(name) or _is_key(value or name) or _LONG_VALUE.fullmatch(value or name)
        for name, value in asked
    ):
        return "a key (in its query)"
    if any(map(_is_key, unquote(parts.path).split("/"))):
        return "a key (in its path)"
    return "something behind a #" if parts.fragment else None


def may_be_shown(text: str) -> bool:
    """Whether an address, or what was written instead of one, holds nothing that might be a key."""
    plain = unquote(text)
    return not any(mark in plain for mark in "@?#") and not any(map(_is_key, re.split(r"[/,:&=]", plain)))


def shown_address(text: str) -> str:
    """An address, or what was written instead of one, for a message."""
    return typed(text) if may_be_shown(text) else "What is given (and not shown)"


def _is_key(part: str) -> bool:
    return _KEY_BY_PREFIX.fullmatch(part) is not None


def is_private(parts: SplitResult) -> bool:
    """Whether nobody on the way can read what is sent: TLS, or this machine.

    >>> [is_private(urlsplit(url)) for url in ("https://example.org", "http://[::1]:8000", "http://127.0.0.1.example.org")]
    [True, True, False]
    """
    return parts.scheme == "https" or is_loopback(parts)


def is_loopback(parts: SplitResult) -> bool:
    """Whether an address is this machine's own."""
    host = (parts.hostname or "").rstrip(".")
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def covers(allowed: SplitResult, asked: SplitResult) -> bool:
    """Whether an address is the allowed one or below it; one without a path stands for its whole server.

    >>> covers(urlsplit("https://example.org/v1"), urlsplit("https://EXAMPLE.org:443/v1/embeddings"))
    True
    >>> covers(urlsplit("https://example.org/v1"), urlsplit("https://example.org/v11"))
    False
    """
    path = allowed.path.rstrip("/")
    below = asked.path.rstrip("/") == path or asked.path.startswith(f"{path}/")
    return _server(allowed) == _server(asked) and below and (not path or allowed.query == asked.query)


def _server(parts: SplitResult) -> tuple[str, str, int]:
    return parts.scheme, (parts.hostname or "").rstrip("."), parts.port or _PORTS[parts.scheme]
