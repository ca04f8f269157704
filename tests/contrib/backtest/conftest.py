"""A browser, for the page, and a site that is served."""

from tests.browser.conftest import _system_programs_on_path, browser, live_server, look, open_page
from tests.serving.fixtures import site_database

__all__ = ["_system_programs_on_path", "browser", "live_server", "look", "open_page", "site_database"]
