"""OrbitTree on cells: what the rewards near a cell say of it, when to divide it, and which to play.

Kriging. Differences of the mean reward f are Gaussian with the variogram of a Matern-3/2 field, in units where the
Lipschitz constant is 1 (r is the distance times `pool[SCALE]`):

    q(r) = E (f(x) - f(y))^2 = 2/3 (c l)^2 (1 - (1 + z) exp(-z)),   z = sqrt(3) r / l,   so that q(r) ~ (c r)^2

Cells i with rewards have means y_i with noise v_i, at the means x_i of the places the rewards are of: the point of the
cell, unless rewards of other points in it were told. About a place o, q_i = q(|x_i - o|) and q_ij = q(|x_i - x_j|),

    y_i = f(o) + e_i,   cov(e_i, e_j) = (q_i + q_j - q_ij) / 2 + v_i [i = j] =: S

so that f(o) has precision p = 1' S^-1 1 + 4 and mean (1' S^-1 y + 4 / 2) / p, where f(o) ~ N(1/2, 1/4) beforehand. The
cells are the NEIGHBORS with the least q_i + v_i, found in the tree by boxes about the rewards below each cell.

Noise. Rewards in [0, 1] with mean m have a variance of at most m (1 - m): of this they have a fraction that is pooled
over all cells. v_i is that fraction of m (1 - m), for m the mean with a few rewards of 0 and 1 added, over the visits.

Keys. An estimate changes with every reward nearby, so keys are computed when they are wanted: `pool[NOW]` counts the
changes, and a cell whose key leads is judged again unless it was JUDGED since the last. Visits that change a cell by
less than a few percent do not count as changes.
"""

from typing import NamedTuple

import numpy as np

from orbandit._kernels.compiled import FloatArray, IndexArray, compiled
from orbandit._kernels.tournament import HeadArray, set_key

SUM, COUNT, PENDING, SQUARES, FOREIGN, BELIEF, VALUE, NOISE, SPREAD, DUE, JUDGED, CEILING = range(12)
"""Columns of `stats`: sums and counts of rewards, asks pending, sums of squares, rewards of other points than the
cell's own, the mean that pending asks are expected to have; the value and the noise that stand for the cell, its spread
when it was judged, the visits after which it is judged again, when it was judged, and the least upper bound of the
cells above it."""
COLUMNS = 12

NOW, SCALE, RESIDUAL, FREEDOM = range(4)
"""What is known of all cells together: the number of changes, the Lipschitz constant, and of the pooled noise the sum
of residuals and its degrees of freedom."""

BETA, ALPHA, KAPPA, STEEP, REACH, EXTRA, BATCH, LOG = range(8)
"""Rules: the weights of spread and radius in the key, how far the spread must fall below the radius before a cell is
divided; c and l of the variogram; rewards of 0 and 1 added to a mean; the part of the visits that counts as a change;
and log(6 n^3) for keys that are confidence bounds, 0 for kriging."""

NEIGHBORS = 32
NONE, UNKNOWN = -1, -2
NEVER = -1.0


class Tree(NamedTuple):
    """Everything the kernels work on: one row for each cell, a tournament of keys, rules, and room to work in."""

    stats: FloatArray
    centers: FloatArray
    places: FloatArray
    boxes: FloatArray
    children: IndexArray
    parents: IndexArray
    depths: IndexArray
    radii: FloatArray
    ties: FloatArray
    keys: FloatArray
    heads: HeadArray
    levels: IndexArray
    rules: FloatArray
    pool: FloatArray
    found: IndexArray
    work: FloatArray
    factor: FloatArray


def workspace() -> tuple[IndexArray, FloatArray, FloatArray]:
    """Return the room that kriging works in."""
    return np.zeros(128, dtype=np.int64), np.zeros((5, 128)), np.zeros((NEIGHBORS, NEIGHBORS))


@compiled
def variogram(squared: float, tree: Tree) -> float:
    """Return q of a squared distance."""
    steep, reach = tree.rules[STEEP], tree.rules[REACH]
    squared *= tree.pool[SCALE] ** 2
    z = np.sqrt(3.0 * squared) / reach
    if z < 1e-4:
        return float(steep * steep * squared)
    return float(2.0 / 3.0 * (steep * reach) ** 2 * (1.0 - (1.0 + z) * np.exp(-z)))


@compiled
def apart(tree: Tree, place: FloatArray, node: int) -> float:
    """Return the squared distance of a place from that of a cell's rewards."""
    total = 0.0
    for k in range(len(place)):
        total += (tree.places[node, k] - place[k]) ** 2
    return total


@compiled
def outside(tree: Tree, place: FloatArray, node: int) -> float:
    """Return the squared distance of a place from the box of the rewards below a cell; infinite if there are none."""
    total = 0.0
    for k in range(len(place)):
        gap = max(tree.boxes[node, 0, k] - place[k], place[k] - tree.boxes[node, 1, k], 0.0)
        total += gap * gap
    return total


@compiled
def gather(tree: Tree, place: FloatArray) -> int:
    """Find the cells with the least q_i + v_i, least first, and return how many.

    They are left in `found`, with q_i in work[0] and q_i + v_i in work[1]. `found` beyond them and work[2] are a stack
    of cells to look below, with the least q_i that there can be.
    """
    found, gaps, ranks, least = tree.found, tree.work[0], tree.work[1], tree.work[2]
    size, top = 0, NEIGHBORS
    found[top] = 0
    least[top] = 0.0
    while top >= NEIGHBORS:
        node, bound = found[top], least[top]
        top -= 1
        if size == NEIGHBORS and bound >= ranks[size - 1]:
            continue
        if tree.stats[node, COUNT] + tree.stats[node, PENDING] > 0.0:
            gap = variogram(apart(tree, place, node), tree)
            rank = gap + tree.stats[node, NOISE]
            at = size
            if size < NEIGHBORS:
                size += 1
            elif rank < ranks[size - 1]:
                at = size - 1
            else:
                at = -1
            if at >= 0:
                while at > 0 and ranks[at - 1] > rank:
                    ranks[at], found[at], gaps[at] = ranks[at - 1], found[at - 1], gaps[at - 1]
                    at -= 1
                ranks[at], found[at], gaps[at] = rank, node, gap
        lower, upper = tree.children[node, 0], tree.children[node, 1]
        below = outside(tree, place, lower) if lower >= 0 else np.inf
        above = outside(tree, place, upper) if upper >= 0 else np.inf
        if below <= above:  # the nearer one is looked at first
            lower, upper, below, above = upper, lower, above, below
        if below < np.inf:
            top += 1
            found[top], least[top] = lower, variogram(below, tree)
        if above < np.inf:
            top += 1
            found[top], least[top] = upper, variogram(above, tree)
    return size


@compiled
def krige(tree: Tree, place: FloatArray) -> tuple[float, float]:
    """Return the estimate of f at a place, and its standard deviation."""
    size = gather(tree, place)
    found, gaps, ones, values, factor = tree.found, tree.work[0], tree.work[3], tree.work[4], tree.factor
    precision, weighted = 4.0, 2.0
    for i in range(size):  # the Cholesky factor of S, and the solutions for 1 and y
        node = found[i]
        one, value, rest = 1.0, tree.stats[node, VALUE], gaps[i] + tree.stats[node, NOISE]
        for j in range(i):
            between = apart(tree, tree.places[node], found[j])
            entry = 0.5 * (gaps[i] + gaps[j] - variogram(between, tree))
            for k in range(j):
                entry -= factor[i, k] * factor[j, k]
            entry /= factor[j, j]
            factor[i, j] = entry
            rest -= entry * entry
            one -= entry * ones[j]
            value -= entry * values[j]
        root = np.sqrt(max(rest, 1e-12))
        factor[i, i], ones[i], values[i] = root, one / root, value / root
        precision += ones[i] * ones[i]
        weighted += ones[i] * values[i]
    return weighted / precision, 1.0 / np.sqrt(precision)


@compiled
def confidence(tree: Tree, node: int, visits: float) -> float:
    """Return the radius of the confidence interval of a mean: Hoeffding's or the empirical Bernstein bound's."""
    count, log = tree.stats[node, COUNT], tree.rules[LOG]
    radius = np.sqrt(log / (2.0 * visits))
    if count > 1.0:
        mean = tree.stats[node, SUM] / count
        variance = max(tree.stats[node, SQUARES] - count * mean * mean, 0.0) / (count - 1.0)
        radius = min(radius, np.sqrt(2.0 * variance * log / visits) + 7.0 * log / (3.0 * (visits - 1.0)))
    return float(radius)


@compiled
def size_of(tree: Tree, node: int) -> float:
    """Return how far rewards in a cell may be from that at its point."""
    return float(tree.pool[SCALE] * tree.radii[tree.depths[node]])


@compiled
def bounded(tree: Tree, node: int, visits: float) -> float:
    """Return the upper confidence bound of all rewards in a cell, as if after so many visits."""
    ceiling = float(tree.stats[node, CEILING])
    if visits == 0.0:
        return ceiling
    count = tree.stats[node, COUNT]
    mean = tree.stats[node, SUM] / count if count > 0.0 else 0.5
    size = size_of(tree, node)
    if tree.stats[node, FOREIGN] > 0.0:  # rewards of points elsewhere in the cell
        size *= 2.0
    return min(ceiling, float(mean + confidence(tree, node, visits) + size))


@compiled
def judge(tree: Tree, node: int) -> None:
    """Compute the spread and the key of a cell that is not divided."""
    row = tree.stats[node]
    row[JUDGED] = tree.pool[NOW]
    if tree.rules[LOG] > 0.0:
        visits = row[COUNT] + row[PENDING]
        row[SPREAD] = confidence(tree, node, visits) if visits > 0.0 else np.inf
        key = bounded(tree, node, visits)
    else:
        mean, spread = krige(tree, tree.centers[node])
        row[SPREAD] = spread
        key = mean + tree.rules[BETA] * spread + tree.rules[ALPHA] * size_of(tree, node)
    set_key(tree.keys, tree.heads, tree.levels, node, key + tree.ties[node])


@compiled
def divide(tree: Tree, node: int) -> None:
    """Put the halves of a cell, which must be known, in its place; their keys start from its own."""
    row = tree.stats[node]
    for side in range(2):
        half = tree.children[node, side]
        if half >= 0:
            tree.stats[half, CEILING] = bounded(tree, node, row[COUNT]) if tree.rules[LOG] > 0.0 else 0.0
            tree.stats[half, SPREAD] = np.inf
            tree.stats[half, JUDGED] = NEVER
            key = tree.keys[node] - tree.ties[node] + tree.ties[half]
            set_key(tree.keys, tree.heads, tree.levels, half, key)
    set_key(tree.keys, tree.heads, tree.levels, node, -np.inf)


@compiled
def is_ripe(tree: Tree, node: int, deepest: int) -> bool:
    """Tell whether a leaf was visited, its noise is below its size, and it has halves as far as is known."""
    if tree.depths[node] >= deepest or tree.rules[KAPPA] * tree.stats[node, SPREAD] >= size_of(tree, node):
        return False
    if tree.stats[node, COUNT] + tree.stats[node, PENDING] == 0.0:
        return False
    lower, upper = tree.children[node, 0], tree.children[node, 1]
    return bool(lower == UNKNOWN or lower >= 0 or upper >= 0)


@compiled
def choose(tree: Tree, deepest: int) -> int:
    """Return the cell to play, after dividing cells whose noise is below their size.

    A cell whose halves must be made first is returned as -1 - cell.
    """
    while True:
        node = int(tree.heads[tree.levels[-2]])
        if tree.stats[node, JUDGED] != tree.pool[NOW]:
            judge(tree, node)
            continue
        if not is_ripe(tree, node, deepest):
            return node
        if tree.children[node, 0] == UNKNOWN:
            return -1 - node
        divide(tree, node)


@compiled
def enter(tree: Tree, node: int) -> None:
    """Let the boxes of a cell and of all above it hold the place of its rewards."""
    above = node
    while above >= 0:
        for k in range(tree.places.shape[1]):
            place = tree.places[node, k]
            tree.boxes[above, 0, k] = min(tree.boxes[above, 0, k], place)
            tree.boxes[above, 1, k] = max(tree.boxes[above, 1, k], place)
        above = tree.parents[above]


@compiled
def weigh(tree: Tree, node: int) -> None:
    """Compute the value and the noise that stand for a cell."""
    row = tree.stats[node]
    visits = row[COUNT] + row[PENDING]
    if visits == 0.0:
        row[BELIEF], row[VALUE], row[NOISE] = 0.0, 0.0, 0.0
        return
    if row[PENDING] == 0.0:
        row[BELIEF] = 0.0
    row[VALUE] = (row[SUM] + row[PENDING] * row[BELIEF]) / visits
    mean = (row[VALUE] * visits + 0.5 * tree.rules[EXTRA]) / (visits + tree.rules[EXTRA])
    fraction = tree.pool[RESIDUAL] / tree.pool[FREEDOM]
    row[NOISE] = max(fraction * max(mean * (1.0 - mean), 0.01) / visits, 1e-12)


@compiled
def shift(tree: Tree, node: int, place: FloatArray, amount: float) -> None:
    """Let the place of a cell's rewards be the mean with one more at a place, or one less; visits are still without."""
    visits = tree.stats[node, COUNT] + tree.stats[node, PENDING] + amount
    moves = visits == 1.0 and amount > 0.0
    for k in range(len(place)):
        if visits > 0.0 and tree.places[node, k] != place[k]:
            tree.places[node, k] += (place[k] - tree.places[node, k]) * amount / visits
            moves = True
        elif visits == 0.0:
            tree.places[node, k] = tree.centers[node, k]
    if moves:
        enter(tree, node)


@compiled
def observe(tree: Tree, node: int, place: FloatArray, reward: float, released: float, foreign: float) -> None:
    """Learn a reward of a place in a cell, foreign if that is not the cell's own point."""
    row = tree.stats[node]
    if released == 0.0:
        shift(tree, node, place, 1.0)
    if row[COUNT] > 0.0:  # what the reward adds to the squared residuals about the cell's mean, over m (1 - m)
        count = row[COUNT]
        mean = (row[SUM] + 0.5 * tree.rules[EXTRA]) / (count + tree.rules[EXTRA])
        residual = (reward - row[SUM] / count) ** 2 * count / (count + 1.0)
        tree.pool[RESIDUAL] += residual / max(mean * (1.0 - mean), 0.01)
        tree.pool[FREEDOM] += 1.0
    row[SUM] += reward
    row[COUNT] += 1.0
    row[SQUARES] += reward * reward
    row[FOREIGN] += foreign
    row[PENDING] -= released
    change(tree, node, released + foreign > 0.0)


@compiled
def expect(tree: Tree, node: int, amount: float) -> None:
    """Add or take back a pending ask of a cell; it is expected to have the reward that is estimated now."""
    row = tree.stats[node]
    if amount > 0.0:
        estimate = krige(tree, tree.centers[node])[0]
        row[BELIEF] += (estimate - row[BELIEF]) * amount / (row[PENDING] + amount)
    shift(tree, node, tree.centers[node], amount)
    row[PENDING] += amount
    change(tree, node, amount < 0.0)


@compiled
def postpone(tree: Tree, node: int) -> None:
    """Set the visits at which a cell is judged again."""
    visits = tree.stats[node, COUNT] + tree.stats[node, PENDING]
    tree.stats[node, DUE] = visits + max(1.0, np.floor(tree.rules[BATCH] * visits)) if visits > 0.0 else 0.0


@compiled
def change(tree: Tree, node: int, at_once: bool) -> None:
    """Take note of a visit: weigh the cell, and judge it if its visits grew enough, or at once."""
    weigh(tree, node)
    row = tree.stats[node]
    visits = row[COUNT] + row[PENDING]
    bounds = tree.rules[LOG] > 0.0
    if bounds or at_once or visits >= row[DUE]:
        postpone(tree, node)
        if not bounds:
            tree.pool[NOW] += 1.0
        if tree.keys[node] > -np.inf:
            judge(tree, node)


@compiled
def review(tree: Tree, first: float) -> None:
    """Weigh and judge all cells anew, after learning the Lipschitz constant if there is a first guess of it."""
    for node in range(len(tree.stats)):
        weigh(tree, node)
    if first > 0.0:
        learn_scale(tree, first)
    tree.pool[NOW] = 0.0
    for node in range(len(tree.stats)):
        tree.stats[node, JUDGED] = NEVER
        postpone(tree, node)
        if tree.keys[node] > -np.inf:
            judge(tree, node)


@compiled
def learn_scale(tree: Tree, first: float) -> None:
    """Estimate the Lipschitz constant: the largest slope that the rewards show beyond doubt, or the first guess.

    Each cell is compared with the nearest one above it and with the one visited most. Slopes are less z standard
    deviations of their noise, z^2 = 2 log(2 cells), so that noise alone hardly ever shows one.
    """
    busiest, cells = 0, 0.0
    for node in range(len(tree.stats)):
        if tree.stats[node, COUNT] > 0.0:
            cells += 1.0
        if tree.stats[node, COUNT] > tree.stats[busiest, COUNT]:
            busiest = node
    doubt = np.sqrt(2.0 * np.log(2.0 * max(cells, 1.0)))
    steepest = first
    for node in range(len(tree.stats)):
        if tree.stats[node, COUNT] == 0.0:
            continue
        above = tree.parents[node]
        while above >= 0 and tree.stats[above, COUNT] == 0.0:
            above = tree.parents[above]
        for other in (above, busiest):
            if other >= 0:
                squared = apart(tree, tree.places[node], other)
                noise = tree.stats[node, NOISE] + tree.stats[other, NOISE]
                change = abs(tree.stats[node, VALUE] - tree.stats[other, VALUE]) - doubt * np.sqrt(noise)
                if change > 0.0 and squared > 0.0:
                    steepest = max(steepest, change / np.sqrt(squared))
    tree.pool[SCALE] = steepest


@compiled
def play_tree(
    tree: Tree, deepest: int, means: FloatArray, draws: FloatArray, low: float, span: float, played: FloatArray
) -> int:
    """Play a Bernoulli round for each draw, until cells must be made; return how many were played."""
    for t in range(len(draws)):
        node = choose(tree, deepest)
        if node < 0:
            return t
        reward = ((1.0 if draws[t] < means[node] else 0.0) - low) / span
        observe(tree, node, tree.centers[node], reward, 0.0, 0.0)
        played[t] = means[node]
    return len(draws)
