"""Slow, obvious twins of the compiled kernels and of the closed forms, for tests to compare with."""

import bisect
import math
from itertools import permutations, product

import numpy as np
from scipy.linalg import orthogonal_procrustes
from scipy.optimize import lsq_linear

from orbandit.agents.optimism import CALM


def orbit_distances(elements, a, b):
    """Minimum over all elements of ||g x - y||, for two batches."""
    images = np.einsum("gij,mj->gmi", elements, a)
    return np.array([[np.linalg.norm(images[:, i] - y, axis=1).min() for y in b] for i in range(len(a))])


def fold_into_chamber(points, roots):
    """Reflect in the first violated root until there is none."""
    folded = []
    for x in points:
        x = x.copy()
        while (heights := roots @ x).min(initial=0.0) < -1e-13 * np.linalg.norm(x):
            root = roots[np.flatnonzero(heights < -1e-13 * np.linalg.norm(x))[0]]
            x -= 2 * (root @ x) * root
        folded.append(x)
    return np.array(folded)


def block_distance(a, b, signed):
    """Minimum over every permutation of blocks, and every choice of signs."""
    best = np.inf
    for order in permutations(range(len(a))):
        for signs in product((1, -1), repeat=len(a)) if signed else [(1,) * len(a)]:
            image = np.array(signs)[:, None] * a[list(order)]
            best = min(best, np.linalg.norm(image - b))
    return best


def image_distances(images, b):
    """Minimum over listed images."""
    return np.array([[min(np.linalg.norm(image - y) for image in row) for y in b] for row in images])


def orthogonal_distance(a, b):
    """The residual that scipy's Procrustes solution leaves."""
    Q, _ = orthogonal_procrustes(a.T, b.T)
    return np.linalg.norm(a.T @ Q - b.T)


def echelon_form(matrix, tol=1e-12):
    """Gram-Schmidt on the columns: each new direction is a pivot row; entries are the inner products."""
    directions = []
    for column in matrix.T:
        rest = column.copy()
        for _ in range(2):
            for u in directions:
                rest -= (u @ rest) * u
        if np.linalg.norm(rest) > tol * np.linalg.norm(matrix):
            directions.append(rest / np.linalg.norm(rest))
    form = np.zeros(matrix.shape)
    for i, u in enumerate(directions):
        form[i] = u @ matrix
    return form


def nonnegative_distance(rows, target):
    """Least distance of the target to the cone that the rows span, by bounded least squares."""
    solution = lsq_linear(rows.T, target, bounds=(0, np.inf), method="bvls", tol=1e-14)
    return np.linalg.norm(rows.T @ solution.x - target)


def count_within(queries, points, radius):
    """Indices of the points within a radius of each query."""
    return [np.flatnonzero(np.linalg.norm(points - query, axis=1) <= radius) for query in queries]


class SharedUCB:
    """UCB with side observations as on paper: a full scan each round, neighbours by brute force.

    `sees[i]` are the arms that observe a reward of arm i; arms come in the order of priority.
    """

    def __init__(self, sees, width):
        self.sees, self.width = sees, width
        self.sums, self.counts = np.zeros(len(sees)), np.zeros(len(sees))
        self.pending = np.zeros(len(sees))

    def ask(self):
        best, chosen = -np.inf, None
        for i in range(len(self.sees)):
            seen = self.counts[i] + self.pending[i]
            mean = self.sums[i] / self.counts[i] if self.counts[i] else 0.5
            index = mean + math.sqrt(self.width / seen) if seen else np.inf
            if index > best:
                best, chosen = index, i
        return chosen

    def tell(self, arm, reward):
        for i in self.sees[arm]:
            self.sums[i] += reward
            self.counts[i] += 1


class Elimination:
    """Phases of equal play and elimination, with a bias on both sides; as on paper, by full scans."""

    def __init__(self, sees, width, bias):
        self.sees, self.width, self.bias = sees, width, bias
        self.sums, self.counts = np.zeros(len(sees)), np.zeros(len(sees))
        self.alive, self.phase = set(range(len(sees))), 1

    def ask(self):
        while min(self.counts[i] for i in self.alive) >= self.width * 4**self.phase:
            low, high = {}, {}
            for i in self.alive:
                mean, radius = self.sums[i] / self.counts[i], math.sqrt(self.width / self.counts[i])
                low[i], high[i] = mean - radius - self.bias, mean + radius + self.bias
            self.alive = {i for i in self.alive if high[i] >= max(low.values())}
            self.phase += 1
        return min(self.alive, key=lambda i: (self.counts[i], i))

    def tell(self, arm, reward):
        for i in self.sees[arm]:
            self.sums[i] += reward
            self.counts[i] += 1


class CKLUCB:
    """CKL-UCB as on paper: all indices in every round, on a grid of 2^-30, by full sums."""

    def __init__(self, distances):
        self.distances = distances
        self.sums, self.counts = np.zeros(len(distances)), np.zeros(len(distances))

    def surprise(self, arm, q):
        total = 0.0
        for other in np.flatnonzero(self.counts):
            mean, raised = self.sums[other] / self.counts[other], q - self.distances[arm][other]
            if raised >= 1 > mean:
                return math.inf
            if raised > mean:
                kl = (1 - mean) * math.log((1 - mean) / (1 - raised)) + (mean and mean * math.log(mean / raised))
                total += self.counts[other] * kl
        return total

    def index(self, arm):
        t = self.counts.sum() + 1
        budget = math.log(t) + 3 * math.log(max(1.0, math.log(t)))
        return bisect.bisect_right(range(2**30 + 1), budget, key=lambda step: self.surprise(arm, step / 2**30)) - 1

    def ask(self):
        return max(range(len(self.sums)), key=self.index)

    def tell(self, arm, reward):
        self.sums[arm] += reward
        self.counts[arm] += 1


class Zooming:
    """The zooming algorithm on finitely many points, in the order of their priority, by full scans."""

    def __init__(self, distances, width):
        self.distances, self.width = distances, width
        self.sums, self.counts = np.zeros(len(distances)), np.zeros(len(distances))
        self.active = []

    def radius(self, arm):
        return math.sqrt(self.width / (self.counts[arm] + 1))

    def ask(self):
        for point in range(len(self.distances)):  # activation rule
            if not any(self.distances[arm][point] <= self.radius(arm) for arm in self.active):
                self.active.append(point)
        means = [self.sums[a] / self.counts[a] if self.counts[a] else 0.0 for a in range(len(self.sums))]
        # selection rule
        return max(sorted(self.active), key=lambda arm: means[arm] + 2 * self.radius(arm))

    def tell(self, arm, reward):
        self.sums[arm] += reward
        self.counts[arm] += 1


class HOO:
    """Truncated HOO as on paper, on cells given as a function from (depth, name) to the names of their children.

    B-values of the whole tree are computed anew in every round.
    """

    def __init__(self, halves, nu, rho, horizon, prefer):
        self.halves, self.nu, self.rho, self.prefer = halves, nu, rho, prefer
        self.width = 2 * math.log(horizon)
        self.limit = 0
        while nu * rho**self.limit > horizon**-0.5 * (1 + 1e-12):
            self.limit += 1
        self.sums, self.counts = {}, {}

    def bound(self, depth, cell):
        if not self.counts.get(cell):
            return math.inf
        count = self.counts[cell]
        upper = self.sums[cell] / count + math.sqrt(self.width / count) + self.nu * self.rho**depth
        if depth < self.limit and self.halves(cell):
            upper = min(upper, max(self.bound(depth + 1, half) for half in self.halves(cell)))
        return upper

    def ask(self, root):
        cell, depth, self.path = root, 0, [root]
        while (cell == root or self.counts.get(cell)) and depth < self.limit and self.halves(cell):
            halves = self.halves(cell)
            bounds = [self.bound(depth + 1, half) for half in halves]
            if len(halves) == 2 and bounds[0] == bounds[1]:
                cell = halves[self.prefer(cell)]
            else:
                cell = halves[int(np.argmax(bounds))]
            depth += 1
            self.path.append(cell)
        return cell

    def tell(self, reward):
        for cell in self.path:
            self.sums[cell] = self.sums.get(cell, 0.0) + reward
            self.counts[cell] = self.counts.get(cell, 0) + 1


class POO:
    """POO as on paper, over instances that are made by a function of their rho."""

    def __init__(self, make, rho_max):
        self.make, self.rho_max, self.d_max = make, rho_max, math.log(2) / math.log(1 / rho_max)
        self.instances = [make(rho_max)]
        self.turns = self.rounds()

    def rounds(self):
        n, size = 0, 1
        while True:
            while n > 1 and size <= self.d_max * math.log(n / math.log(n)) / 2:
                for i in range(1, size + 1):
                    self.instances.append(self.make(self.rho_max ** (2 * size / (2 * i + 1))))
                    for _ in range(n // size):
                        yield self.instances[-1]
                n, size = 2 * n, 2 * size
            yield from self.instances
            n += size


class HCT:
    """HCT and VHCT as on paper, but that all bounds of a round have the same t+; computed anew in every round.

    Pending asks count as plays: they shrink radii, and lead below leaves, but only rewards cut a cell.
    """

    def __init__(self, halves, nu, rho, c, delta, tie, by_variance):
        self.halves, self.nu, self.rho, self.tie, self.by_variance = halves, nu, rho, tie, by_variance
        self.square, self.fraction, self.t = c**2, (rho / (3 * nu)) ** 0.125 * delta, 1
        self.rewards, self.pending, self.cut = {}, {}, set()

    def width(self):
        return self.square * math.log(1 / min(1, self.fraction / 2 ** math.ceil(math.log2(self.t))))

    def visits(self, cell):
        return len(self.rewards.get(cell, [])) + self.pending.get(cell, 0)

    def radius(self, cell, count):
        if not self.by_variance:
            return math.sqrt(self.width() / count)
        variance = np.var(self.rewards[cell]) if self.rewards.get(cell) else 0.25
        return math.sqrt(2 * variance * self.width() / count) + 3 * self.width() / count

    def is_known(self, depth, cell, count):
        return count > 0 and self.radius(cell, count) <= self.nu * self.rho**depth

    def bound(self, depth, cell):
        upper, visits = math.inf, self.visits(cell)
        if visits:
            mean = np.mean(self.rewards.get(cell) or [0.5])
            upper = mean + self.nu * self.rho**depth + self.radius(cell, visits)
        if cell in self.cut:
            upper = min(upper, max(self.bound(depth + 1, half) for half in self.halves(cell)))
        return upper

    def ask(self, root):
        """Return the cell to play and its depth."""
        cell, depth = root, 0
        self.cut.add(root)
        while cell == root or self.is_known(depth, cell, self.visits(cell)):
            depth += 1
            cell = max(self.halves(cell), key=lambda half: (self.bound(depth, half), self.tie(half)))
        return cell, depth

    def expect(self, cell, amount):
        self.pending[cell] = self.pending.get(cell, 0) + amount

    def tell(self, cell, depth, reward):
        self.rewards.setdefault(cell, []).append(reward)
        self.t += 1
        if self.is_known(depth, cell, len(self.rewards[cell])):
            self.cut.add(cell)


class StoSOO:
    """StoSOO as on paper: loops over all depths and leaves."""

    def __init__(self, halves, root, horizon, tie):
        self.halves, self.n, self.tie = halves, horizon, tie
        self.k = math.ceil(horizon / math.log(horizon) ** 3)
        self.limit = int(math.sqrt(horizon / self.k))
        self.rewards, self.leaves, self.cut = {}, {root: 0}, {}
        self.plays = self.sweeps()

    def b(self, cell):
        rewards = self.rewards.get(cell)
        if not rewards:
            return math.inf
        return np.mean(rewards) + math.sqrt(math.log(self.n * self.k * math.sqrt(self.n)) / (2 * len(rewards)))

    def sweeps(self):
        while True:
            b_max = -math.inf
            for depth in range(self.limit + 1):
                leaves = [cell for cell, at in self.leaves.items() if at == depth]
                cell = max(leaves, key=lambda leaf: (self.b(leaf), self.tie(leaf)), default=None)
                if cell is None or self.b(cell) < b_max:
                    continue
                if len(self.rewards.get(cell, [])) < self.k:
                    yield cell
                else:
                    b_max, self.cut[cell] = self.b(cell), self.leaves.pop(cell)
                    self.leaves.update(dict.fromkeys(self.halves(cell), depth + 1))

    def recommend(self):
        return max(self.cut, key=lambda cell: (self.cut[cell], np.mean(self.rewards[cell]), self.tie(cell)))


class Openings:
    """SequOOL, and with noise StroquOOL, as on paper: cells of a depth are opened by their means."""

    def __init__(self, halves, root, h_max, tie, noisy):
        self.halves, self.root, self.h_max, self.tie, self.noisy = halves, root, h_max, tie, noisy
        self.rewards, self.finals = {}, {}
        self.plays = self.rounds()

    def opened(self, cell, m):
        for _ in range(m):
            yield from sorted(self.halves(cell), key=self.tie, reverse=True)

    def most(self, cells, count):
        """The cell with the largest mean among those with so many rewards; the higher priority wins a tie."""
        fit = [cell for cell in cells if len(self.rewards[cell]) >= count]
        return max(fit, key=lambda cell: (self.mean(cell), self.tie(cell)))

    def mean(self, cell):
        return np.mean(self.rewards[cell])

    def rounds(self):
        yield from self.opened(self.root, self.h_max if self.noisy else 1)
        level = self.halves(self.root)
        for h in range(1, self.h_max + 1):
            left, following = list(level), []
            for p in range(int(math.log2(self.h_max / h)) if self.noisy else 0, -1, -1):
                for _ in range(self.h_max // (h * 2**p)):
                    fit = [cell for cell in left if len(self.rewards[cell]) >= 2**p]
                    if fit:
                        cell = max(fit, key=lambda one: (self.mean(one), self.tie(one)))
                        left.remove(cell)
                        yield from self.opened(cell, 2**p)
                        following += self.halves(cell)
            level = following
        finalists = [self.most(self.rewards, 2**p) for p in range(int(math.log2(self.h_max)) + 1 if self.noisy else 1)]
        self.finals = {cell: len(self.rewards[cell]) for cell in finalists}
        while True:
            yield from self.finals

    def recommend(self):
        if not self.noisy:
            return next(iter(self.finals))
        return max(self.finals, key=lambda cell: np.mean(self.rewards[cell][self.finals[cell] :]))


class VROOM:
    """VROOM as on paper: loops over all cells, whose codes say which cells are about them."""

    def __init__(self, halves, root, n, tie):
        self.halves, self.root, self.n = halves, root, n
        self.levels = [[root]]
        for _ in range(int(math.log2(n))):
            self.levels.append([half for cell in self.levels[-1] for half in halves(cell)])
        self.levels = [sorted(level, key=tie, reverse=True) for level in self.levels]
        self.total = sum(1 / (h * (i + 1)) for h, level in enumerate(self.levels) if h for i in range(len(level)))
        self.rewards = {cell: [] for level in self.levels for cell in level}
        self.weighed, self.variances = dict.fromkeys(self.rewards, 0.0), dict.fromkeys(self.rewards, 0.0)
        self.delta = 4 / math.sqrt(n)

    def probabilities(self):
        """What may be drawn, depth by depth and rank by rank."""
        ranks = [(h, i) for h in range(1, len(self.levels)) for i in range(len(self.levels[h]))]
        return {self.levels[h][i]: 1 / (h * (i + 1) * self.total) for h, i in ranks}

    def ask(self, pick, coins):
        for cell, chance in self.probabilities().items():  # noqa: B007
            pick -= chance
            if pick < 0:
                break
        self.drawn, self.leaf = cell, cell
        while halves := self.halves(self.leaf) if len(self.above(self.leaf)) < len(self.levels) else []:
            self.leaf = halves[0] if len(halves) == 1 else halves[coins % 2]
            coins //= 2
        return self.leaf

    def above(self, cell):
        """The cell and all that hold it, from the root on."""
        return [cell >> i for i in range(cell.bit_length() - 1, -1, -1)]

    def chance(self, cell, probabilities):
        """The probability of a draw that goes through a cell and is of it, or of one about it."""
        way, chance = self.above(cell), 0.0
        for i, drawn in enumerate(way[1:], 1):
            down = math.prod(1 / len(self.halves(one)) for one in way[i:-1])
            chance += probabilities[drawn] * down
        return chance

    def low(self, cell):
        rewards = self.rewards[cell]
        if not rewards:
            return -math.inf
        return np.mean(rewards) - math.sqrt(math.log(4 * self.n**3 / self.delta) / (2 * len(rewards)))

    def tell(self, reward):
        probabilities = self.probabilities()
        for cell, p in probabilities.items():
            self.variances[cell] += 1 / p
        learning = self.above(self.leaf)[len(self.above(self.drawn)) - 1 :]
        for cell in learning:
            self.weighed[cell] += reward / self.chance(cell, probabilities)
            self.rewards[cell].append(reward)
        for cell in learning:
            self.rank(self.levels[len(self.above(cell)) - 1], cell)

    def rank(self, level, cell):
        """Change places with the last cell on the way of each block of equals that is passed."""
        while True:
            lows, i = [self.low(one) for one in level], level.index(cell)
            if i > 0 and lows[i - 1] < lows[i]:
                j = lows.index(lows[i - 1])
            elif i + 1 < len(level) and lows[i + 1] > lows[i]:
                j = i + max(k for k, low in enumerate(lows[i:]) if low == lows[i + 1])
            else:
                return
            level[i], level[j] = level[j], level[i]

    def recommend(self):
        log = math.log(2 * self.n**2 / self.delta)
        ranked = [cell for level in self.levels[1:] for cell in level]
        return max(ranked, key=lambda cell: self.weighed[cell] - math.sqrt(2 * log * self.variances[cell]))


class OrbitTree:
    """OrbitTree in plain words, on a tree of cells of its own; kriging is by the joint Gaussian distribution.

    Keys are computed as lazily as the agent's: when a cell leads, or when its visits grew enough.
    """

    def __init__(self, tree, constants, scale, horizon, ties, theory=False, learning=False):
        self.tree, self.constants, self.scale, self.ties = tree, constants, scale, ties
        self.first, self.learning, self.theory = scale, learning, theory
        self.log = math.log(horizon)
        self.weight = math.log(6) + 3 * self.log
        self.rewards = {}  # cell -> its rewards
        self.keys, self.spreads, self.judged, self.due = {}, {}, {}, {}
        self.values = {}
        self.now, self.residual, self.freedom, self.rounds = 0, 4.0, 4.0, 0
        self.ceiling = 1 + math.sqrt(self.weight / 2) + self.radius(0)
        level, leaves = [0], [0]
        while level and len(leaves) < 8:
            level = [half for cell in level for half in self.halves(cell)]
            leaves = level
        for cell in leaves:
            self.keys[cell] = 0.0
        self.review()

    def halves(self, cell):
        self.tree.grow(np.array([cell]), 99)
        return [int(half) for half in self.tree.children[cell] if half >= 0]

    def place(self, cell):
        return self.tree.place(self.tree.points(np.array([cell])))[0]

    def radius(self, cell):
        return self.scale * self.tree.diameter(int(self.tree.depths[cell])) / 2

    def variogram(self, a, b):
        z = math.sqrt(3) * self.scale * np.linalg.norm(a - b) / self.constants.REACH
        return 2 / 3 * (self.constants.STEEP * self.constants.REACH) ** 2 * (1 - (1 + z) * math.exp(-z))

    def weigh(self, cell):
        rewards = self.rewards[cell]
        value, visits, extra = np.mean(rewards), len(rewards), self.constants.EXTRA
        mean = (value * visits + extra / 2) / (visits + extra)
        noise = self.residual / self.freedom * max(mean * (1 - mean), 0.01) / visits
        self.values[cell] = value, max(noise, 1e-12)

    def krige(self, place):
        """Condition the joint distribution of f(o) and of the nearest means, each f(o) plus an increment plus noise."""
        near = [cell for cell in self.values if self.scale * np.linalg.norm(place - self.place(cell)) <= 1.5]
        known = [(self.variogram(place, self.place(cell)), cell) for cell in sorted(near)]
        known = sorted(known, key=lambda entry: entry[0] + self.values[entry[1]][1])[:32]
        if not known:
            return 0.5, 0.5
        gaps, cells = zip(*known, strict=True)
        places = [self.place(cell) for cell in cells]
        between = np.array([[self.variogram(a, b) for b in places] for a in places])
        increments = (np.add.outer(gaps, gaps) - between) / 2
        joint = 0.25 + increments + np.diag([self.values[cell][1] for cell in cells])
        means = np.array([self.values[cell][0] for cell in cells])
        gain = np.linalg.solve(joint, np.full(len(cells), 0.25))
        return 0.5 + gain @ (means - 0.5), math.sqrt(0.25 - 0.25 * gain.sum())

    def confidence(self, rewards):
        n, w = len(rewards), self.weight
        radius = math.sqrt(w / (2 * n))
        if n > 1:
            radius = min(radius, math.sqrt(2 * np.var(rewards, ddof=1) * w / n) + 7 * w / (3 * (n - 1)))
        return radius

    def bound(self, cell):
        """The least bound of a cell and of those above it."""
        rewards, above = self.rewards.get(cell), int(self.tree.parents[cell])
        own = np.mean(rewards) + self.confidence(rewards) + self.radius(cell) if rewards else math.inf
        return min(own, self.ceiling if above < 0 else self.bound(above))

    def judge(self, cell):
        self.judged[cell] = self.now
        if self.theory:
            rewards = self.rewards.get(cell, [])
            self.spreads[cell] = self.confidence(rewards) if rewards else math.inf
            key = self.bound(cell)
        else:
            mean, self.spreads[cell] = self.krige(self.place(cell))
            beta = max(self.constants.BETA, math.sqrt(max(0.0, 2 * self.log - 2 * math.log(CALM))))
            bonus = beta * self.spreads[cell]
            key = mean + bonus + self.constants.ALPHA * self.radius(cell)
        self.keys[cell] = key + self.ties(cell)

    def ask(self):
        kappa = 1.0 if self.theory else self.constants.KAPPA
        while True:
            cell = max(sorted(self.keys), key=self.keys.get)
            if self.judged.get(cell) != self.now:
                self.judge(cell)
            elif cell in self.rewards and kappa * self.spreads[cell] < self.radius(cell) and self.halves(cell):
                key = self.keys.pop(cell)
                for half in self.halves(cell):
                    self.keys[half] = key - self.ties(cell) + self.ties(half)
            else:
                return cell

    def tell(self, cell, reward):
        rewards = self.rewards.setdefault(cell, [])
        extra = self.constants.EXTRA
        if rewards:
            mean = (sum(rewards) + extra / 2) / (len(rewards) + extra)
            grown = np.var([*rewards, reward]) * (len(rewards) + 1) - np.var(rewards) * len(rewards)
            self.residual += grown / max(mean * (1 - mean), 0.01)
            self.freedom += 1
        rewards.append(reward)
        self.weigh(cell)
        visits = len(rewards)
        if self.theory or visits >= self.due.get(cell, 0):
            self.due[cell] = self.next_due(visits)
            self.now += not self.theory
            self.judge(cell)
        self.rounds += 1
        if self.rounds >= 64 and math.log2(self.rounds).is_integer():
            self.review()

    def next_due(self, visits):
        return visits + max(1, math.floor(self.constants.JUDGED_AGAIN * visits))

    def review(self):
        for cell in self.rewards:
            self.weigh(cell)
            self.due[cell] = self.next_due(len(self.rewards[cell]))
        if self.learning and self.rounds:
            self.learn()
        self.now = 0
        self.judged = {}
        for cell in self.keys:
            self.judge(cell)

    def learn(self):
        """Take the largest slope beyond doubt between cells and the nearest above them, or the one visited most."""
        busiest = max(sorted(self.rewards), key=lambda cell: len(self.rewards[cell]))
        doubt = math.sqrt(2 * math.log(2 * len(self.rewards)))
        slopes = [self.first]
        for cell in self.rewards:
            above = int(self.tree.parents[cell])
            while above >= 0 and above not in self.rewards:
                above = int(self.tree.parents[above])
            for other in {above, busiest} - {-1, cell}:
                (a, noise), (b, other_noise) = self.values[cell], self.values[other]
                change = abs(a - b) - doubt * math.sqrt(noise + other_noise)
                if (distance := np.linalg.norm(self.place(cell) - self.place(other))) > 0:
                    slopes.append(change / distance)
        self.scale = max(slopes)


def bump(x, p, length_scale):
    """The Matern-5/2 kernel, as it is written down."""
    r = math.dist(x, p)
    u = math.sqrt(5) * r / length_scale
    return (1 + u + 5 * r**2 / (3 * length_scale**2)) * math.exp(-u)


def bump_sum(x, places, weights, length_scale):
    return sum(w * bump(x, p, length_scale) for p, w in zip(places, weights, strict=True))
