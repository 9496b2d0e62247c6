"""suggest_symmetry: the symmetry found in the trials of a study, by the names of parameters.

The complete trials are points of the unit cube, and `find_symmetry` searches for permutations and
reflections of its axes; only parameters with equal distributions may be exchanged. Names that end
in numbers (x1, y1, x2, y2) are read as units. The result is `exchangeable`, `mirrored` and `ring`
if these generate the same group, and `group` and `parameters` otherwise.
"""

import re
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.study import Study
from optuna.trial import TrialState

from orbandit.errors import InputError
from orbandit.integrations.optuna.coordinates import Coordinates, Number, is_number
from orbandit.integrations.optuna.symmetry import Symmetry
from orbandit.spaces import Box
from orbandit.symmetry.candidates import Candidate, Layout, default_candidates
from orbandit.symmetry.find import MIN_POINTS, FoundSymmetry, find_symmetry
from orbandit.symmetry.naming import named_group
from orbandit.symmetry.pooling import Pool


@final
@dataclass(frozen=True)
class SuggestedSymmetry:
    """The symmetry of a study; true in a condition if there is one.

    Attributes
    ----------
    arguments : dict
        What to pass to `OrbitSampler`: `OrbitSampler(**suggestion.arguments)`. Empty if no symmetry
        was found.
    report : FoundSymmetry
        The evidence, in the names of parameters; its points and its group are of the unit cube.
    """

    arguments: dict[str, Any]
    report: FoundSymmetry

    def __bool__(self) -> bool:
        return bool(self.arguments)

    def __str__(self) -> str:
        said = ", ".join(f"{word}={value!r}" for word, value in self.arguments.items())
        return f"{f'OrbitSampler({said})' if self else 'no symmetry found'}\n{self.report}"


def suggest_symmetry(study: Study) -> SuggestedSymmetry:
    """Return the symmetry found in a study's complete trials.

    See `OrbitSampler.suggest_symmetry`.
    """
    trials = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    numbers = _numbers([trial.distributions for trial in trials])
    cube, names = Coordinates(numbers), list(numbers)
    if len(trials) < MIN_POINTS or not names:
        raise InputError(
            f"a symmetry is found from at least {MIN_POINTS} complete trials that have a number in common, but "
            f"{study.study_name!r} has {len(trials)} with {names or 'none'}; run more trials."
        )
    told = [(cube.point(trial.params), trial.value) for trial in trials]
    kept = [(point, value) for point, value in told if point is not None and value is not None and np.isfinite(value)]
    points, values = np.array([point for point, _ in kept]), np.array([value for _, value in kept])
    candidates = _candidates(numbers)
    report = find_symmetry(points, values, Box(0.0, 1.0, dim=len(names)), candidates)
    held = [row.generators for row in report.accepted]
    return SuggestedSymmetry(_arguments(Pool(np.concatenate(held)), numbers) if held else {}, report)


def _numbers(distributions: list[dict[str, BaseDistribution]]) -> dict[str, Number]:
    """Return the numbers that all trials have with one distribution."""
    found: dict[str, Number] = {}
    for name, distribution in (distributions[-1] if distributions else {}).items():
        if is_number(distribution) and all(one.get(name) == distribution for one in distributions):
            found[name] = distribution
    return found


def _candidates(numbers: dict[str, Number]) -> dict[str, Any]:
    """Return what permutes parameters of one distribution, and mirrors them, by what it does."""
    names, kinds = list(numbers), list(numbers.values())
    found = default_candidates(Box(0.0, 1.0, dim=len(names)), names, _units(names))

    def is_possible(candidate: Candidate) -> bool:
        _, places, sources = np.nonzero(np.abs(candidate.generators) > 1e-9)
        return all(kinds[i] == kinds[j] for i, j in zip(places, sources, strict=True))

    return {candidate.name: candidate.generators[0] for candidate in found if is_possible(candidate)}


def _units(names: list[str]) -> list[Layout]:
    """Return the units that names with numbers at their ends are of: x1 y1 and x2 y2."""
    places: dict[str, dict[str, int]] = {}  # by number and stem
    for i, name in enumerate(names):
        parts = re.fullmatch(r"(.*?)(\d+)", name)
        if parts:
            places.setdefault(parts[2], {})[parts[1]] = i
    layouts = []
    for stems in dict.fromkeys(tuple(sorted(unit)) for unit in places.values()):
        units = [[unit[stem] for stem in stems] for unit in places.values() if tuple(sorted(unit)) == stems]
        if len(units) > 1 and len(stems) > 1:
            layouts.append(np.array(sorted(units), dtype=np.intp))
    return layouts


def _arguments(pool: Pool, numbers: dict[str, Number]) -> dict[str, Any]:
    """Return the arguments of `OrbitSampler` that make the group of a pool."""
    names = list(numbers)
    for layout in (np.arange(len(names))[:, None], *_layouts(names)):
        said = _said(pool, layout, names)
        if said and _makes(said, pool, names):
            return said
    ends = np.array([[numbers[name].low, numbers[name].high] for name in names], dtype=float)
    logarithmic = [numbers[name].log for name in names]
    ends[logarithmic] = np.log(ends[logarithmic])
    return {"group": named_group(pool, ends.mean(axis=1)), "parameters": names}


def _layouts(names: list[str]) -> list[Layout]:
    """Return all ways to see the parameters as units of several."""
    dim = len(names)
    blocks = [np.arange(dim).reshape(-1, s) for s in range(2, dim // 2 + 1) if dim % s == 0]
    return [*_units(names), *blocks, *(units.reshape(units.shape[::-1]).T for units in blocks)]


def _said(pool: Pool, layout: Layout, names: list[str]) -> dict[str, Any]:
    """Return `exchangeable`, `ring` and `mirrored` as far as they hold for units of a layout, and for single ones."""
    singles = np.arange(len(names))[:, None]
    sets, taken = list[Any](), set[int]()
    for units in (layout, singles) if len(layout) < len(names) else (singles,):
        for some in _classes(pool, units):
            if not taken & set(some.ravel().tolist()):
                taken |= set(some.ravel().tolist())
                sets.append([[names[i] for i in unit] if len(unit) > 1 else names[unit[0]] for unit in some])
    said: dict[str, Any] = {"exchangeable": sets[0] if len(sets) == 1 else sets} if sets else {}
    shift = np.eye(len(names))
    shift[layout.ravel()] = np.eye(len(names))[np.roll(layout, -1, axis=0).ravel()]
    if not taken & set(layout.ravel().tolist()) and len(layout) > 2 and pool.contains(shift[None])[0]:
        said["ring"] = [[names[i] for i in unit] if len(unit) > 1 else names[unit[0]] for unit in layout]
    mirrors = np.eye(len(names)) - 2 * np.eye(len(names))[:, :, None] * np.eye(len(names))[:, None]
    mirrored = [name for name, holds in zip(names, pool.contains(mirrors), strict=True) if holds]
    return said | ({"mirrored": mirrored} if mirrored else {})


def _classes(pool: Pool, units: Layout) -> list[Layout]:
    """Return the units that may be exchanged, by classes of two or more."""
    left, found = list(range(len(units))), []
    while left:
        first, alike = left[0], [left[0]]
        for other in left[1:]:
            swap = np.eye(pool.dim)
            both = [*units[first], *units[other]]
            swap[both] = np.eye(pool.dim)[[*units[other], *units[first]]]
            alike += [other] * bool(pool.contains(swap[None])[0])
        left = [i for i in left if i not in alike]
        if len(alike) > 1:
            found.append(units[alike])
    return found


def _makes(said: dict[str, Any], pool: Pool, names: list[str]) -> bool:
    """Return whether arguments generate the group of a pool."""
    symmetry = Symmetry(**said)
    group = symmetry.group(plain=0)
    if group is None or group.order != pool.order:
        return False
    places = [names.index(name) for name in symmetry.names]
    whole = np.repeat(np.eye(len(names))[None], len(group.generators), axis=0)
    whole[:, np.array(places)[:, None], places] = group.generators
    return bool(pool.contains(whole).all())
