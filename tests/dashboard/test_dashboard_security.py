"""The dashboard's guard: who is let in, who is not, and that nothing malformed gets further than one sentence."""

from __future__ import annotations

import asyncio
import random
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

pytest.importorskip("nicegui", reason="the dashboard is an extra: pip install 'aeroloop[dash]'")

import httpx
import uvicorn

from aeroloop.core.errors import ConfigError
from aeroloop.dashboard import security, slow_clients
from aeroloop.dashboard.listening import address, bound_socket
from aeroloop.dashboard.roles import Role, role_of
from aeroloop.dashboard.security import Guard, is_loopback, tokens_for

TOKEN, VIEW_TOKEN = "a-token-that-nobody-guesses", "another-token-for-viewers"
OURS = "http://127.0.0.1:8080"


class Inner:
    """Stands in for the pages, and remembers what reached them."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.roles: list[str] = []
        self.bodies: list[bytes] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            return
        self.seen.append(scope["path"])
        self.roles.append(role_of(scope))
        if scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.accept"})
            await send({"type": "websocket.close", "code": 1000})
            return
        if scope["method"] == "POST":
            self.bodies.append((await receive())["body"])
        headers = [(b"content-type", b"text/plain"), (b"access-control-allow-origin", b"*")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"page"})


@pytest.fixture(autouse=True)
def _no_penalty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(security, "PENALTY_S", 0.0)


def ask(guard: Guard, path: str = "/", method: str = "GET", base: str = OURS, **more: Any) -> httpx.Response:
    async def one() -> httpx.Response:
        transport = httpx.ASGITransport(app=guard, raise_app_exceptions=True)
        async with httpx.AsyncClient(transport=transport, base_url=base) as client:
            return await client.request(method, path, **more)

    return asyncio.run(one())


def open_websocket(guard: Guard, headers: dict[str, str], query: str = "") -> list[str]:
    """What the guard answers to a handshake."""
    sent: list[str] = []

    async def one() -> None:
        async def receive() -> dict[str, Any]:
            return {"type": "websocket.connect"}

        async def send(message: Any) -> None:
            sent.append(message["type"])

        raw = [(name.encode(), value.encode()) for name, value in headers.items()]
        scope = {"type": "websocket", "path": "/ws", "raw_path": b"/ws", "query_string": query.encode(), "headers": raw}
        await guard({**scope, "client": ("127.0.0.1", 1)}, receive, send)

    asyncio.run(one())
    return sent


def guarded(
    host: str = "127.0.0.1", token: str = "", view_token: str = "", *, view_only: bool = False
) -> tuple[Guard, Inner]:
    inner = Inner()
    tokens = {role: each for role, each in (("command", token), ("view", view_token)) if each}
    return Guard(inner, host=host, port=8080, tokens=tokens, view_only=view_only), inner  # type: ignore[arg-type]


@pytest.mark.parametrize("host", ["127.0.0.1:8080", "localhost:9000", "LOCALHOST", "[::1]:8080", "127.0.0.9"])
def test_loopback_names_are_ours(host: str) -> None:
    guard, inner = guarded()
    assert ask(guard, headers={"host": host}).status_code == 200
    assert inner.seen == ["/"]


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "10.0.0.1", "localhost.evil.example:8080"])
def test_another_name_for_this_machine_is_refused(host: str) -> None:
    guard, inner = guarded()
    assert ask(guard, headers={"host": host}).status_code == 421
    assert inner.seen == [] and guard.refused["host"] == 1


@pytest.mark.parametrize("host", ["", " ", "a b", "x:y", "127.0.0.1:8080:1", "[::1", "a@127.0.0.1", "127.0.0.1/"])
def test_a_malformed_host_is_a_bad_request(host: str) -> None:
    guard, inner = guarded()
    assert ask(guard, headers={"host": host}).status_code == 400
    assert inner.seen == []


def test_on_a_network_address_numbers_and_the_own_name_are_ours_other_names_are_not() -> None:
    guard, _ = guarded("0.0.0.0", TOKEN)
    bearer = {"authorization": f"Bearer {TOKEN}"}
    assert ask(guard, headers={"host": "192.168.1.7:8080", **bearer}).status_code == 200
    assert ask(guard, headers={"host": socket.gethostname(), **bearer}).status_code == 200
    assert ask(guard, headers={"host": "evil.example", **bearer}).status_code == 421


@pytest.mark.parametrize("origin", ["http://evil.example", "http://localhost:8080", "http://127.0.0.1:3000", "null"])
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_requests_of_other_pages_are_refused(origin: str, method: str) -> None:
    guard, inner = guarded()
    assert ask(guard, method=method, headers={"origin": origin}).status_code == 403
    assert inner.seen == []


def test_what_changes_something_must_say_where_it_comes_from() -> None:
    guard, inner = guarded()
    assert ask(guard, method="POST", content=b"x").status_code == 403
    assert ask(guard, method="POST", content=b"x", headers={"origin": OURS}).status_code == 200
    assert inner.bodies == [b"x"]


def test_websockets_are_for_our_own_pages() -> None:
    guard, inner = guarded()
    assert open_websocket(guard, {"host": "127.0.0.1:8080", "origin": "http://evil.example"}) == ["websocket.close"]
    assert open_websocket(guard, {"host": "127.0.0.1:8080"}) == ["websocket.close"]
    assert open_websocket(guard, {"host": "evil.example", "origin": "http://evil.example"}) == ["websocket.close"]
    assert inner.seen == []
    assert open_websocket(guard, {"host": "127.0.0.1:8080", "origin": OURS})[0] == "websocket.accept"


def test_answers_forbid_what_comes_from_elsewhere() -> None:
    guard, _ = guarded()
    headers = ask(guard).headers
    assert "default-src 'self'" in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert "access-control-allow-origin" not in headers


def test_a_token_in_the_address_becomes_a_cookie_and_leaves_the_address() -> None:
    guard, inner = guarded("0.0.0.0", TOKEN)
    answer = ask(guard, f"/charts?a=1&token={TOKEN}")
    assert answer.status_code == 303 and answer.headers["location"] == "/charts?a=1"
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie
    assert inner.seen == []
    assert ask(guard, headers={"cookie": cookie.partition(";")[0]}).status_code == 200
    assert inner.seen == ["/"]


def test_the_way_on_never_leads_to_another_host() -> None:
    guard, _ = guarded("0.0.0.0", TOKEN)
    assert ask(guard, f"{OURS}//evil.example/x?token={TOKEN}").headers["location"] == "/evil.example/x"


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"params": {"token": "wrong"}},
        {"params": {"token": ""}},
        {"params": {"token": TOKEN[:-1]}},
        {"headers": {"authorization": "Bearer wrong"}},
        {"headers": {"authorization": f"Basic {TOKEN}"}},
        {"headers": {"cookie": "aeroloop-8080=wrong"}},
        {"headers": {"cookie": f"aeroloop-8081={TOKEN}"}},
        {"headers": {"cookie": '="; \\ = ;;'}},
    ],
)
def test_without_the_token_nothing_is_shown(given: dict[str, Any]) -> None:
    guard, inner = guarded("0.0.0.0", TOKEN)
    answer = ask(guard, **given)
    assert answer.status_code == 401 and "token is required" in answer.text
    assert TOKEN not in answer.text
    assert inner.seen == [] and guard.refused["token"] == 1


def test_websockets_without_the_token_are_refused() -> None:
    guard, inner = guarded("0.0.0.0", TOKEN)
    ours = {"host": "127.0.0.1:8080", "origin": OURS}
    assert open_websocket(guard, ours) == ["websocket.close"]
    assert open_websocket(guard, {**ours, "cookie": "aeroloop-8080=wrong"}) == ["websocket.close"]
    assert open_websocket(guard, ours, f"token={TOKEN}") == ["websocket.close"]
    assert inner.seen == [] and guard.refused["token"] == 3
    assert open_websocket(guard, {**ours, "cookie": f"aeroloop-8080={TOKEN}"})[0] == "websocket.accept"


def test_guesses_of_one_address_are_bounded_and_others_are_not_locked_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(security, "PENALTY_S", 0.2)
    guard, _ = guarded("0.0.0.0", TOKEN)

    async def many() -> tuple[list[int], int]:
        transport = httpx.ASGITransport(app=guard, client=("10.0.0.1", 1))
        other = httpx.ASGITransport(app=guard, client=("10.0.0.2", 1))
        async with (
            httpx.AsyncClient(transport=transport, base_url=OURS) as guesser,
            httpx.AsyncClient(transport=other, base_url=OURS) as friend,
        ):
            guesses = [guesser.get("/", params={"token": f"guess {i}"}) for i in range(30)]
            bearer = {"authorization": f"Bearer {TOKEN}"}
            *answers, right = await asyncio.gather(*guesses, friend.get("/", headers=bearer))
            return [answer.status_code for answer in answers], right.status_code

    statuses, right = asyncio.run(many())
    assert statuses.count(401) == security.MOST_WAITING and statuses.count(429) == 30 - security.MOST_WAITING
    assert right == 200


def made(host: str, token: str = "", view_token: str = "", *, view_only: bool = False) -> dict[Role, str]:
    return tokens_for(host, token, view_token, view_only=view_only)


def test_tokens_are_made_where_others_can_reach_us() -> None:
    assert made("127.0.0.1") == made("::1") == made("localhost") == made("127.0.0.1", view_only=True) == {}
    beyond = made("0.0.0.0")
    assert beyond.keys() == {"command", "view"} and len({*beyond.values(), *made("0.0.0.0").values()}) == 4
    assert all(len(token) >= 32 for token in beyond.values())
    assert made("0.0.0.0", TOKEN)["command"] == TOKEN and made("0.0.0.0", view_token=TOKEN)["view"] == TOKEN
    assert made("0.0.0.0", view_only=True).keys() == {"view"}
    assert made("127.0.0.1", TOKEN) == {"command": TOKEN}
    assert made("127.0.0.1", view_token=TOKEN).keys() == {"command", "view"}, "else everybody could command"
    for bad in ("short", "with blanks in it", "with;semicolon=1", "ü" * 20):
        with pytest.raises(ConfigError, match="--token"):
            made("127.0.0.1", bad)
        with pytest.raises(ConfigError, match="--view-token"):
            made("127.0.0.1", view_token=bad)
    with pytest.raises(ConfigError, match="--view-token: expected another token"):
        made("0.0.0.0", TOKEN, TOKEN)
    with pytest.raises(ConfigError, match="permits no commands"):
        made("0.0.0.0", TOKEN, view_only=True)
    assert not is_loopback("0.0.0.0") and not is_loopback("localhost.evil.example")


def test_the_token_decides_the_role() -> None:
    guard, inner = guarded("0.0.0.0", TOKEN, VIEW_TOKEN)
    for token, role in ((TOKEN, "command"), (VIEW_TOKEN, "view")):
        answer = ask(guard, f"/fly?token={token}")
        assert answer.status_code == 303
        cookie = answer.headers["set-cookie"].partition(";")[0]
        assert ask(guard, "/fly", headers={"cookie": cookie}).status_code == 200
        assert ask(guard, "/fly", headers={"authorization": f"Bearer {token}"}).status_code == 200
        assert open_websocket(guard, {"host": "127.0.0.1:8080", "origin": OURS, "cookie": cookie})[0].endswith("accept")
        assert inner.roles == [role] * 3
        inner.roles.clear()
    assert ask(guard, headers={"authorization": "Bearer neither-of-the-two"}).status_code == 401


def test_without_tokens_everybody_has_the_role_of_the_dashboard() -> None:
    guard, inner = guarded()
    ask(guard)
    viewed, of_viewers = guarded(view_only=True)
    ask(viewed)
    assert inner.roles == ["command"] and of_viewers.roles == ["view"]


def test_sizes_are_bounded() -> None:
    guard, inner = guarded()
    assert ask(guard, "/" + "a" * 5000).status_code == 414
    assert ask(guard, "/", params={"q": "a" * 5000}).status_code == 414
    assert ask(guard, headers={"x": "a" * 20_000}).status_code == 431
    assert ask(guard, headers={f"x-{i}": "" for i in range(100)}).status_code == 431
    large = b"x" * (security.LARGEST_BODY + 1)
    assert ask(guard, method="POST", content=large, headers={"origin": OURS}).status_code == 413

    async def pieces() -> Any:
        for _ in range(20):
            yield b"x" * (security.LARGEST_BODY // 16)

    assert ask(guard, method="POST", content=pieces(), headers={"origin": OURS}).status_code == 413
    assert inner.seen == []


@pytest.mark.parametrize("path", ["/a/%2e%2e/b", "/%2e%2e/etc", "/a%00b", "/a%5cb", "/%0d%0ax"])
def test_odd_paths_are_bad_requests(path: str) -> None:
    guard, inner = guarded()

    async def one() -> int:
        request = httpx.Request("GET", OURS)
        request.url = request.url.copy_with(raw_path=path.encode())
        transport = httpx.ASGITransport(app=guard)
        return (await transport.handle_async_request(request)).status_code

    assert asyncio.run(one()) == 400
    assert inner.seen == []


@contextmanager
def served(guard: Guard, http: Any = "h11") -> Iterator[int]:
    """A real server on a free port."""
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(guard, http=http, ws="wsproto", log_level="critical", lifespan="off", proxy_headers=False)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join()
        listener.close()


def raw(port: int, request: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        answer = b""
        try:
            while chunk := connection.recv(65536):
                answer += chunk
        except OSError:
            pass
        return answer


MALFORMED = (
    b"\x00\x01\x02\r\n\r\n",
    b"GET\r\n\r\n",
    b"GET / HTTP/9.9\r\n\r\n",
    b"GET / HTTP/1.1\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n",
    b"GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: \xff\xfe\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999999999\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /%ff%fe HTTP/1.1\r\nHost: evil.example\r\n\r\n",
    b"GET /ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
)


def test_malformed_requests_on_a_real_socket_are_answered_and_the_server_lives(
    capfd: pytest.CaptureFixture[str],
) -> None:
    guard, inner = guarded()
    draw = random.Random(5)
    good = b"GET /ok HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX-Some: thing\r\n\r\n"
    with served(guard) as port:
        for request in MALFORMED:
            assert raw(port, request)[9:10] in (b"4", b""), request
        assert inner.seen == []
        for _ in range(150):
            mutated = bytearray(good)
            for _ in range(draw.randint(1, 4)):
                mutated[draw.randrange(len(mutated))] = draw.randrange(256)
            answer = raw(port, bytes(mutated[: draw.randint(1, len(mutated))]))
            assert answer[9:10] in (b"2", b"4", b""), (bytes(mutated), answer)
        assert raw(port, good).startswith(b"HTTP/1.1 200")
    assert "Traceback" not in "".join(capfd.readouterr())


def test_the_socket_is_bound_before_the_pages_are_loaded_and_a_taken_port_is_a_sentence() -> None:
    with bound_socket("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        assert address(listener, "127.0.0.1", "") == f"http://127.0.0.1:{port}/"
        assert address(listener, "::1", TOKEN) == f"http://[::1]:{port}/?token={TOKEN}"
        assert address(listener, "0.0.0.0", TOKEN).startswith(f"http://{socket.gethostname()}:{port}/")
        with pytest.raises(ConfigError, match=f"port {port}: the port is in use"):
            bound_socket("127.0.0.1", port)
    for elsewhere, why in (("no.such.host.invalid", "no such host"), ("192.0.2.1", "this machine has no such address")):
        with pytest.raises(ConfigError, match=f"cannot listen on {elsewhere}, port 0: {why}; expected an address of"):
            bound_socket(elsewhere, 0)


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_pages_are_no_pictures_or_scripts_of_other_pages(site: str) -> None:
    guard, inner = guarded()
    for mode in ("no-cors", "cors", ""):
        headers = {"sec-fetch-site": site, "sec-fetch-mode": mode}
        assert ask(guard, headers=headers).status_code == 403
    assert inner.seen == [] and guard.refused["origin"] == 3
    assert ask(guard, headers={"sec-fetch-site": site, "sec-fetch-mode": "navigate"}).status_code == 200
    assert ask(guard, headers={"sec-fetch-site": "same-origin", "sec-fetch-mode": "cors"}).status_code == 200


@pytest.mark.parametrize("origin", ["http://[::1]:8080", "http://[::1]:9", "null"])
def test_the_origin_of_a_numbered_host_is_compared_whole(origin: str) -> None:
    guard, _ = guarded("::1")
    answers = open_websocket(guard, {"host": "[::1]:8080", "origin": origin})
    assert (answers[0] == "websocket.accept") is (origin == "http://[::1]:8080")


def test_a_connection_that_never_finishes_asking_is_closed_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slow_clients, "HEADERS_S", 0.2)
    guard, inner = guarded()
    whole = b"GET /ok HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with served(guard, http=slow_clients.impatient(guard.refused)) as port:
        for first, then in ((b"", b""), (b"", b"GET / HTTP/1.1\r\nHost: loc"), (whole, b"GET /second HTT")):
            with socket.create_connection(("127.0.0.1", port), timeout=3) as connection:
                connection.sendall(first)
                assert not first or connection.recv(65536).startswith(b"HTTP/1.1 200")
                connection.sendall(then)
                while connection.recv(65536):
                    pass
    assert guard.refused["slow"] == 3 and inner.seen == ["/ok"]
