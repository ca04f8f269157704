"""The YAML of `files`, by PyYAML, which may not be installed. When it is read, nothing is guessed but whole numbers, ``true``,
``false`` and ``null``.

With the usual rules of YAML 1.1 ``mode: off`` would be a boolean and ``1:30`` a number. Aliases are refused, since a short file
may stand for a huge one.
"""

import json
import re
from typing import Any

import yaml
from django.utils.translation import gettext


class _Loader(yaml.SafeLoader):
    yaml_implicit_resolvers = {}

    def compose_node(self, *args: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError(gettext("write the value of an alias in full"))
        return super().compose_node(*args)


_Loader.add_implicit_resolver("tag:yaml.org,2002:null", re.compile(r"(?:~|null|)\Z"), ["~", "n", ""])
_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"(?:true|false)\Z"), ["t", "f"])
_Loader.add_implicit_resolver("tag:yaml.org,2002:int", re.compile(r"-?(?:0|[1-9][0-9]{0,30})\Z"), list("-0123456789"))


def read(text: str) -> Any:
    """What the text says. Raises ValueError."""
    try:
        return yaml.load(text, _Loader)
    except yaml.YAMLError as error:
        raise ValueError(gettext("This is not YAML that can be read: %s.") % error) from None


def write(value: Any) -> str:
    """All that is not ASCII as escapes, if there is a character that cannot be seen."""
    is_plain = json.dumps(value, ensure_ascii=False).isprintable()
    return str(yaml.safe_dump(value, sort_keys=False, allow_unicode=is_plain, width=1 << 30))
