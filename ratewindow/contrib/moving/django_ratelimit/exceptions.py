"""The exception of a refusal."""

from django.core.exceptions import PermissionDenied


class Ratelimited(PermissionDenied):
    """Django answers it with 403, unless the middleware or the site does."""
