"""Rooms: optional capabilities, each an app of its own in `ratewindow.contrib`. What one may plug into the core is `Room`.

No module of the core imports a room: it asks `installed()` for those in ``INSTALLED_APPS``, in that order.
"""

import pkgutil
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from django.apps import AppConfig, apps
from django.utils.module_loading import import_string

if TYPE_CHECKING:
    from django.http import HttpRequest

    from ratewindow.background import Chore
    from ratewindow.counting.sheets import Refusal


class Link(NamedTuple):
    url: str
    text: str
    harms: bool = False  # it leads to what refuses more: red
    short: str = ""  # in the row of its client or rule, which need not be named there


class Tab(NamedTuple):
    """A page in the row of tabs, by its `place` from left to right: the name of its URL, a lazy text, and permissions that open
    it. One of these is enough, or all of one text."""

    place: int
    page: str
    text: Any
    permissions: Collection[str]


class Mark(NamedTuple):
    """What happened in a period: `short` stands beside its line on the chart, `text` in the tip and the list."""

    at: datetime
    short: str
    text: str
    url: str


class Edited(NamedTuple):
    """An edit of a rule: when, by whom, and the page that undoes it; without a room that keeps edits, when alone."""

    at: datetime
    by: str = ""
    url: str = ""


class Target(NamedTuple):
    """What a rule may apply to in the place of paths, such as every login: a value of `applies_to`.

    `label` stands in the form, `words` in the rule's sentence, and `elsewhere` says why a request does not match. `matches` says
    for which requests the middleware asks for its rules; where there is none, the room does, and with `holds` it charges first
    what counts by the answer, whatever the rule says. `typed` are fields of a form that make a request one of these.
    """

    label: Any  # lazy texts
    words: Any
    elsewhere: Any
    matches: Callable[["HttpRequest"], bool] | None = None
    holds: bool = False
    typed: str = ""


class Client(Protocol):
    """One client whose data is looked for, as a room recognises it."""

    @property
    def texts(self) -> Collection[str]:
        """Each identity that names the client contains one of them, so that a query can leave out most rows."""

    def is_in(self, identity: str) -> bool:
        """Whether an identity names the client, in any form in which it may be stored: joined with others, or hashed."""

    def stand_in(self, identity: str) -> str:
        """An identity that names the client with a hash of nothing in its place: for rows whose sums are to stay."""


class Found(NamedTuple):
    """What is stored about a client in one place: so many rows, keys or entries, and the times that they are about."""

    where: str
    number: int
    since: datetime | None = None
    until: datetime | None = None

    @classmethod
    def at(cls, where: str, moments: Iterable[datetime]) -> "Found":
        moments = [*moments]
        return cls(where, len(moments), min(moments, default=None), max(moments, default=None))


class Room(AppConfig):
    """The app of a room. Each hook of the class adds nothing; a room overrides those that it needs.

    Apps are made before models: so methods import what they need when they are called, and all else is named by dotted paths.
    """

    default_auto_field = "django.db.models.BigAutoField"
    gives = ""  # what a site gets, in a few words
    stores = "nothing"  # what it keeps, and where
    subcommands: Mapping[str, str] = {}  # of ``manage.py ratewindow``: ``module:OBJECT``
    tasks: Mapping[str, str] = {}  # of `ratewindow.tasks`: the dotted path of a function that returns lines for the log
    targets: Mapping[str, Target] = {}  # by the value of `applies_to`, of at most eight characters
    keys: Mapping[str, Any] = {}  # what each of its keys tells apart, in lower case: a lazy text
    key_names: Collection[str] = ()  # of its keys in Redis, after the prefix; nothing else may begin so
    tabs: Collection[Tab] = ()  # its pages in the row of tabs
    keeps_reasons = False  # whether it keeps why people edit, so that forms ask for it

    # Dotted paths of what is imported once it is needed.
    pages: Mapping[str, str] = {}  # (model_admin, request): views, each by the last part of its URL and name
    ready_rules = ""  # a list of `Kind`, beside those of the core or, with the name of one, in its place
    sends_also = ""  # a `minutes.Also`: what it keeps of the sums that a process sends
    rule_action = ""  # an action of the list of rules
    rule_links = ""  # (model_admin, request, rule): each `Link` beside *Edit* on the page of a rule
    client_links = ""  # (request, identity): each `Link` beside a client, on the report and on the list of blocks
    edit_token = ""  # (row): what the form of a rule or block carries, by which `check_edit` knows how it was opened
    check_edit = ""  # (request, form): adds an error where somebody else has edited the row since its form was opened
    object_history = ""  # (model_admin, request, object_id): the page of the history of a row in the place of Django's, or None
    first_edit = ""  # (rule, since): the first edit of a rule since then, an `Edited`, or None
    marks = ""  # (request, period, rule): each `Mark` of what explains why bars rise or fall, the oldest first; of a rule or all
    doors = ""  # (request): each `Door` that a request passes inside its view, as far as it shows; asked to explain a request
    note_release = ""  # (identity, done): called after a client's counts were deleted and its blocks ended; it is as stored
    find = ""  # (client): what is stored about a `Client`, a `Found` for each place; one where nothing is may be left out
    # (client): deletes what `find` finds, or writes a stand-in in its place; called outside a transaction, after the rows of the
    # core, and again a minute later, for what processes still held.
    erase = ""

    def __init__(self, app_name: str, app_module: Any) -> None:
        self.label = f"ratewindow_{app_name.rpartition('.')[2]}"
        super().__init__(app_name, app_module)

    def chores(self) -> Iterable["Chore"]:
        """What the threads of each process do regularly."""
        return ()

    def reset(self) -> None:
        """Forget what this process holds: after a fork, and for tests."""

    def end(self) -> None:
        """Send what is held: the process ends."""

    def note_refusals(self, refusals: Iterable["Refusal"]) -> None:
        """Called with the refusals that have just been counted, those of one request together, under the lock of counts."""

    def clean(self, dry_run: bool) -> Iterable[str]:
        """Delete what is too old to be kept, a sentence for each kind."""
        return ()


def installed() -> list[Room]:
    return [app for app in apps.get_app_configs() if isinstance(app, Room)]


def plugged(hook: str) -> list[Any]:
    """What rooms have plugged in as this."""
    return [import_string(path) for room in installed() if (path := getattr(room, hook))]


def targets() -> dict[str, Target]:
    """What rules may apply to beside paths."""
    return {name: target for room in installed() for name, target in room.targets.items()}


def client_keys() -> dict[str, Any]:
    """The keys of rooms, and what each tells apart."""
    return {name: words for room in installed() for name, words in room.keys.items()}


def keep_reasons() -> bool:
    """Whether it is kept why people edit."""
    return any(room.keeps_reasons for room in installed())


def run_task(name: str) -> str:
    """Run the task of that name of whichever room has it; returns what it says. Without one there is nothing to do."""
    functions = [room.tasks[name] for room in installed() if name in room.tasks]
    return "; ".join(line for function in functions for line in import_string(function)()) or "nothing to do"


def names() -> list[str]:
    """The dotted names of the rooms that this package has, whether a site has installed them or not."""
    folder = Path(__file__).with_name("contrib")  # which is missing where all of them were deleted
    return [f"ratewindow.contrib.{module.name}" for module in pkgutil.iter_modules([folder]) if module.ispkg]


def known() -> list[tuple[Any, bool]]:
    """Each as a `Room`, and whether the site has installed it."""
    return [(Room.create(name), apps.is_installed(name)) for name in names()]
