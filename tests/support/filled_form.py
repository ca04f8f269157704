"""What a browser sends for a form as the page has filled it in."""

from html.parser import HTMLParser


def filled(html: str) -> dict[str, str | list[str]]:
    """Name and value of each field of the forms in a page, without buttons and files; of ticked boxes of one name a list."""
    reader = _Reader()
    reader.feed(html)
    return {**reader.fields, **{name: values for name, values in reader.ticked.items() if len(values) > 1}}


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.fields: dict[str, str] = {}
        self.ticked: dict[str, list[str]] = {}
        self._select = self._text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        match tag:
            case "input" if "name" in given and given.get("type") not in ("submit", "button", "file", "image"):
                is_choice = given.get("type") in ("checkbox", "radio")
                if given.get("type") == "checkbox" and "checked" in given:
                    self.ticked.setdefault(given["name"], []).append(given.get("value", "on"))
                if not is_choice or "checked" in given:
                    self.fields[given["name"]] = given.get("value", "on" if is_choice else "")
            case "select":
                self._select = given.get("name", "")
            case "option" if self._select and ("selected" in given or self._select not in self.fields):
                self.fields[self._select] = given.get("value", "")
            case "textarea":
                self._text = given.get("name", "")
                self.fields[self._text] = ""

    def handle_endtag(self, tag: str) -> None:
        if tag in ("select", "textarea"):
            self._select = self._text = ""

    def handle_data(self, data: str) -> None:
        if self._text:
            self.fields[self._text] += data if self.fields[self._text] else data.removeprefix("\n")
