"""One client's data: everything that is stored about it, for whoever asks what is known of them, and its erasure.

`named` says whether a text names the client, `rows` looks through the database and `keys` through Redis.
"""

from ratewindow.operations.subject.erasing import erase, find
from ratewindow.operations.subject.found import Found
from ratewindow.operations.subject.named import Named

__all__ = ["Found", "Named", "erase", "find"]
