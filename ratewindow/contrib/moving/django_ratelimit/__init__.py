"""django-ratelimit's own names, decided by our rules: a site replaces the beginning of its imports, and its code stays."""

ALL = (None,)
UNSAFE = ["DELETE", "PATCH", "POST", "PUT"]
