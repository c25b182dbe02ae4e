"""`python onlooker.py URL COUNT`: so many browsers on one page, until standard input ends; then what came to them."""

from __future__ import annotations

import json
import select
import sys
from contextlib import ExitStack

from browser import DESKTOP, Watcher, launch
from playwright.sync_api import WebSocket, sync_playwright

LISTEN_MS = 200


def main(url: str, count: int) -> None:
    came = [0] * count

    def listen(index: int, socket: WebSocket) -> None:
        def count_one(_: object) -> None:
            came[index] += 1

        socket.on("framereceived", count_one)

    with sync_playwright() as playwright, ExitStack() as stack:
        watchers = []
        for index in range(count):
            browser = launch(playwright)
            stack.callback(browser.close)
            watcher = Watcher(browser, url, DESKTOP, dark=False)
            watcher.page.on("websocket", lambda socket, index=index: listen(index, socket))
            watcher.open("/")
            watchers.append(watcher)
        print("watching", flush=True)
        while not _left():
            watchers[0].page.wait_for_timeout(LISTEN_MS)
        canvases = [watcher.page.locator("canvas").count() for watcher in watchers]
        errors = [error for watcher in watchers for error in watcher.errors]
    print(json.dumps({"messages": came, "canvases": canvases, "errors": errors}), flush=True)


def _left() -> bool:
    return bool(select.select([sys.stdin], [], [], 0)[0]) and not sys.stdin.read(1)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
