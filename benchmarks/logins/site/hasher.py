"""Django's quickest hasher, so that all the rest of a login shows; it notes the guesses that it compares with a password."""

from django.contrib.auth.hashers import MD5PasswordHasher

from benchmarks.logins import tally


class NotingHasher(MD5PasswordHasher):
    def verify(self, password: str, encoded: str) -> bool:
        tally.note(password)  # here and not in `encode`, which guards call so that a refusal takes as long as a check
        return super().verify(password, encoded)
