"""A quick hasher that notes each wrong password that is compared: what a guesser learns from, whatever the page says."""

import os
from pathlib import Path

from django.contrib.auth.hashers import MD5PasswordHasher

NOTES = Path(os.environ["CONFORMANCE_FOLDER"]) / "checked"


class NotingHasher(MD5PasswordHasher):
    def verify(self, password: str, encoded: str) -> bool:
        if password.startswith("wrong-"):
            with NOTES.open("a") as notes:
                notes.write(f"{password}\n")
        return super().verify(password, encoded)
