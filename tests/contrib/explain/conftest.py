"""A browser, for the page."""

from tests.browser.conftest import _system_programs_on_path, browser, live_server, look, open_page

__all__ = ["_system_programs_on_path", "browser", "live_server", "look", "open_page"]
