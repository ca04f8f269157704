"""A browser, for the form of a channel."""

from tests.browser.conftest import _system_programs_on_path, browser, live_server, open_page

__all__ = ["_system_programs_on_path", "browser", "live_server", "open_page"]
