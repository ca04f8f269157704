"""The permissions that the models declare, with Django's names for them."""

from collections.abc import Iterator

from django.apps import apps
from django.db.models import Model

from from_code.markdown import code, plain, table

PAGES = ("staff/README",)


def add(page: str) -> str:
    models = [model for app in apps.get_app_configs() if app.name.startswith("ratewindow") for model in app.get_models()]
    rows = [(code(f"{model._meta.app_label}.{name}"), plain(words)) for model in models for name, words in _of(model)]
    return f"{page}\n## All permissions\n\n{table(('permission', 'in the form of a user'), rows)}\n"


def _of(model: type[Model]) -> Iterator[tuple[str, str]]:
    """In the order of Django's form."""
    options = model._meta
    for action in options.default_permissions:
        yield f"{action}_{options.model_name}", f"Can {action} {options.verbose_name_raw}"
    yield from options.permissions
