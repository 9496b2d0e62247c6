"""OrbitTree on cells: what the rewards near a cell say of it, when to divide it, and which to play.

Noise. Rewards in [0, 1] with mean m have a variance of at most m (1 - m): of this they have a
fraction that is pooled over all cells. v_i is that fraction of m (1 - m), for m the mean with a few
rewards of 0 and 1 added, over the visits.

Keys. An estimate changes with every reward nearby, so keys are computed when they are wanted:
`pool[NOW]` counts the changes, and a cell whose key leads is judged again unless it was JUDGED
since the last. Visits that change a cell by less than a few percent do not count as changes.
"""

import numpy as np

from orbandit._kernels.cells import UNKNOWN
from orbandit._kernels.compiled import FloatArray, IndexArray, compiled
from orbandit._kernels.kriging import (
    BELIEF,
    COUNT,
    DUE,
    FOREIGN,
    FREEDOM,
    JUDGED,
    NEVER,
    NOISE,
    NOW,
    PENDING,
    RESIDUAL,
    RULE_ALPHA,
    RULE_BATCH,
    RULE_BETA,
    RULE_CEILING,
    RULE_EXTRA,
    RULE_KAPPA,
    RULE_LOG,
    SCALE,
    SPREAD,
    SQUARES,
    STEEPEST,
    SUM,
    VALUE,
    Tree,
    krige,
    squared_distance_to_rewards,
)
from orbandit._kernels.tournament import set_key


@compiled
def confidence(tree: Tree, node: int, visits: float) -> float:
    """Return the radius of the confidence interval of a mean: Hoeffding's or the empirical Bernstein bound's."""
    count, log = tree.stats[node, COUNT], tree.rules[RULE_LOG]
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
def upper_bound(tree: Tree, node: int, visits: float) -> float:
    """Return the least upper confidence bound of a cell and those above it, as if it had so many visits."""
    least = float(tree.rules[RULE_CEILING])
    above = node
    while above >= 0:
        count = tree.stats[above, COUNT]
        if above != node:
            visits = count
        if visits > 0.0:
            mean = tree.stats[above, SUM] / count if count > 0.0 else 0.5
            size = size_of(tree, above)
            if tree.stats[above, FOREIGN] > 0.0:  # rewards of points elsewhere in the cell
                size *= 2.0
            least = min(least, float(mean + confidence(tree, above, visits) + size))
        above = tree.parents[above]
    return least


@compiled
def compute_key(tree: Tree, node: int) -> None:
    """Compute the spread and the key of a cell that is not divided."""
    row = tree.stats[node]
    row[JUDGED] = tree.pool[NOW]
    if tree.rules[RULE_LOG] > 0.0:  # only what was told divides a cell
        row[SPREAD] = confidence(tree, node, row[COUNT]) if row[COUNT] > 0.0 else np.inf
        key = upper_bound(tree, node, row[COUNT] + row[PENDING])
    else:
        mean, spread = krige(tree, tree.centers[node])
        row[SPREAD] = spread
        key = mean + tree.rules[RULE_BETA] * spread + tree.rules[RULE_ALPHA] * size_of(tree, node)
    set_key(tree.keys, tree.heads, tree.levels, node, key + tree.ties[node])


@compiled
def divide(tree: Tree, node: int) -> None:
    """Put the halves of a cell, which must be known, in its place; their keys start from its own."""
    for side in range(2):
        half = tree.children[node, side]
        if half >= 0:
            tree.stats[half, SPREAD] = np.inf
            tree.stats[half, JUDGED] = NEVER
            key = tree.keys[node] - tree.ties[node]
            if tree.rules[RULE_LOG] > 0.0:
                key = upper_bound(tree, half, 0.0)
            set_key(tree.keys, tree.heads, tree.levels, half, key + tree.ties[half])
    set_key(tree.keys, tree.heads, tree.levels, node, -np.inf)


@compiled
def is_ripe(tree: Tree, node: int, deepest: int) -> bool:
    """Tell whether a leaf was visited, its noise is below its size, and it has halves as far as is known."""
    if tree.depths[node] >= deepest or tree.rules[RULE_KAPPA] * tree.stats[node, SPREAD] >= size_of(tree, node):
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
            compute_key(tree, node)
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
def compute_value(tree: Tree, node: int) -> None:
    """Compute the value and the noise that stand for a cell."""
    row = tree.stats[node]
    visits = row[COUNT] + row[PENDING]
    if visits == 0.0:
        row[BELIEF], row[VALUE], row[NOISE] = 0.0, 0.0, 0.0
        return
    if row[PENDING] == 0.0:
        row[BELIEF] = 0.0
    row[VALUE] = (row[SUM] + row[PENDING] * row[BELIEF]) / visits
    mean = (row[VALUE] * visits + 0.5 * tree.rules[RULE_EXTRA]) / (visits + tree.rules[RULE_EXTRA])
    fraction = tree.pool[RESIDUAL] / tree.pool[FREEDOM]
    row[NOISE] = max(fraction * max(mean * (1.0 - mean), 0.01) / visits, 1e-12)
    hush(tree, node)


@compiled
def hush(tree: Tree, node: int) -> None:
    """Let a cell and all above it know how little noise there is."""
    above = node
    while above >= 0 and tree.quiet[above] > tree.stats[node, NOISE]:
        tree.quiet[above] = tree.stats[node, NOISE]
        above = tree.parents[above]


@compiled
def move_place(tree: Tree, node: int, place: FloatArray, amount: float) -> None:
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
        move_place(tree, node, place, 1.0)
    # what the reward adds to the squared residuals about the cell's mean, over m (1 - m)
    if row[COUNT] > 0.0:
        count = row[COUNT]
        mean = (row[SUM] + 0.5 * tree.rules[RULE_EXTRA]) / (count + tree.rules[RULE_EXTRA])
        residual = (reward - row[SUM] / count) ** 2 * count / (count + 1.0)
        tree.pool[RESIDUAL] += residual / max(mean * (1.0 - mean), 0.01)
        tree.pool[FREEDOM] += 1.0
    row[SUM] += reward
    row[COUNT] += 1.0
    row[SQUARES] += reward * reward
    row[FOREIGN] += foreign
    row[PENDING] -= released
    note_visit(tree, node, released + foreign > 0.0)


@compiled
def expect(tree: Tree, node: int, place: FloatArray, amount: float) -> None:
    """Add or take back a pending reward of a place in a cell; it is expected to be what is estimated now."""
    row = tree.stats[node]
    if amount > 0.0:
        estimate = krige(tree, place)[0]
        row[BELIEF] += (estimate - row[BELIEF]) * amount / (row[PENDING] + amount)
    move_place(tree, node, place, amount)
    row[PENDING] += amount
    note_visit(tree, node, amount < 0.0)


@compiled
def set_due(tree: Tree, node: int) -> None:
    """Set the visits at which a cell is judged again."""
    visits = tree.stats[node, COUNT] + tree.stats[node, PENDING]
    tree.stats[node, DUE] = visits + max(1.0, np.floor(tree.rules[RULE_BATCH] * visits)) if visits > 0.0 else 0.0


@compiled
def note_visit(tree: Tree, node: int, at_once: bool) -> None:
    """Take note of a visit: weigh the cell, and judge it if its visits grew enough, or at once."""
    compute_value(tree, node)
    row = tree.stats[node]
    visits = row[COUNT] + row[PENDING]
    bounds = tree.rules[RULE_LOG] > 0.0
    if bounds or at_once or visits >= row[DUE]:
        set_due(tree, node)
        is_leaf = tree.keys[node] > -np.inf
        if not (bounds and is_leaf):  # a bound of a leaf concerns no other
            tree.pool[NOW] += 1.0
        if is_leaf:
            compute_key(tree, node)


@compiled
def review(tree: Tree, learns: bool) -> None:
    """Weigh and judge all cells anew, after learning the Lipschitz constant if that is wanted."""
    tree.quiet[:] = np.inf
    for node in range(len(tree.stats)):
        compute_value(tree, node)
    if learns:
        learn_scale(tree)
    tree.pool[NOW] = 0.0
    for node in range(len(tree.stats)):
        tree.stats[node, JUDGED] = NEVER
        set_due(tree, node)
        if tree.keys[node] > -np.inf:
            compute_key(tree, node)


@compiled
def learn_scale(tree: Tree) -> None:
    """Estimate the Lipschitz constant: the largest slope that the rewards show beyond doubt, or the first guess, 1.

    Each cell is compared with the nearest one above it and with the one visited most. Slopes are
    less z standard deviations of their noise, z^2 = 2 log(2 cells), so that noise alone hardly ever
    shows one.
    """
    busiest, cells = 0, 0.0
    for node in range(len(tree.stats)):
        if tree.stats[node, COUNT] > 0.0:
            cells += 1.0
        if tree.stats[node, COUNT] > tree.stats[busiest, COUNT]:
            busiest = node
    doubt = np.sqrt(2.0 * np.log(2.0 * max(cells, 1.0)))
    steepest = 1.0
    for node in range(len(tree.stats)):
        if tree.stats[node, COUNT] == 0.0:
            continue
        above = tree.parents[node]
        while above >= 0 and tree.stats[above, COUNT] == 0.0:
            above = tree.parents[above]
        for other in (above, busiest):
            if other >= 0:
                squared = squared_distance_to_rewards(tree, tree.places[node], other)
                noise = tree.stats[node, NOISE] + tree.stats[other, NOISE]
                change = abs(tree.stats[node, VALUE] - tree.stats[other, VALUE]) - doubt * np.sqrt(noise)
                if change > 0.0 and squared > 0.0:
                    steepest = max(steepest, change / np.sqrt(squared))
    tree.pool[SCALE] = min(steepest, STEEPEST)


@compiled
def play_tree(
    tree: Tree, deepest: int, means: FloatArray, draws: FloatArray, low: float, span: float, played: IndexArray
) -> int:
    """Play a Bernoulli round for each draw, until cells must be made; return how many. The cells go to `played`."""
    for t in range(len(draws)):
        node = choose(tree, deepest)
        if node < 0:
            return t
        reward = ((1.0 if draws[t] < means[node] else 0.0) - low) / span
        observe(tree, node, tree.centers[node], reward, 0.0, 0.0)
        played[t] = node
    return len(draws)
