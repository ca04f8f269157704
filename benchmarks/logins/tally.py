"""Which guesses have reached the hasher, in any process: each comparison of one adds a line to a file.

So it does not matter which view, backend or package has checked a password, nor how often: what a guesser gains is the
number of different passwords that were compared with the right one.
"""

import os
import secrets
from functools import lru_cache
from pathlib import Path

FILE = "LOGINS_TALLY"  # the variable of the environment that names it
_WRONG = "wrong-"


def wrong_password() -> str:
    """A guess that nobody has made before, in any process."""
    return f"{_WRONG}{secrets.token_hex(8)}"


def note(password: str) -> None:
    """Called with everything that is compared: guesses, but also right passwords and the secrets of OAuth's clients."""
    if password.startswith(_WRONG):
        os.write(_opened(os.environ[FILE]), f"{password}\n".encode())


def reached() -> set[str]:
    """The guesses that have been compared so far."""
    path = Path(os.environ[FILE])
    return set(path.read_text("utf-8").split()) if path.exists() else set()


@lru_cache(maxsize=1)
def _opened(path: str) -> int:
    """To append: lines of several processes do not mix."""
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
