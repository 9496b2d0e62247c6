"""The keys of an experiment file, their rules, and the messages for violations."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

from orbandit.errors import Mistake
from orbandit.experiments.simulation import MAX_SEEDS
from orbandit.experiments.toml_lines import KeyPath, shown, unknown_key

MAX_HORIZON = 10**12
MAX_PER_DECADE = 1_000
MAX_STORED_SEED = 2**63 - 1
"""Largest seed, for the sake of databases."""
MAX_TIMEOUT = 1_000_000
"""Most seconds for a run."""
DEFAULT_SEEDS = 10

Broken: TypeAlias = Iterator[tuple[KeyPath, str, object]]
"""Where a rule is broken, what must be, and what is there instead."""


@dataclass(frozen=True)
class Settings:
    """The keys of a file except its tables; a number of seeds means 0, 1, ..."""

    name: str
    horizons: list[int]
    seeds: list[int]
    checkpoints: int | list[int] | None
    timeout: float | None


def check(data: dict[str, Any]) -> tuple[Settings | None, list[Mistake]]:
    """Return the settings of a file, or its mistakes.

    Of its tables, only class and name are checked.
    """
    mistakes = [Mistake((key,), unknown_key(key, "an experiment", list(RULES))) for key in data if key not in RULES]
    for key, rule in RULES.items():
        if key in data:
            mistakes += [_refused(*broken) for broken in rule((key,), data[key])]
        elif key in TABLES or key == "horizons":
            what = f"[[{key}]]" if key in TABLES else f"key {key!r}"
            mistakes.append(Mistake((key,), f"missing {what} of an experiment."))
    if not mistakes:
        mistakes = list(_horizons_beside(data["horizons"], data["agent"]))
    if mistakes:
        return None, mistakes
    seeds = data.get("seeds", DEFAULT_SEEDS)
    listed = seeds if isinstance(seeds, list) else list(range(seeds))
    name, horizons = data.get("name", ""), data["horizons"]
    return Settings(name, horizons, listed, data.get("checkpoints"), data.get("timeout")), []


def _horizons_beside(horizons: list[int], agents: list[dict[str, Any]]) -> Iterator[Mistake]:
    """Yield horizons of agents that the experiment does not have."""
    for i, table in enumerate(agents):
        for k, horizon in enumerate(table.get("horizons", [])):
            if horizon not in horizons:
                rule = f"be one of the experiment's `horizons` ({', '.join(map(str, horizons))})"
                yield _refused(("agent", i, "horizons", k), rule, horizon)


def _refused(path: KeyPath, rule: str, given: object) -> Mistake:
    if path[-1] == "class" and given is None:
        return Mistake(path, f"missing key 'class' of [[{path[0]}]].")
    name = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")
    hint = f" Write [[{name}]] in double brackets." if name in TABLES and isinstance(given, dict) else ""
    return Mistake(path, f"`{name}` must {rule}, but got {shown(given)}.{hint}")


def _text(path: KeyPath, value: object) -> Broken:
    if not isinstance(value, str):
        yield path, "be a valid string", value
    elif not value:
        yield path, "have at least 1 character", value


def _integer(path: KeyPath, value: object, low: int, high: int) -> Broken:
    if type(value) is not int:
        yield path, "be a valid integer", value
    elif value < low:
        yield path, f"be greater than or equal to {low}", value
    elif value > high:
        yield path, f"be less than or equal to {high}", value


def _items(path: KeyPath, value: object, rule: Callable[[KeyPath, Any], Broken]) -> Broken:
    if not isinstance(value, list):
        yield path, "be a valid list", value
    elif not value:
        yield path, "have at least 1 item", value
    else:
        for i, item in enumerate(value):
            yield from rule((*path, i), item)


def _integers(path: KeyPath, value: Any, low: int, high: int) -> Broken:
    broken = list(_items(path, value, partial(_integer, low=low, high=high)))
    yield from broken
    if not broken and len(set(value)) < len(value):
        twice = next(one for i, one in enumerate(value) if one in value[:i])
        yield path, f"all be different ({twice} appears twice)", value


def _count_or_list(path: KeyPath, value: object, what: str, most: int, items: str, low: int, high: int) -> Broken:
    if isinstance(value, list):
        yield from _integers(path, value, low, high)
    elif type(value) is not int or not 1 <= value <= most:
        yield path, f"be a whole number of {what}, from 1 to {most:,}, or a list of {items}", value


def _timeout(path: KeyPath, value: object) -> Broken:
    if not isinstance(value, int | float) or isinstance(value, bool):
        yield path, "be a valid number", value
    elif not value > 0:
        yield path, "be greater than 0", value
    elif value > MAX_TIMEOUT:
        yield path, f"be less than or equal to {MAX_TIMEOUT}", value


def _table(path: KeyPath, value: object) -> Broken:
    if not isinstance(value, dict):
        yield path, "be a table", value
        return
    yield from _text((*path, "class"), value.get("class"))
    if "name" in value:
        yield from _text((*path, "name"), value["name"])


def _agent(path: KeyPath, value: object) -> Broken:
    yield from _table(path, value)
    if isinstance(value, dict) and "horizons" in value:
        yield from HORIZONS((*path, "horizons"), value["horizons"])


HORIZONS = partial(_integers, low=1, high=MAX_HORIZON)

TABLES = ("problem", "agent")
"""What is written in double brackets."""

RULES: dict[str, Callable[[KeyPath, Any], Broken]] = {
    "name": _text,
    "horizons": HORIZONS,
    "seeds": partial(_count_or_list, what="runs", most=MAX_SEEDS, items="seeds", low=0, high=MAX_STORED_SEED),
    "checkpoints": partial(
        _count_or_list,
        what="rounds in each factor of ten",
        most=MAX_PER_DECADE,
        items="rounds",
        low=1,
        high=MAX_HORIZON,
    ),
    "timeout": _timeout,
    "problem": partial(_items, rule=_table),
    "agent": partial(_items, rule=_agent),
}
"""What each key must be, in the order in which they are told."""
