"""Objects that remember how they were made, so that they can be written to a file and made again."""

import copy
from typing import Any, Self


class Recipe:
    """A base of objects that never change; keeps the arguments of the constructor as `_recipe`, (args, kwargs)."""

    _recipe: tuple[tuple[Any, ...], dict[str, Any]]

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Keep copies of the arguments, which the caller may change later."""
        made = super().__new__(cls)
        made._recipe = copy.deepcopy((args, kwargs))
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self
