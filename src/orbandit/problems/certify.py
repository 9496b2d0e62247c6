"""Certificates: proved bounds on the values and slopes of a sum of Matern-5/2 bumps on a space.

Local search gives bounds from one side, branch and bound on boxes from the other. All boxes are
first bounded by a high ceiling, then by lower ones, until the ceiling is within the tolerance of
the best value found, or the budget is spent; the bound proved by then is returned. Boxes that miss
the space or the interior of the group's domain are dropped: the closure of the rest holds a
representative of every orbit.

The proof is up to the rounding of sums: a billionth of the range is added for it, and 1e-13 of all
weights.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np

from orbandit._checks import Array
from orbandit._kernels import bounding, matern
from orbandit._kernels.matern import LANES, SLOPES, VALUES
from orbandit.groups import Domain
from orbandit.spaces import Space

HIGH_CEILING, LOWER = 64.0, 2.0
"""Height of the first ceiling above the best value found, in ranges, and the factor between
ceilings."""
DROPPED = 0.25
"""Bumps far from a box are left out of its sums while they add at most this fraction of the slack
to the ceiling."""
FOR_VALUES = 0.5
"""The fraction of the budget for values; the rest is for slopes."""
LEAVES = 20_000
CLIMBS, STEPS = 8, 60
ROUNDING, PRECISION = 1e-9, 1e-13


@final
class BumpSum:
    """The function f(x) = sum_j w_j k(||x - p_j||), with k(r) = (1 + z + z^2 / 3) exp(-z) and z = sqrt(5) r / l.

    Parameters
    ----------
    places : (n, dim) array
        The centres p_j of the bumps.
    weights : (n,) array
        Their heights w_j.
    length_scale : float
        The length scale l.
    """

    def __init__(self, places: Array, weights: Array, length_scale: float) -> None:
        count, dim = places.shape
        blocks = -(-count // LANES)
        padded, heights = np.zeros((blocks * LANES, dim)), np.zeros(blocks * LANES)
        self.scale = math.sqrt(5.0) / length_scale
        padded[:count], heights[:count] = places * self.scale, weights
        lanes = np.ascontiguousarray(padded.reshape(blocks, LANES, dim).transpose(0, 2, 1))
        self.bumps = matern.Bumps(lanes, heights.reshape(blocks, LANES))

    def __call__(self, points: Array) -> Array:
        """Return f at each point."""
        values = np.empty(len(points))
        matern.sum_of_bumps(points * self.scale, self.bumps, values)
        return values

    def derivatives(self, points: Array) -> tuple[Array, Array, Array]:
        """Return f, its gradient and its Hessian at each point."""
        count, dim = points.shape
        values, gradients, hessians = np.empty(count), np.empty((count, dim)), np.empty((count, dim, dim))
        room, sides, blocks = matern.expansion_room(dim), np.zeros(dim), len(self.bumps.places)
        for i, point in enumerate(points * self.scale):
            matern.add_expansion(point, sides, self.bumps, 0, blocks, SLOPES, room)
            values[i], gradients[i] = room.totals[0], room.vectors[0] * (-self.scale / 3)
            hessians[i] = (8 * room.matrices[0] - np.eye(dim) * room.totals[1] / 3) * self.scale**2
        return values, gradients, hessians

    def jolt(self, point: Array, radius: float) -> float:
        """Return a bound of the norm of the third derivative within a radius of a point."""
        return matern.third_derivative_bound(point * self.scale, radius * self.scale, self.bumps) * self.scale**3


class Summit(NamedTuple):
    """The highest point found, its value, and a radius within which nothing in the space is above `height`."""

    point: Array
    value: float
    radius: float
    height: float


@final
@dataclass(frozen=True)
class Certificate:
    """Bounds of f on the space: low <= f <= high, and no slope is above `slope`.

    Attributes
    ----------
    highest, lowest : Summit
        The best points found for f and -f.
    high, low, slope : float
        The bounds proved.
    steepest : float
        The steepest slope found.
    """

    highest: Summit
    lowest: Summit
    high: float
    low: float
    slope: float
    steepest: float


def ascend(function: BumpSum, space: Space, starts: Array, sign: float = 1.0) -> tuple[Array, float]:
    """Maximise sign * f locally from the best of some starts, by gradient and Newton steps."""
    points = space.project(starts)
    points = points[np.argsort(-sign * function(points))[:CLIMBS]]
    values, gradients, hessians = (sign * part for part in function.derivatives(points))
    along = 0.1 * space.diameter / np.maximum(np.linalg.norm(gradients, axis=1), 1e-300)
    steps = np.stack([along, np.ones(len(points))])
    rows = np.arange(len(points))
    for _ in range(STEPS):
        # Newton's step, turned uphill along directions in which f is convex.
        bends, axes = np.linalg.eigh(hessians)
        bends = np.maximum(np.abs(bends), 1e-6 * np.abs(bends).max(axis=1, keepdims=True) + 1e-300)
        newton = np.einsum("nij,nj->ni", axes, np.einsum("nij,ni->nj", axes, gradients) / bends)
        moves = steps[:, :, None] * np.stack([gradients, newton])
        proposals = space.project((points + moves).reshape(-1, space.dim))
        found = function(proposals).reshape(2, -1) * sign
        better, which = np.greater(found, values), found.argmax(axis=0)
        steps = np.where(better, 1.5, 0.3) * steps
        steps[1] = np.minimum(steps[1], 1.0)
        moved = better[0] | better[1]
        if not moved.any() and steps[1].max() < 1e-6:
            break
        points = np.where(moved[:, None], proposals.reshape(2, -1, space.dim)[which, rows], points)
        values[moved], gradients[moved], hessians[moved] = (sign * part for part in function.derivatives(points[moved]))
    best = int(values.argmax())
    return points[best], float(values[best])


def summit(function: BumpSum, space: Space, point: Array, sign: float) -> Summit:
    """Return the summit of sign * f at a point, with the largest radius found within which sign * f is concave.

    Where it is, sign * f is below its tangent plane, and the space says how far that rises.
    """
    (value,), gradient, hessian = (sign * part for part in function.derivatives(point[None]))
    bend = np.linalg.eigvalsh(hessian[0])[-1]
    for radius in space.diameter * 2.0 ** -np.arange(0.0, 16.0, 0.5):
        if bend + radius * function.jolt(point, radius) <= 0:
            rise = float(space.support(gradient)[0] - gradient[0] @ point)
            return Summit(point, float(value), float(radius), float(value) + max(rise, 0.0))
    return Summit(point, float(value), 0.0, float(value))


def certify(
    function: BumpSum,
    space: Space,
    domain: Domain | None,
    starts: Array,
    *,
    tolerance: float,
    slope_tolerance: float,
    budget: int,
) -> Certificate:
    """Bound a sum of bumps and its slopes on a space.

    Parameters
    ----------
    function : BumpSum
        The function to bound.
    space : Space
        The space.
    domain : Domain or None
        The fundamental domain of a group under which the function is invariant.
    starts : (k, dim) array
        Starts of the local search.
    tolerance : float
        Largest gap between the bounds of f and the values found, in units of their range.
    slope_tolerance : float
        The same for slopes, in units of the steepest found.
    budget : int
        About how many evaluations of a bump are allowed; one takes some 20 nanoseconds in six
        dimensions.
    """
    proof = _Proof(function, space, domain, starts)
    spent = proof.lower(VALUES, tolerance, int(FOR_VALUES * budget) // LANES)
    proof.lower(SLOPES, slope_tolerance, budget // LANES - spent)
    high, deep, slope = proof.bounds
    rounding = ROUNDING * (high + deep) + PRECISION * float(np.abs(function.bumps.weights).sum())
    return Certificate(
        proof.summits[0],
        proof.summits[1],
        high + rounding,
        -deep - rounding,
        slope * function.scale * (1 + ROUNDING),
        float(proof.task.reached[2]) * function.scale,
    )


class _Proof:
    """Bounds of f, -f and slopes in boxes that cover a space, in units of length in which l is sqrt(5)."""

    def __init__(self, function: BumpSum, space: Space, domain: Domain | None, starts: Array) -> None:
        self.function, self.space = function, space
        self.summits = [summit(function, space, ascend(function, space, starts, s)[0], s) for s in (1.0, -1.0)]
        slopes = np.linalg.norm(function.derivatives(starts)[1], axis=1) / function.scale
        reached = np.array([self.summits[0].value, self.summits[1].value, slopes.max()])
        bumps = function.bumps
        self.blocks = len(bumps.places)
        # lists shrink by a quarter at least, and one is tried in vain
        room = ((0, 4 * self.blocks + 64), (0, 0))
        behind = matern.Bumps(np.pad(bumps.places, (*room, (0, 0))), np.pad(bumps.weights, room))
        region = _region(space, domain, function.scale)
        tops = np.array([self._top(top) for top in self.summits])
        self.task = bounding.Task(behind, region, tops, reached, matern.expansion_room(space.dim))
        heights = bumps.weights
        # A bump is at most 1 high, and 0.28 steep: at z (1 + z) exp(-z) / 3 for the golden ratio z.
        self.bounds = [
            float(np.maximum(heights, 0.0).sum()),
            float(np.maximum(-heights, 0.0).sum()),
            0.28 * float(np.abs(heights).sum()),
        ]

    def _top(self, top: Summit) -> Array:
        scale = self.function.scale
        return np.array([*(top.point * scale), top.radius * scale, top.height])

    def lower(self, purpose: int, tolerance: float, budget: int) -> int:
        """Lower the ceilings of values or slopes until the tolerance is reached; return the work."""
        low, high = self.space.bounds
        boxes = np.array([[low + high, high - low]]) * self.function.scale / 2
        bounds, work, above = np.array([self.bounds]), 0, max(HIGH_CEILING, tolerance)
        while True:
            outcome, boxes, bounds, more = self._below(above, purpose, budget - work, boxes, bounds)
            work += more
            self.bounds = bounds.max(axis=0).tolist()
            if outcome == bounding.SPENT or above == tolerance:
                return work
            above = max(above / LOWER, tolerance)

    def _below(
        self, above: float, purpose: int, budget: int, boxes: Array, bounds: Array
    ) -> tuple[int, Array, Array, int]:
        """Split boxes until their bounds are below a ceiling.

        Return the outcome, parts and work.
        """
        work, closed, dim = 0, [], self.space.dim
        while True:
            reached = self.task.reached
            way = above * (reached[2] if purpose == SLOPES else reached[0] + reached[1])
            asked = np.array([purpose == VALUES, purpose == VALUES, purpose == SLOPES])
            ceilings = np.where(asked, reached + way, np.inf)
            still = (bounds > ceilings).any(axis=1)
            closed.append((boxes[~still], bounds[~still]))
            stack = bounding.box_stack(boxes[still], bounds[still], self.blocks)
            parts, limits = np.empty((LEAVES, 2, dim)), np.empty((LEAVES, 3))
            outcome, size, count, more = bounding.bound_by_halving(
                self.task, stack, int(still.sum()), purpose, ceilings, DROPPED * way, budget - work, parts, limits
            )
            work += more
            closed.append((parts[:count], limits[:count]))
            boxes, bounds = stack.boxes[:size].copy(), stack.bounds[:size].copy()
            if outcome in (bounding.PROVED, bounding.SPENT):
                every = zip(*closed, (boxes, bounds), strict=True)
                boxes, bounds = (np.concatenate(part) for part in every)
                return outcome, boxes, bounds, work
            if outcome == bounding.BETTER:
                self._climb(stack.boxes[size - 1, 0] / self.function.scale)

    def _climb(self, point: Array) -> None:
        """Climb from a point that is higher or lower than all before."""
        for goal, sign in enumerate((1.0, -1.0)):
            end, value = ascend(self.function, self.space, point[None], sign)
            if value > self.task.reached[goal]:
                self.summits[goal] = summit(self.function, self.space, end, sign)
                self.task.tops[goal], self.task.reached[goal] = self._top(self.summits[goal]), value


def _region(space: Space, domain: Domain | None, scale: float) -> bounding.Region:
    """Return the space and the domain in scaled coordinates; walls of the domain are moved inwards by rounding.

    The boxes of a grid that the walls pass between touch the domain from outside. They are not
    needed.
    """
    normals, offsets = space.halfspaces()
    walls = len(normals)
    offsets = offsets + space.tolerance * np.linalg.norm(normals, axis=1)
    if domain is not None:
        size = np.abs(space.bounds).max()
        normals = np.concatenate([normals, -domain.normals])
        offsets = np.concatenate([offsets, -domain.normals @ domain.center - 1e-12 * size])
    parts = space.ball_constraints()
    rounds, ranges = np.zeros((len(parts), space.dim + 1)), np.zeros((len(parts), 2), dtype=np.int64)
    for i, (part, center, radius) in enumerate(parts):
        rounds[i, part], rounds[i, -1] = center * scale, (radius + space.tolerance) * scale
        ranges[i] = part.start, part.stop
    return bounding.Region(np.ascontiguousarray(normals), offsets * scale, np.array([walls]), rounds, ranges)
