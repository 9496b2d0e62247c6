"""Objects that remember how they were made, so that they can be written to a file and made again."""

import copy
from typing import Any, Self


class Recipe:
    """A base of objects that never change; keeps the arguments of the constructor as `recipe`, (args, kwargs)."""

    recipe: tuple[tuple[Any, ...], dict[str, Any]] | None

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Keep copies of the arguments, which the caller may change later."""
        made = super().__new__(cls)
        try:
            made.recipe = copy.deepcopy((args, kwargs))
        except TypeError:  # something that cannot be copied, such as an iterator: it will be read only once
            made.recipe = None
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self
