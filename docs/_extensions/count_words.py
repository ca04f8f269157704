"""Counts the words of the site when it is built: of all pages, in every element."""

from typing import Any

from sphinx.util import logging

logger = logging.getLogger(__name__)


def count(app: Any, environment: Any) -> None:
    words = sum(len(environment.get_doctree(page).astext().split()) for page in environment.found_docs)
    logger.info("%d pages, %s words", len(environment.found_docs), f"{words:,}")


def setup(app: Any) -> None:
    app.connect("env-updated", count)
