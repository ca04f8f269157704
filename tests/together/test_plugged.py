"""What rooms plug into the core by dotted paths, which nothing else checks before a page asks for it."""

from django.utils.module_loading import import_string

from ratewindow import rooms


def paths() -> list[tuple[str, str]]:
    """Each path with what it is plugged in as."""
    declared = [item for room, _ in rooms.known() for item in vars(type(room)).items() if item[0] not in ("name", "pages")]
    pages = [("pages", page) for room, _ in rooms.known() for page in room.pages.values()]
    return [
        *pages,
        *((hook, path) for hook, path in declared if isinstance(path, str) and path.startswith("ratewindow.contrib.")),
    ]


def test_each_path_leads_to_something() -> None:
    assert len(paths()) > 10
    assert [path for _, path in paths() if not import_string(path)] == []


def test_each_is_something_that_the_core_asks_for() -> None:
    assert {hook for hook, _ in paths()} <= vars(rooms.Room).keys()
