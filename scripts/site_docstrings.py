"""Parameters that a docstring describes together, as the reference shows them: one by one.

`nu, rho : float` is one entry of two parameters. Griffe would give both the type and the default
that the signature has for the first; as entries of their own, each has its own.
"""

import re
from typing import Any

from griffe import Extension, Object

ENTRY = re.compile(r"^(?P<names>\w+(?:, \w+)+)(?P<rest>(?: : .*)?\n(?:(?: .*)?\n)*)", re.MULTILINE)
SECTION = re.compile(r"^Parameters\n-+\n(?:.*\n)*?(?=\S.*\n-{3,}\n|\Z)", re.MULTILINE)


class SeparateParameters(Extension):
    """Repeats the text of a common entry for each of its parameters."""

    def on_object(self, *, obj: Object, **context: Any) -> None:
        """Rewrite the section of parameters in the docstring of a function or class."""
        if obj.docstring is not None:
            text = obj.docstring.value + "\n"
            obj.docstring.value = SECTION.sub(lambda section: separated(section[0]), text).rstrip()


def separated(section: str) -> str:
    """Return a section of parameters with one name to an entry."""
    return ENTRY.sub(lambda entry: "".join(name + entry["rest"] for name in entry["names"].split(", ")), section)
