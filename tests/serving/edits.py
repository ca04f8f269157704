"""Edits of a limit while servers run: who obeys, and how soon. ``python -m tests.serving.edits`` measures twenty."""

import http.client
import json
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urlencode

from tests.serving.servers import CHECKOUT, Answer, Place, Served, exchange, make_database, new_address, place

OBEY_TIMEOUT_S = 60.0
ASKERS = 3  # of each server at the same moment: one alone would meet the same worker again and again

Worker = tuple[str, int]


class Editor:
    """Another process of the site, in which rules are edited."""

    def __init__(self, place: Place, **ratewindow: str) -> None:
        command = [sys.executable, "-m", "tests.serving.site.editor"]
        environment = place.environment(SERVED_RATEWINDOW=json.dumps(ratewindow))
        self._process = subprocess.Popen(
            command, cwd=CHECKOUT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def edit(self, how: str, rule: str = "edited", limit: int = 0) -> float:
        """Make the edit; when it was committed, by this machine's monotonic clock."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps({"how": how, "rule": rule, "limit": limit}) + "\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())

    def end(self) -> None:
        self._process.communicate(timeout=OBEY_TIMEOUT_S)


@contextmanager
def editing(place: Place, **ratewindow: str) -> Iterator[Editor]:
    """An editor for this block; `ratewindow` are settings, as of `Place.serve`."""
    editor = Editor(place, **ratewindow)
    try:
        yield editor
    finally:
        editor.end()


def limit_in_headers(answer: Answer) -> str:
    """The limit that this answer was decided by."""
    return answer["X-RateLimit-Limit"] if answer.has("X-RateLimit-Limit") else ""


def limit_in_rules(answer: Answer) -> str:
    """The limit that this process holds, which it says also while nothing can be decided."""
    return "".join(map(str, answer.json()["limits"].get("edited", [])))


def until_all_obey(
    servers: list[Served],
    limit: int | str,
    limit_in: Callable[[Answer], str] = limit_in_headers,
    timeout_s: float = OBEY_TIMEOUT_S,
) -> dict[Worker, float]:
    """When each worker was first seen to obey; returns once none has been seen that does not.

    An answer that comes in late may be older than the first one that obeys: what counts is when it was asked for.
    """
    path = "/edited/" if limit_in is limit_in_headers else "/state/"
    first: dict[Worker, float] = {}
    deadline_s = time.monotonic() + timeout_s
    done = threading.Event()

    def ask(served: Served) -> None:
        client = new_address()
        while not done.is_set() and time.monotonic() < deadline_s:
            with suppress(OSError, http.client.HTTPException):
                asked_s = time.monotonic()
                answer = served.get(path, client)
                who = (served.kind, answer.worker)
                if limit_in(answer) == str(limit):
                    first.setdefault(who, time.monotonic())
                elif first.get(who, asked_s) < asked_s:
                    first.pop(who, None)
            done.wait(0.01)  # whoever asks without a pause takes the time that he measures

    askers = [threading.Thread(target=ask, args=(served,)) for served in servers for _ in range(ASKERS)]
    for asker in askers:
        asker.start()
    wanted = sum(served.workers_wanted for served in servers)
    while len(first) < wanted and time.monotonic() < deadline_s:
        time.sleep(0.005)  # between two looks, not in the hope of anything
    done.set()
    for asker in askers:
        asker.join()
    if len(first) < wanted:
        logs = "\n".join(served.said() for served in servers)
        raise TimeoutError(f"after {timeout_s:.0f} s only {sorted(first)} obey the limit {limit}:\n{logs}")
    return first


def time_edits(servers: list[Served], editor: Editor, count: int) -> list[float]:
    """Seconds from each of `count` edits to the moment when the last worker was seen to obey."""
    taken = []
    for number in range(count):
        limit = 2_000 + number
        edited_s = editor.edit("save", limit=limit)
        taken.append(max(until_all_obey(servers, limit).values()) - edited_s)
    return taken


class _Form(HTMLParser):
    """What a browser would send of the one form of an admin page, were it to send it untouched."""

    def __init__(self) -> None:
        super().__init__()
        self.fields: dict[str, str] = {}
        self._select = self._text = ""

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        name, value, kind = given.get("name") or "", given.get("value"), given.get("type")
        if tag == "input" and name and (kind not in ("submit", "checkbox", "radio") or "checked" in given):
            self.fields[name] = value if value is not None else "on" if kind == "checkbox" else ""
        elif tag == "select":
            self._select = name
        elif tag == "option" and self._select and "selected" in given:
            self.fields[self._select] = value or ""
        elif tag == "textarea":
            self._text, self.fields[name] = name, ""

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea":
            self.fields[self._text], self._text = self.fields[self._text].removeprefix("\n"), ""
        elif tag == "select":
            self._select = ""

    def handle_data(self, data: str) -> None:
        if self._text:
            self.fields[self._text] += data


def edit_in_the_admin(served: Served, limit: int, rule: str = "edited") -> None:
    """What a person does: log in, open the rule, type another limit, save."""
    connection = served.connection()
    cookies = exchange(connection, "GET", "/log-in/admin/").session
    rows = exchange(connection, "GET", f"/admin/ratewindow/raterule/?q={rule}", Cookie=cookies).body.decode()
    (number,) = re.findall(r'href="([0-9]+)/"', rows)
    page = f"/admin/ratewindow/raterule/{number}/change/"
    opened = exchange(connection, "GET", page, Cookie=cookies)
    form = _Form()
    form.feed(opened.body.decode())
    cookies += f"; {opened['Set-Cookie'].partition(';')[0]}"
    fields = {**form.fields, "windows-0-limit": str(limit), "_save": "Save"}
    words = {"Cookie": cookies, "Content-Type": "application/x-www-form-urlencoded"}
    answer = exchange(connection, "POST", page, body=urlencode(fields), **words)
    connection.close()
    assert answer.status == 302, answer.body.decode()


def main(count: int = 20) -> int:
    """Four workers of gunicorn and two of uvicorn, at the default REFRESH."""
    with tempfile.TemporaryDirectory(prefix="ratewindow-edits-") as folder:
        template = Path(folder) / "template.sqlite3"
        make_database(template)
        with place(template) as made, editing(made) as editor:
            servers = [made.serve("preload"), made.serve("uvicorn")]
            taken = time_edits(servers, editor, count)
    within = sum(each <= 1.5 for each in taken)
    print(f"{within} of {count} edits were obeyed by all six workers within 1.5 s; the slowest took {max(taken):.2f} s,")
    print(f"the median {sorted(taken)[count // 2]:.2f} s.")
    return 0 if within == count else 1


if __name__ == "__main__":
    sys.exit(main())
