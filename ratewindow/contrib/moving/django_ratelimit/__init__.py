"""django-ratelimit's own names, decided by our rules: a site replaces the beginning of its imports, and its code stays."""

VERSION = (4, 1, 0)  # of the package whose names these are
__version__ = ".".join(map(str, VERSION))

ALL = (None,)
UNSAFE = ["DELETE", "PATCH", "POST", "PUT"]
