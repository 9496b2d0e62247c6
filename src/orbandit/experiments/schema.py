"""The keys that an experiment's file may have, and what is said of those that break a rule."""

from collections.abc import Mapping
from typing import Annotated, Any, TypeAlias

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)

from orbandit.errors import Mistake
from orbandit.experiments.simulation import MAX_SEEDS
from orbandit.experiments.toml_lines import KeyPath, shown, unknown_key

MAX_PER_DECADE = 1_000
MAX_HORIZON = 10**12
"""Largest horizon."""
MAX_TIMEOUT = 1_000_000.0
"""Most seconds for a run."""
MAX_STORED_SEED = 2**63 - 1
"""Largest seed, for the sake of databases."""
TABLES: tuple[KeyPath, ...] = (("problem",), ("agent",))
"""What is written in double brackets."""

RULES = {
    "finite_number": "must be finite",
    "float_type": "must be a valid number",
    "greater_than": "must be greater than {gt:g}",
    "greater_than_equal": "must be greater than or equal to {ge}",
    "int_type": "must be a valid integer",
    "less_than_equal": "must be less than or equal to {le:.0f}",
    "list_type": "must be a valid list",
    "model_type": "must be a table",
    "string_too_short": "must have at least {min_length} character",
    "string_type": "must be a valid string",
    "too_short": "must have at least {min_length} item",
    "value_error": "{error}",
}
"""What each kind of mistake that the checker finds breaks."""


def _different(values: list[int]) -> list[int]:
    seen: set[int] = set()
    for value in values:
        if value in seen:
            raise ValueError(f"must all be different ({value} is there twice)")
        seen.add(value)
    return values


def _seeds(value: object) -> object:
    """Take a number of runs for the seeds 0, 1, ...; leave lists to the schema."""
    if isinstance(value, list):
        return value
    if type(value) is not int or not 1 <= value <= MAX_SEEDS:
        raise ValueError(f"must be a whole number of runs, from 1 to {MAX_SEEDS:,}, or a list of seeds")
    return list(range(value))


def _checkpoints(value: object, as_list: ValidatorFunctionWrapHandler) -> object:
    """Take a number for itself; a union with lists would put its branches into the paths of mistakes."""
    if isinstance(value, list):
        return as_list(value)
    if type(value) is not int or not 1 <= value <= MAX_PER_DECADE:
        most = f"{MAX_PER_DECADE:,}"
        raise ValueError(
            f"must be a whole number of rounds in each factor of ten, from 1 to {most}, or a list of rounds"
        )
    return value


Rounds: TypeAlias = Annotated[
    list[Annotated[int, Field(ge=1, le=MAX_HORIZON)]], Field(min_length=1), AfterValidator(_different)
]


class _Table(BaseModel):
    """A [[problem]] or an [[agent]], whose further keys are its class's."""

    model_config = ConfigDict(strict=True, extra="allow")
    class_: str = Field(alias="class", min_length=1)
    name: str | None = Field(default=None, min_length=1)


class Schema(BaseModel):
    """The keys of a file."""

    model_config = ConfigDict(strict=True, extra="forbid")
    name: str = Field(default="", min_length=1)
    horizons: Rounds
    seeds: Annotated[
        list[Annotated[int, Field(ge=0, le=MAX_STORED_SEED)]],
        Field(min_length=1),
        AfterValidator(_different),
        BeforeValidator(_seeds),
    ] = Field(default_factory=lambda: list(range(10)))
    checkpoints: Annotated[Rounds, WrapValidator(_checkpoints)] | None = None
    timeout: Annotated[float, Field(gt=0, le=MAX_TIMEOUT, allow_inf_nan=False)] | None = None
    problem: list[_Table] = Field(min_length=1)
    agent: list[_Table] = Field(min_length=1)


def check(data: dict[str, Any]) -> tuple[Schema | None, list[Mistake]]:
    """Return the content of a file checked against the schema, or its mistakes."""
    try:
        return Schema.model_validate(data), []
    except ValidationError as error:
        return None, [
            _mistake(item["type"], item["loc"], item.get("ctx", {}), item["input"]) for item in error.errors()
        ]


def _mistake(kind: str, path: KeyPath, limits: Mapping[str, Any], given: object) -> Mistake:
    """Say in this package's words what the schema misses."""
    owner = "an experiment" if len(path) < 2 else f"[[{path[0]}]]"
    if kind == "extra_forbidden":
        return Mistake(path, unknown_key(str(path[-1]), owner, list(Schema.model_fields)))
    if kind == "missing":
        what = f"[[{path[0]}]]" if path in TABLES else f"key {path[-1]!r}"
        return Mistake(path, f"missing {what} of {owner}.")
    rule = RULES[kind].format(**limits)
    name = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")
    hint = f" Write [[{path[0]}]] in double brackets." if path in TABLES and isinstance(given, dict) else ""
    return Mistake(path, f"`{name}` {rule}, but got {shown(given)}.{hint}")
