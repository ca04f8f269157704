"""Signals of this app's rows, whichever class saves them: a model, or the class that a migration has in its place.

A receiver for every sender would be simpler, but then Django could delete no row of the site, such as an ended session,
without reading it first.
"""

from collections.abc import Callable
from typing import Any

from django.apps import apps
from django.db.models import Model
from django.db.models.signals import class_prepared
from django.dispatch import Signal

_OF_MIGRATIONS = "__fake__"  # the module of their classes

_connected: dict[tuple[int, str], tuple[Signal, Callable[..., None], frozenset[str]]] = {}


def connect(signal: Signal, receiver: Callable[..., None], labels: frozenset[str], uid: str) -> None:
    """Call `receiver` for rows of the models ``ratewindow.<name>`` in `labels`."""
    for label in labels:
        signal.connect(receiver, sender=apps.get_model(label), dispatch_uid=uid)
    _connected[id(signal), uid] = signal, receiver, labels
    class_prepared.connect(_on_class, dispatch_uid="ratewindow.models.row_signals")


def of_migration(model: type[Model]) -> bool:
    return model.__module__ == _OF_MIGRATIONS


def _on_class(sender: type[Model], **kwargs: Any) -> None:
    if not of_migration(sender):
        return
    for (_, uid), (signal, receiver, labels) in _connected.items():
        if sender._meta.label_lower in labels:
            signal.connect(receiver, sender=sender, dispatch_uid=uid)
