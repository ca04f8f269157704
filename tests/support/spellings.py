"""Ways to write the path of a page, most of which reach it."""

import itertools
import random
from typing import NamedTuple


class Spelling(NamedTuple):
    target: str
    method: str = "GET"
    headers: tuple[str, ...] = ()
    version: str = "HTTP/1.1"

    def sent(self, client: str) -> bytes:
        lines = [f"{self.method} {self.target} {self.version}", f"X-Forwarded-For: {client}", "Connection: close", *self.headers]
        if not any(line.lower().startswith("host:") for line in lines):
            lines.append("Host: 127.0.0.1")
        return "\r\n".join([*lines, "", ""]).encode("latin-1")


def encoded(path: str, count: int) -> list[str]:
    """Ways to percent-encode some letters of a path, in small and in capital hex digits."""
    ways = [[letter, *{f"%{ord(letter):02x}", f"%{ord(letter):02X}"}] for letter in path[1:]]
    every = ["/" + "".join(letters) for letters in itertools.product(*map(sorted, ways))]
    return random.Random(7).sample(every, min(count, len(every)))


PATHS = [
    *encoded("/login/", 240),
    *"/login/? /login/?x=1 /login/?next=/other/ /login/# /login/#x /login/?# http://127.0.0.1/login/ HTTP://127.0.0.1/login/".split(),
    *"http://elsewhere.example/login/ https://127.0.0.1/login/ http://127.0.0.1/%6Cogin/ http://u:p@127.0.0.1/login/".split(),
    *"//login/ ///login/ /./login/ /x/../login/ /login/./ /login// /login//./ /login/. /login/.. /login/../login/".split(),
    *"/LOGIN/ /Login/ /login;x/ /login/;x /login/%00 /login%00/ /login/%0a /login/%0D%0A /login%20/ /login/%20".split(),
    "%2flogin/",
    *"/%2flogin/ %2Flogin%2F /login%252f /%256cogin/ /%u006cogin/ /login/%2e /%2e/login/ /%2e%2e/login/ /login\\".split(),
    "*",
    *"/l%C3%B6gin/ /login%EF%BC%8F /%EF%BD%8Cogin/ /log%C4%B1n/ /%C0%AFlogin/ /login/%FF /index.html/login/ login/".split(),
]
SPELLINGS = [
    *map(Spelling, PATHS),
    *(Spelling("/login/", method) for method in "POST PUT PATCH DELETE OPTIONS HEAD PURGE BREW PROPFIND get".split()),
    *(
        Spelling("/login/", headers=(header,))
        for header in (
            "X-HTTP-Method-Override: DELETE",
            "X-Original-URL: /quick/",
            "X-Rewrite-URL: /quick/",
            "X-Forwarded-Prefix: /x",
            "X-Forwarded-Host: elsewhere.example",
            "Host: localhost",
            "Host: 127.0.0.1:80",
            "SCRIPT_NAME: ",
            "SCRIPT_NAME: /x",
            "PATH_INFO: /quick/",
        )
    ),
    Spelling("/x/login/", headers=("SCRIPT_NAME: /x",)),
    Spelling("/login/login/", headers=("SCRIPT_NAME: /login",)),
    Spelling("/login/", "POST", ("Content-Length: 0",)),
    Spelling("/login/", version="HTTP/1.0"),
]
