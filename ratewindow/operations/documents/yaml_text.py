"""YAML by PyYAML, which may not be installed: read with nothing guessed, and written so that every reader agrees.

Whole numbers, ``true``, ``false`` and ``null`` are what they look like. Every other value is text: with the usual rules of
YAML 1.1, ``mode: off`` would be a boolean, ``1:30`` a number and ``2026-01-31`` a date. Aliases are refused, since a short
file may stand for a huge one.
"""

import re
from typing import Any

import yaml
from django.utils.translation import gettext
from yaml.nodes import MappingNode, Node, ScalarNode

MOST_DEPTH = 20  # of lists in lists; a document has four


def read(text: str, most_nodes: int | None = None) -> Any:
    """What the text says, in at most so many keys and values. Raises ValueError."""
    try:
        loader = _Loader(text)
        loader.nodes_left = most_nodes
        return loader.get_single_data()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        if mark is None:
            raise ValueError(gettext("This is not YAML that can be read: %s.") % (error.problem or error.context)) from None
        values = {"line": mark.line + 1, "column": mark.column + 1, "problem": error.problem or error.context}
        problem = gettext("line %(line)d, column %(column)d: this is not YAML that can be read: %(problem)s.") % values
        raise ValueError(problem) from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        character = f"U+{ord(error.character):04X}" if isinstance(error.character, str) else f"U+{error.character:04X}"
        problem = gettext("line %(line)d: %(character)s cannot stand in YAML: write it as an escape in double quotes.")
        raise ValueError(problem % {"line": line, "character": character}) from None


def write(value: Any) -> str:
    text = yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, default_flow_style=False, width=_NO_FOLDING)
    return _LONG.sub(lambda found: found[0] if found[0].isprintable() else f"\\U{ord(found[0]):08x}", text)


_NO_FOLDING = 1 << 30  # columns
_LONG = re.compile("[\U00010000-\U0010ffff]")  # whose escape JSON writes in another way


_TEXT_TAG = "tag:yaml.org,2002:str"


class OnOneLine(dict[str, Any]):
    """A mapping to be written on one line."""


def _refusal(problem: str, mark: Any) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=mark)


class _Loader(yaml.SafeLoader):
    yaml_implicit_resolvers = {}
    depth = 0
    nodes_left: int | None = None  # each takes some 25 µs

    def compose_node(self, parent: Node | None, index: int) -> Node | None:
        event: Any = self.peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.AliasEvent):
            raise _refusal(gettext("*%s is an alias: write its value in full") % event.anchor, event.start_mark)
        if getattr(event, "tag", None) not in (None, "!", _TEXT_TAG):
            raise _refusal(gettext("%s is a tag: write its value alone") % event.tag, event.start_mark)
        if self.depth == MOST_DEPTH:
            raise _refusal(gettext("there are too many lists in lists"), event.start_mark)
        if self.nodes_left is not None:
            self.nodes_left -= 1
            if self.nodes_left < 0:
                raise _refusal(gettext("this is too long to be read here: write JSON, or shorten it"), event.start_mark)
        self.depth += 1
        try:
            return super().compose_node(parent, index)
        finally:
            self.depth -= 1

    def construct_mapping(self, node: MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key in (key for key, _ in node.value if isinstance(key, ScalarNode)):
            if key.value in seen:
                raise _refusal(gettext("%r occurs twice in one place: keep one of them") % key.value[:64], key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)


_Loader.add_implicit_resolver("tag:yaml.org,2002:null", re.compile(r"(?:~|null|Null|NULL|)\Z"), ["~", "n", "N", ""])
_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"(?:true|True|TRUE|false|False|FALSE)\Z"), list("tTfF"))
_Loader.add_implicit_resolver("tag:yaml.org,2002:int", re.compile(r"[-+]?(?:0|[1-9][0-9]{0,30})\Z"), list("-+0123456789"))


class _Dumper(yaml.SafeDumper):
    def increase_indent(self, flow: bool = False, indentless: bool = False) -> Any:
        """Lists are indented, too."""
        return super().increase_indent(flow, False)

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> ScalarNode:
    """Several lines as a block, and what cannot be seen as escapes in double quotes."""
    lines = text.split("\n")
    if not all(line.isprintable() for line in lines):
        style = '"'
    elif len(lines) > 1:
        style = '"' if text[0].isspace() else "|"
    else:
        style = None
    return dumper.represent_scalar(_TEXT_TAG, text, style=style)


def _on_one_line(dumper: yaml.SafeDumper, values: OnOneLine) -> MappingNode:
    return dumper.represent_mapping("tag:yaml.org,2002:map", values.items(), flow_style=True)


_Dumper.add_representer(str, _text)
_Dumper.add_representer(OnOneLine, _on_one_line)
