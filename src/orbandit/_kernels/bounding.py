"""Branch and bound on a sum of Matern-5/2 bumps: boxes are halved until f, -f or its slopes are below ceilings there.

With the sums of `matern.expand`, f at c + x in a box with middle c, half-sides s and r = ||s|| is
at most

    f(c) + g.x + x'(8 U - a I / 3) x / 2 + 4 x.x (u.x) + t (x.x)^2,

U, u and t being the matrix, vector and total of the weights from above; -f is bounded with those
from below, and

    ||grad f(c + x)|| <= ||g + H x|| + 12 r^2 ||u|| + 4 |t| r^3 + 2 (4 x'V x + 4 x.x (v.x) + t' (x.x)^2)

by the weights for slopes. Near a summit bounds of boxes are too loose to close them, in six
dimensions for thousands of boxes. But within some radius of it f is concave, and so below its
tangent plane: the height of that closes them.

Bumps far from a box hardly matter in it: a list of those that do is made when the box has shrunk,
and what the others may add is added to all bounds. Lists are stacked like the boxes.
"""

from typing import NamedTuple

import numpy as np

from orbandit._kernels.compiled import FloatArray, IndexArray, compiled
from orbandit._kernels.matern import LANES, SLOPES, Bumps, Room, add_expansion, bump_polynomial, exp_minus

PROVED, SPENT, FULL, BETTER = 0, 1, 2, 3
RESERVE = 0.5
"""The part of what may still be dropped that one more list may drop."""
SHORTER = 0.75
"""A list is made when the box has shrunk by this since the last, and kept if it is shorter by
this."""
HARD = 0.1
"""A box whose bound is further above its ceiling, in units of the way from the middle to the
ceiling, is quartered."""
OVERHEAD = 8
"""What a box costs apart from its bumps, in blocks of them."""


class Region(NamedTuple):
    """Where to look: normals @ x <= offsets, and ||x[part] - center|| <= radius.

    The first `walls[0]` normals bound the space, the others the domain. Rows of `rounds` are
    (center, radius), those of `parts` the first coordinate and the one behind the last.
    """

    normals: FloatArray
    offsets: FloatArray
    walls: IndexArray
    rounds: FloatArray
    parts: IndexArray


class Stack(NamedTuple):
    """Boxes to look at: middles and half-sides, and bounds of f, -f and slopes that are known.

    `lists` has the first block of the bumps that matter there and the one behind the last; `notes`
    has what the others add at most, and the radius of the box for which the list was made.
    """

    boxes: FloatArray
    bounds: FloatArray
    lists: IndexArray
    notes: FloatArray


class Task(NamedTuple):
    """A function on a region, and what is known of it.

    Behind the bumps there is room for lists of them. Rows of `tops` are summits of f and -f: a
    point, a radius within which nothing is above a height, and the height. `reached` has the
    largest f, -f and slope found.
    """

    bumps: Bumps
    region: Region
    tops: FloatArray
    reached: FloatArray
    room: Room


def box_stack(boxes: FloatArray, bounds: FloatArray, blocks: int) -> Stack:
    """Return a stack of boxes where all blocks matter, with room for halves down to 1e-15 of their size."""
    count, _, dim = boxes.shape
    size = count + 100 * dim
    stack = Stack(
        np.zeros((size, 2, dim)), np.zeros((size, 3)), np.zeros((size, 2), dtype=np.int64), np.zeros((size, 2))
    )
    stack.boxes[:count], stack.bounds[:count] = boxes, bounds
    stack.lists[:count, 1], stack.notes[:count, 1] = blocks, np.inf
    return stack


@compiled
def is_outside(region: Region, middle: FloatArray, sides: FloatArray, walls: int) -> bool:
    """Tell whether some face shows that a box lies outside."""
    for i in range(walls):
        nearest = -region.offsets[i]
        for k in range(len(middle)):
            nearest += region.normals[i, k] * middle[k] - abs(region.normals[i, k]) * sides[k]
        if nearest > 0.0:
            return True
    for i in range(len(region.parts)):
        squared = 0.0
        for k in range(region.parts[i, 0], region.parts[i, 1]):
            gap = max(abs(middle[k] - region.rounds[i, k]) - sides[k], 0.0)
            squared += gap * gap
        if squared > region.rounds[i, len(middle)] ** 2:
            return True
    return False


@compiled
def largest_eigenvalue(matrix: FloatArray, factor: float, shift: float) -> float:
    """Return a bound of the largest eigenvalue of factor M + shift I by mean and spread (Wolkowicz and Styan 1980)."""
    d = len(matrix)
    mean, squares = 0.0, 0.0
    for k in range(d):
        mean += matrix[k, k] / d
        for j in range(d):
            squares += matrix[k, j] ** 2
    spread = np.sqrt(max(squares - d * mean * mean, 0.0) * (d - 1.0) / d)
    return float(shift + factor * mean + abs(factor) * spread)


@compiled
def value_bound(room: Room, sides: FloatArray, radius: float, sign: float) -> float:
    """Return a bound of sign * f in a box."""
    which = 0 if sign > 0.0 else 1
    matrix, vector, total = room.matrices[which], room.vectors[1 + which], sign * room.totals[2 + which]
    around = -sign * room.totals[1] / 3.0
    apart, together, cubic = 0.0, 0.0, 0.0
    for k in range(len(sides)):
        # |2 M_kj x_k x_j| <= |M_kj| (x_k^2 + x_j^2): then the coordinates are apart, and a parabola
        # is left in each.
        bend = around + 8.0 * (sign * matrix[k, k] - abs(matrix[k, k]))
        for j in range(len(sides)):
            bend += 8.0 * abs(matrix[k, j])
        slope = abs(room.vectors[0, k]) / 3.0
        way = sides[k] if slope >= -bend * sides[k] else slope / -bend
        apart += slope * way + bend * way * way / 2.0
        together += slope * sides[k]
        cubic += abs(vector[k]) * sides[k]
    squared = radius * radius
    together += max(largest_eigenvalue(matrix, 8.0 * sign, around), 0.0) * squared / 2.0
    return float(
        sign * room.totals[0] + min(apart, together) + 4.0 * squared * cubic + max(total, 0.0) * squared * squared
    )


@compiled
def slope_bound(room: Room, sides: FloatArray, radius: float) -> float:
    """Return a bound of the slopes in a box, where ||g + H x||^2 = g.g + 2 (H g).x + x'H^2 x."""
    matrix, around, squared = room.matrices[0], -room.totals[1] / 3.0, radius * radius
    norm = max(largest_eigenvalue(matrix, 8.0, around), largest_eigenvalue(matrix, -8.0, -around))
    linear, cubic, turns = (norm * radius) ** 2, 0.0, 0.0
    for k in range(len(sides)):
        slope = -room.vectors[0, k] / 3.0
        turned = around * slope
        for j in range(len(sides)):
            turned -= 8.0 * matrix[k, j] * room.vectors[0, j] / 3.0
        linear += slope * slope + 2.0 * abs(turned) * sides[k]
        cubic += room.vectors[1, k] ** 2
        turns += abs(room.vectors[2, k]) * sides[k]
    twist = 4.0 * largest_eigenvalue(room.matrices[1], 1.0, 0.0) * squared
    twist += 4.0 * squared * turns + room.totals[3] * squared * squared
    return float(
        np.sqrt(linear) + 12.0 * squared * np.sqrt(cubic) + 4.0 * abs(room.totals[2]) * squared * radius + 2.0 * twist
    )


@compiled
def copy_relevant_bumps(
    middle: FloatArray, sides: FloatArray, bumps: Bumps, start: int, stop: int, allowed: float, room: Room
) -> tuple[int, float]:
    """Copy the bumps that matter in a box behind the others; return the end of the copy, and what is left out.

    In the box, all that is left out adds at most that to |f|, and to its slope: |dk/dz| <= k.
    """
    places, weights, squares, d = bumps.places, bumps.weights, room.z, len(middle)
    small = 8.0 * allowed / (LANES * (stop - start))
    block, place, left_out = stop - 1, LANES, 0.0
    for b in range(start, stop):
        squares[0] = 0.0
        for k in range(d):
            for lane in range(LANES):
                gap = max(abs(middle[k] - places[b, k, lane]) - sides[k], 0.0)
                squares[0, lane] += gap * gap
        for lane in range(LANES):
            z = np.sqrt(squares[0, lane])
            squares[1, lane] = abs(weights[b, lane]) * bump_polynomial(z) * exp_minus(z)
        for lane in range(LANES):
            most = squares[1, lane]
            if most <= small and left_out + most <= allowed:
                left_out += most
                continue
            if place == LANES:
                block, place = block + 1, 0
                weights[block] = 0.0
                places[block] = 0.0
            weights[block, place] = weights[b, lane]
            for k in range(d):
                places[block, k, place] = places[b, k, lane]
            place += 1
    return block + 1, left_out


@compiled
def halve_box(stack: Stack, at: int, to: int, room: Room) -> None:
    """Put the halves of a box into its place and another."""
    middle, sides = stack.boxes[at, 0], stack.boxes[at, 1]
    # The longest sides count most in the remainder; among them, the one along which f changes most.
    which, most, longest = 0, -1.0, sides.max()
    for k in range(len(sides)):
        bend = abs(8.0 * room.matrices[0, k, k] - room.totals[1] / 3.0)
        change = abs(room.vectors[0, k]) / 3.0 * sides[k] + bend * sides[k] ** 2
        if sides[k] >= 0.75 * longest and change > most:
            which, most = k, change
    sides[which] /= 2.0
    stack.boxes[to] = stack.boxes[at]
    stack.bounds[to] = stack.bounds[at]
    stack.lists[to] = stack.lists[at]
    stack.notes[to] = stack.notes[at]
    middle[which] -= sides[which]
    stack.boxes[to, 0, which] += sides[which]


@compiled
def is_far_above(room: Room, bounds: FloatArray, ceilings: FloatArray) -> bool:
    """Tell whether a bound is so far above its ceiling that halves of the box will not do."""
    slope = np.sqrt((room.vectors[0] ** 2).sum()) / 3.0
    return bool(
        bounds[0] - ceilings[0] > HARD * (ceilings[0] - room.totals[0])
        or bounds[1] - ceilings[1] > HARD * (ceilings[1] + room.totals[0])
        or bounds[2] - ceilings[2] > HARD * (ceilings[2] - slope)
    )


@compiled
def tighten_bounds(task: Task, stack: Stack, at: int, purpose: int, droppable: float) -> int:
    """Improve the bounds of f and -f, or of slopes, in a box; return the work."""
    room, bumps = task.room, task.bumps
    middle, sides, bounds, notes = stack.boxes[at, 0], stack.boxes[at, 1], stack.bounds[at], stack.notes[at]
    start, stop = stack.lists[at, 0], stack.lists[at, 1]
    d, radius, work = len(middle), np.sqrt((sides * sides).sum()), OVERHEAD
    if stop - start > 1 and radius <= SHORTER * notes[1]:
        end, left_out = copy_relevant_bumps(middle, sides, bumps, start, stop, RESERVE * (droppable - notes[0]), room)
        work += (stop - start) // 4
        notes[1] = radius
        if end - stop <= SHORTER * (stop - start):
            start, stop = stop, end
            stack.lists[at, 0], stack.lists[at, 1] = start, stop
            notes[0] += left_out
    add_expansion(middle, sides, bumps, start, stop, purpose, room)
    if purpose == SLOPES:
        bounds[2] = min(bounds[2], slope_bound(room, sides, radius) + notes[0])
    else:
        for goal in range(2):
            bounds[goal] = min(bounds[goal], value_bound(room, sides, radius, 1.0 - 2.0 * goal) + notes[0])
            away = np.sqrt(((middle - task.tops[goal, :d]) ** 2).sum()) + radius
            if away <= task.tops[goal, d]:
                bounds[goal] = min(bounds[goal], task.tops[goal, d + 1])
    return int(work + stop - start)


@compiled
def bound_by_halving(
    task: Task,
    stack: Stack,
    size: int,
    purpose: int,
    ceilings: FloatArray,
    droppable: float,
    budget: int,
    boxes: FloatArray,
    bounds: FloatArray,
) -> tuple[int, int, int, int]:
    """Halve the boxes on the stack until their bounds are below the ceilings; write the parts and their bounds.

    Returns the outcome, how many boxes are left on the stack, how many were written, and the work:
    PROVED; SPENT, if the work is more than the budget; FULL, if there is no room for more; or
    BETTER, if in the middle of the last box on the stack f or -f is above what was `reached`.
    Steeper slopes than reached are noted there.
    """
    region, room, reached = task.region, task.room, task.reached
    count, work, point = 0, 0, np.zeros(stack.boxes.shape[2])
    while size > 0:
        at = size - 1
        middle, sides = stack.boxes[at, 0], stack.boxes[at, 1]
        if is_outside(region, middle, sides, len(region.offsets)):
            size -= 1
            continue
        if work > budget or size + 3 > len(stack.boxes):
            return SPENT, size, count, work
        if count == len(bounds):
            return FULL, size, count, work
        work += tighten_bounds(task, stack, at, purpose, droppable)
        if not is_outside(region, middle, point, region.walls[0]):
            rest = stack.notes[at, 0]
            reached[2] = max(reached[2], np.sqrt((room.vectors[0] ** 2).sum()) / 3.0 - rest)
            for goal in range(2):
                more = room.totals[0] * (1.0 - 2.0 * goal) - reached[goal] - rest
                if more > 1e-6 * (ceilings[goal] - reached[goal]):
                    return BETTER, size, count, work
        if (stack.bounds[at] <= ceilings).all():
            boxes[count] = stack.boxes[at]
            bounds[count] = stack.bounds[at]
            count += 1
            size -= 1
            continue
        hard = is_far_above(room, stack.bounds[at], ceilings)
        halve_box(stack, at, at + 1, room)
        size += 1
        if hard:
            halve_box(stack, at, at + 2, room)
            halve_box(stack, at + 1, at + 3, room)
            size += 2
    return PROVED, size, count, work
