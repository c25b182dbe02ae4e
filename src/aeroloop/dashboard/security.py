"""Who may talk to the dashboard: an ASGI guard around every page, file and websocket.

Any web page that a person visits can let their browser send requests to this machine. So a request must name this
machine as its host, which defeats rebound DNS names, and where the browser tells its origin it must be our own pages.
A dashboard that others on the network can reach also wants a token.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import re
import secrets
import socket
from collections import Counter
from collections.abc import Awaitable, Callable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

from aeroloop.core.errors import ConfigError

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

LONGEST_URL = 4096
MOST_HEADERS = 64
LONGEST_HEADERS = 16 * 1024
LARGEST_BODY = 1024 * 1024
BODY_TIMEOUT_S = 10.0
SHORTEST_TOKEN = 12
PENALTY_S = 0.5
MOST_WAITING = 8
"""Wrong tokens of one address that wait for their answer at once; the next ones are not even looked at."""

SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
ELSEWHERE = ("cross-site", "same-site")
"""What `Sec-Fetch-Site` says of other pages' requests; another port of this machine is the same site."""
POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; worker-src 'self' blob:; connect-src 'self' data: blob:; "
    "object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'self'"
)
"""The pages' framework compiles its templates in the browser; nothing may come from elsewhere."""

_HOST = re.compile(r"(\[[0-9a-f:.]{2,45}\]|[a-z0-9_.-]{1,253})(?::(\d{1,5}))?", re.ASCII)


class RefusalError(Exception):
    def __init__(self, status: int, words: str, cause: str) -> None:
        super().__init__(words)
        self.status, self.words, self.cause = status, words, cause


def is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def token_for(host: str, given: str) -> str:
    """The token to ask for: none on loopback unless one is given, elsewhere a fresh one."""
    if not given:
        return "" if is_loopback(host) else secrets.token_urlsafe(24)
    if not re.fullmatch(rf"[A-Za-z0-9._~-]{{{SHORTEST_TOKEN},256}}", given):
        raise ConfigError(f"--token: expected {SHORTEST_TOKEN} or more letters, digits or characters of . _ ~ -")
    return given


class Guard:
    """Lets requests through to `app`, or answers them itself with one sentence."""

    def __init__(self, app: App, *, host: str, port: int, token: str = "", refused: Counter[str] | None = None) -> None:
        self.app = app
        self.refused: Counter[str] = Counter() if refused is None else refused
        self._host, self._token = host.lower(), token
        self._cookie = f"aeroloop-{port}"  # a browser gives its cookies to every port of a host
        self._waiting: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        try:
            headers = self._checked_headers(scope)
            if scope["type"] == "http":
                receive = await self._bounded_body(headers, receive)
            where = await self._checked_token(scope, headers)
        except RefusalError as refusal:
            self.refused[refusal.cause] += 1
            await _refuse(scope, send, refusal)
            return
        if where is not None:
            await _let_in(send, where, self._cookie, self._token)
            return
        await self.app(scope, receive, _hardened(send) if scope["type"] == "http" else send)

    def _checked_headers(self, scope: Scope) -> dict[str, str]:
        raw = scope["headers"]
        if len(scope.get("raw_path") or b"") + len(scope["query_string"]) > LONGEST_URL:
            raise RefusalError(414, f"The address is longer than {LONGEST_URL} bytes.", "long")
        if len(raw) > MOST_HEADERS or sum(len(name) + len(value) for name, value in raw) > LONGEST_HEADERS:
            raise RefusalError(431, "There are too many headers, or they are too long.", "long")
        path = scope["path"]
        if any(ord(letter) < 32 or letter == "\\" for letter in path) or ".." in path.split("/"):
            raise RefusalError(400, "The address holds what no page's address holds.", "malformed")
        names = Counter(name for name, _ in raw)
        if names[b"host"] != 1 or any(names[name] > 1 for name in (b"origin", b"authorization", b"content-length")):
            raise RefusalError(400, "One host header is expected, and no header twice.", "malformed")
        headers = {name.decode("latin-1"): value.decode("latin-1").strip() for name, value in raw}
        self._check_origin(scope, headers)
        return headers

    def _check_origin(self, scope: Scope, headers: dict[str, str]) -> None:
        named = headers["host"].lower()
        match = _HOST.fullmatch(named)
        if not match:
            raise RefusalError(400, "The host header is malformed.", "malformed")
        if not self._is_ours(match[1].strip("[]")):
            raise RefusalError(
                421, "This dashboard does not go by that name; open it by the address it printed.", "host"
            )
        origin = headers.get("origin", "").lower()
        ours = (f"http://{named}", f"https://{named}")
        wanted = scope["type"] == "websocket" or scope["method"] not in SAFE_METHODS
        if origin not in ours if origin or wanted else False:
            raise RefusalError(403, "The request comes from a page that is not this dashboard's.", "origin")
        # A picture or a script of another page tells no origin, but browsers say that it is one.
        if headers.get("sec-fetch-site", "") in ELSEWHERE and headers.get("sec-fetch-mode", "") != "navigate":
            raise RefusalError(403, "This is no picture or script for other pages.", "origin")

    def _is_ours(self, name: str) -> bool:
        if is_loopback(name) or name == self._host:
            return True
        if is_loopback(self._host):
            return False
        try:
            ipaddress.ip_address(name)  # a number cannot be rebound
        except ValueError:
            own = socket.gethostname().lower()
            return name in (own, f"{own.partition('.')[0]}.local")
        return True

    async def _bounded_body(self, headers: dict[str, str], receive: Receive) -> Receive:
        """The whole body before the pages see any of it, so that what is too large or too slow never reaches them."""
        if "content-length" not in headers and "transfer-encoding" not in headers:
            return receive
        too_large = RefusalError(413, f"The request is larger than {LARGEST_BODY} bytes.", "long")
        length = headers.get("content-length", "0")
        if not re.fullmatch(r"\d{1,19}", length, re.ASCII):
            raise RefusalError(400, "The length of the request is no number.", "malformed")
        if int(length) > LARGEST_BODY:
            raise too_large
        body = bytearray()
        try:
            async with asyncio.timeout(BODY_TIMEOUT_S):
                while True:
                    message = await receive()
                    if message["type"] != "http.request":
                        raise RefusalError(400, "The request ended too early.", "malformed")
                    body += message.get("body", b"")
                    if len(body) > LARGEST_BODY:
                        raise too_large
                    if not message.get("more_body"):
                        break
        except TimeoutError:
            raise RefusalError(408, "The request took too long.", "slow") from None
        whole: list[Message] = [{"type": "http.request", "body": bytes(body), "more_body": False}]

        async def replay() -> Message:
            return whole.pop() if whole else await receive()

        return replay

    async def _checked_token(self, scope: Scope, headers: dict[str, str]) -> str | None:
        """Where to go on, for a browser that brought the token in the address; it then keeps it as a cookie."""
        if not self._token:
            return None
        address = str((scope.get("client") or ("",))[0])
        if self._waiting[address] >= MOST_WAITING:
            raise RefusalError(429, "Too many wrong tokens; wait a little.", "token")
        query = _query(scope["query_string"])
        asked = [value for name, value in query if name == "token"]
        if asked and scope["type"] == "http" and scope["method"] in SAFE_METHODS and self._is_right(asked[0]):
            rest = urlencode([(name, value) for name, value in query if name != "token"])
            # One slash at the start: two would name another host.
            path = str(scope["path"])
            return "/" + quote(path.lstrip("/")) + (f"?{rest}" if rest else "")
        bearer = re.fullmatch(r"bearer +(\S+)", headers.get("authorization", ""), re.IGNORECASE | re.ASCII)
        if any(self._is_right(each) for each in (bearer[1] if bearer else "", self._kept(headers))):
            return None
        self._waiting[address] += 1
        try:
            await asyncio.sleep(PENALTY_S)
        finally:
            self._waiting[address] -= 1
            if not self._waiting[address]:
                del self._waiting[address]
        raise RefusalError(401, "A token is needed: open the address that `aeroloop dash` printed.", "token")

    def _is_right(self, token: str) -> bool:
        return hmac.compare_digest(token.encode(), self._token.encode())

    def _kept(self, headers: dict[str, str]) -> str:
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(self._cookie)
        except CookieError:
            return ""
        return cookie.value if cookie else ""


def _query(raw: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(raw.decode("latin-1"), keep_blank_values=True, max_num_fields=64)
    except ValueError:
        raise RefusalError(400, "The query of the address is malformed.", "malformed") from None


async def _let_in(send: Send, where: str, cookie: str, token: str) -> None:
    kept = f"{cookie}={token}; Path=/; HttpOnly; SameSite=Strict"
    headers = [(b"location", where.encode()), (b"set-cookie", kept.encode()), (b"content-length", b"0")]
    headers += [(b"cache-control", b"no-store"), (b"referrer-policy", b"no-referrer")]
    await send({"type": "http.response.start", "status": 303, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


async def _refuse(scope: Scope, send: Send, refusal: RefusalError) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008, "reason": refusal.words})
        return
    body = f"<!doctype html><title>Aeroloop</title><p>{refusal.words}</p>\n".encode()
    headers = [
        (b"content-type", b"text/html; charset=utf-8"),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
        (b"content-security-policy", b"default-src 'none'"),
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})


def _hardened(send: Send) -> Send:
    async def sender(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = [
                pair for pair in message.get("headers", ()) if not pair[0].lower().startswith(b"access-control-")
            ]
            if not any(name.lower() == b"content-security-policy" for name, _ in headers):
                headers.append((b"content-security-policy", POLICY.encode()))
            headers += [(b"x-content-type-options", b"nosniff"), (b"referrer-policy", b"no-referrer")]
            message = {**message, "headers": headers}
        await send(message)

    return sender
