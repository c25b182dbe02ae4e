"""Access to the dashboard: an ASGI guard around every page, file and websocket.

Any web page that a user visits can make the browser send requests to this machine. So a request must name this machine
as its host, which prevents DNS rebinding, and its origin, if sent, must be our own pages. A dashboard that can be
reached over the network also requires a token: one to command, another to view.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import re
import secrets
import socket
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

from aeroloop.core.errors import ConfigError
from aeroloop.dashboard.roles import SCOPE_KEY, Role

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
"""Wrong tokens of one address that may wait for their answer at the same time; further ones are not checked."""

SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
ELSEWHERE = ("cross-site", "same-site")
"""Values of `Sec-Fetch-Site` for other pages' requests; another port of this machine is the same site."""
POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; worker-src 'self' blob:; connect-src 'self' data: blob:; "
    "object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'self'"
)
"""The pages' framework compiles its templates in the browser; no external resources are allowed."""

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


def tokens_for(host: str, token: str, view_token: str, *, view_only: bool) -> dict[Role, str]:
    """The token of each role; none on loopback unless given, otherwise generated unless given."""
    given: dict[Role, str] = {"command": _checked("--token", token), "view": _checked("--view-token", view_token)}
    if view_only:
        if token:
            raise ConfigError("--token: --view-only permits no commands; expected --view-token")
        del given["command"]
    if len(set(filter(None, given.values()))) < len(list(filter(None, given.values()))):
        raise ConfigError("--view-token: expected another token than that of --token")
    if is_loopback(host) and not any(given.values()):
        return {}
    if is_loopback(host) and not view_token:
        del given["view"]
    return {role: known or secrets.token_urlsafe(24) for role, known in given.items()}


def _checked(option: str, given: str) -> str:
    if given and not re.fullmatch(rf"[A-Za-z0-9._~-]{{{SHORTEST_TOKEN},256}}", given):
        raise ConfigError(f"{option}: expected {SHORTEST_TOKEN} or more letters, digits or characters of . _ ~ -")
    return given


class Guard:
    """Forwards requests to `app` with their role, or answers them itself with one sentence."""

    def __init__(
        self,
        app: App,
        *,
        host: str,
        port: int,
        tokens: Mapping[Role, str] | None = None,
        view_only: bool = False,
        refused: Counter[str] | None = None,
    ) -> None:
        """`tokens`: of each role; without any, every browser is accepted. `view_only`: commands are not allowed."""
        self.app = app
        self.refused: Counter[str] = Counter() if refused is None else refused
        self._host, self._tokens = host.lower(), dict(tokens or {})
        self._open: Role = "view" if view_only else "command"
        self._cookie = f"aeroloop-{port}"  # a browser sends its cookies to every port of a host
        self._waiting: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        try:
            headers = self._checked_headers(scope)
            if scope["type"] == "http":
                receive = await self._bounded_body(headers, receive)
            role, where = await self._checked_token(scope, headers)
        except RefusalError as refusal:
            self.refused[refusal.cause] += 1
            await _refuse(scope, send, refusal)
            return
        if where is not None:
            await _let_in(send, where, self._cookie, self._tokens[role])
            return
        scope[SCOPE_KEY] = role
        await self.app(scope, receive, _hardened(send) if scope["type"] == "http" else send)

    def _checked_headers(self, scope: Scope) -> dict[str, str]:
        raw = scope["headers"]
        if len(scope.get("raw_path") or b"") + len(scope["query_string"]) > LONGEST_URL:
            raise RefusalError(414, f"The address is longer than {LONGEST_URL} bytes.", "long")
        if len(raw) > MOST_HEADERS or sum(len(name) + len(value) for name, value in raw) > LONGEST_HEADERS:
            raise RefusalError(431, "There are too many headers, or they are too long.", "long")
        path = scope["path"]
        if any(ord(letter) < 32 or letter == "\\" for letter in path) or ".." in path.split("/"):
            raise RefusalError(400, "The address contains characters that are not allowed.", "malformed")
        names = Counter(name for name, _ in raw)
        if names[b"host"] != 1 or any(names[name] > 1 for name in (b"origin", b"authorization", b"content-length")):
            raise RefusalError(400, "Expected one Host header, and no header twice.", "malformed")
        headers = {name.decode("latin-1"): value.decode("latin-1").strip() for name, value in raw}
        self._check_origin(scope, headers)
        return headers

    def _check_origin(self, scope: Scope, headers: dict[str, str]) -> None:
        named = headers["host"].lower()
        match = _HOST.fullmatch(named)
        if not match:
            raise RefusalError(400, "The host header is malformed.", "malformed")
        if not self._is_ours(match[1].strip("[]")):
            raise RefusalError(421, "Unknown host name; open the address that the dashboard printed.", "host")
        origin = headers.get("origin", "").lower()
        ours = (f"http://{named}", f"https://{named}")
        wanted = scope["type"] == "websocket" or scope["method"] not in SAFE_METHODS
        if origin not in ours if origin or wanted else False:
            raise RefusalError(403, "The request comes from a page that is not this dashboard's.", "origin")
        # An image or a script in another page sends no origin, but browsers mark such requests.
        if headers.get("sec-fetch-site", "") in ELSEWHERE and headers.get("sec-fetch-mode", "") != "navigate":
            raise RefusalError(403, "Other pages may not embed this dashboard.", "origin")

    def _is_ours(self, name: str) -> bool:
        if is_loopback(name) or name == self._host:
            return True
        if is_loopback(self._host):
            return False
        try:
            ipaddress.ip_address(name)  # an IP address cannot be rebound
        except ValueError:
            own = socket.gethostname().lower()
            return name in (own, f"{own.partition('.')[0]}.local")
        return True

    async def _bounded_body(self, headers: dict[str, str], receive: Receive) -> Receive:
        """Reads the whole body before the pages get any of it, so that a request that is too large or too slow never
        reaches them."""
        if "content-length" not in headers and "transfer-encoding" not in headers:
            return receive
        too_large = RefusalError(413, f"The request is larger than {LARGEST_BODY} bytes.", "long")
        length = headers.get("content-length", "0")
        if not re.fullmatch(r"\d{1,19}", length, re.ASCII):
            raise RefusalError(400, "The Content-Length header is not a number.", "malformed")
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

    async def _checked_token(self, scope: Scope, headers: dict[str, str]) -> tuple[Role, str | None]:
        """The role; and the redirection for a browser with the token in its URL, which it then keeps as a cookie."""
        if not self._tokens:
            return self._open, None
        address = str((scope.get("client") or ("",))[0])
        if self._waiting[address] >= MOST_WAITING:
            raise RefusalError(429, "Too many wrong tokens; try again later.", "token")
        query = _query(scope["query_string"])
        asked = [value for name, value in query if name == "token"]
        role = self._role(asked[0]) if asked else None
        if role and scope["type"] == "http" and scope["method"] in SAFE_METHODS:
            rest = urlencode([(name, value) for name, value in query if name != "token"])
            # One slash at the start: two would name another host.
            path = str(scope["path"])
            return role, "/" + quote(path.lstrip("/")) + (f"?{rest}" if rest else "")
        bearer = re.fullmatch(r"bearer +(\S+)", headers.get("authorization", ""), re.IGNORECASE | re.ASCII)
        role = self._role(bearer[1] if bearer else "") or self._role(self._kept(headers))
        if role:
            return role, None
        self._waiting[address] += 1
        try:
            await asyncio.sleep(PENALTY_S)
        finally:
            self._waiting[address] -= 1
            if not self._waiting[address]:
                del self._waiting[address]
        raise RefusalError(401, "A token is required: open the address that `aeroloop dash` printed.", "token")

    def _role(self, token: str) -> Role | None:
        """All tokens are compared, so that the time reveals nothing."""
        right = [role for role, known in self._tokens.items() if hmac.compare_digest(token.encode(), known.encode())]
        return right[0] if right else None

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
