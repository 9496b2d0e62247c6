"""Sections of parameters, prepared for Griffe, from which the reference is made.

`nu, rho : float` is one entry of two parameters. Griffe would give both the type and the default
that the signature has for the first; as entries of their own, each has its own. A type such as
`"ucb" or "thompson"` would lose its quotes as an expression of Python; with a space of no width,
which Python refuses, it is shown as it stands.
"""

import re
from typing import Any

from griffe import Extension, Object

SECTION = re.compile(r"^Parameters\n-+\n(?:.*\n)*?(?=\S.*\n-{3,}\n|\Z)", re.MULTILINE)
ENTRY = re.compile(r"^(?P<names>\w+(?:, \w+)*)(?P<type> : .*)?\n(?P<text>(?:(?: .*)?\n)*)", re.MULTILINE)
NO_WIDTH = "\N{ZERO WIDTH SPACE}"
END_OF_TYPE = re.compile(r"(?=(?:, optional|, default .*)?$)")


class PreparedParameters(Extension):
    """Gives each parameter an entry of its own, and keeps quotes in its type."""

    def on_object(self, *, obj: Object, **context: Any) -> None:
        """Rewrite the section of parameters in the docstring of a function or class."""
        if obj.docstring is not None:
            text = obj.docstring.value + "\n"
            obj.docstring.value = SECTION.sub(lambda section: prepared(section[0]), text).rstrip()


def prepared(section: str) -> str:
    """Return a section of parameters with one name to an entry, and types that stay as they are."""

    def entries(found: re.Match[str]) -> str:
        kind = found["type"] or ""
        kind = END_OF_TYPE.sub(NO_WIDTH, kind, count=1) if '"' in kind else kind
        return "".join(f"{name}{kind}\n{found['text']}" for name in found["names"].split(", "))

    head, underline, rest = section.split("\n", 2)
    return f"{head}\n{underline}\n{ENTRY.sub(entries, rest)}"
