"""(a) Proposition 2 and the Dirichlet domain; (b) Lemma 1; (c) Propositions 3 and 4, and Lemma 2."""

import math
from collections.abc import Iterator
from functools import partial

import numpy as np

from orbandit.experiments.verification.lines import Line, Step, Verdict, judged
from orbandit.groups import Coxeter, Cyclic, CyclicShift, Dihedral, Group, Symmetric
from orbandit.meshes import OrbitGraph, net, orbit_neighbors, quotient_net
from orbandit.spaces import Ball, Box, Polytope, Space

Setting = tuple[str, Space, Group]

MAX_RATIO = 3.0
"""Largest constant of Lemmas 1 and 2, over that of the whole space, accepted at the finest
scale."""


def settings() -> list[Setting]:
    """Return the spaces and groups tested.

    Reflection groups, and rotations, whose domains have other walls.
    """
    return [
        ("cube, S_3", Box(0.0, 1.0, dim=3), Symmetric(3)),
        ("icosahedron, H_3", Polytope.regular("icosahedron"), Coxeter("H3")),
        ("disk, D_5", Ball(2), Dihedral(5)),
        ("disk, C_7", Ball(2), Cyclic(7)),
        ("cube, shifts", Box(0.0, 1.0, dim=3), CyclicShift(3)),
    ]


def steps(quick: bool) -> list[Step]:
    """Return the steps of (a), (b) and (c)."""
    size = 2_000 if quick else 20_000
    scales = (0.2, 0.1, 0.05) if quick else (0.2, 0.14, 0.1, 0.07, 0.05, 0.035)
    every = settings()
    return [
        *(Step(f"(a) domains: {s[0]}", size / 8000, partial(domain_lines, s, size)) for s in every),
        *(Step(f"(b) Lemma 1: {s[0]}", 1.0, partial(covering_lines, s, scales)) for s in every),
        *(Step(f"(c) cliques: {s[0]}", 2.0, partial(clique_lines, s, scales[:-1])) for s in every[:3]),
    ]


def domain_lines(setting: Setting, size: int) -> Iterator[Line]:
    """Prop. 2: the images of the domain are disjoint and cover X. Def. 2: it is what is nearest to its point."""
    name, space, group = setting
    rng = np.random.default_rng(0)
    points, domain = space.sample(size, rng), group.domain()
    images = group.act(group.elements(), points)
    heights = (images - group.center) @ domain.normals.T
    within = (heights.min(axis=2) > 0).sum(axis=0)
    touching = (heights.min(axis=2) >= -1e-9).sum(axis=0)
    share = float(domain.contains(points).mean())
    error = math.sqrt(share * (1 - share) / size)
    yield Line(
        "a",
        f"Prop. 2 on the {name}",
        "images of D are disjoint and cover X",
        f"{size:,} points (seed 0): in {within.min()} to {within.max()} open images and {touching.min()} or more "
        f"closed ones; D holds {share:.4f} +- {error:.4f} of X, 1/|G| = {1 / group.order:.4f}",
        judged(within.max() == 1 and touching.min() >= 1 and abs(share - 1 / group.order) <= 4 * error + 1 / size),
    )
    anchor = group.fold(space.sample(1, rng)[0])
    about = group.domain(anchor)
    nearest = np.linalg.norm(points[:, None] - group.orbit(anchor), axis=2).argmin(axis=1) == 0
    wrong = int((np.asarray(about.contains(points)) != nearest).sum())
    yield Line(
        "a",
        f"Def. 2 on the {name}",
        "D = points nearer to x° than to its images",
        f"{wrong} of {size:,} points differ, x° random; {len(about.normals)} faces for {group.order} elements",
        judged(wrong == 0),
    )


def covering_lines(setting: Setting, scales: tuple[float, ...]) -> Iterator[Line]:
    """Lemma 1: a net of D has |G| times fewer points than one of X, but for those near walls, ever fewer."""
    name, space, group = setting
    sizes = [len(quotient_net(space, group, delta)) for delta in scales]
    whole = [len(net(space, delta)) for delta in scales]
    yield _shrinking("b", f"Lemma 1 on the {name}", "|net of D| <= c delta^-d / |G|", sizes, whole, group, scales)


def clique_lines(setting: Setting, scales: tuple[float, ...]) -> Iterator[Line]:
    """Props. 3 and 4: the graph is undirected and N(i, delta) a clique of G_2delta; Lemma 2: how many cover it."""
    name, space, group = setting
    counts, blind, broken, one_way, checked = [], [], 0, 0, 0
    for delta in scales:
        mesh = net(space, delta)
        graph = OrbitGraph(mesh, group, 2 * delta)
        counts.append(len(graph.clique_cover()))
        blind.append(len(OrbitGraph(mesh, None, 2 * delta).clique_cover()))
        some = np.unique(np.linspace(0, len(mesh) - 1, 200).astype(int))
        for i, ball in zip(some, orbit_neighbors(mesh, group, mesh.points[some], delta), strict=True):
            checked += 1
            broken += any(not np.isin(ball, graph.neighbors(int(j))).all() for j in ball)
            one_way += any(i not in graph.neighbors(int(j)) for j in graph.neighbors(int(i)))
    yield Line(
        "c",
        f"Props. 3 and 4 on the {name}",
        "the graph is undirected; N(i, delta) is a clique of G_2delta",
        f"{one_way} edges in one direction only, {broken} sets N that are no clique, at {checked} vertices",
        judged(broken == 0 and one_way == 0),
    )
    says = "cliques to cover G_2delta <= c delta^-d / |G|"
    yield _shrinking("c", f"Lemma 2 on the {name}, full mesh", says, counts, blind, group, scales)


def _shrinking(
    part: str, claim: str, says: str, sizes: list[int], whole: list[int], group: Group, scales: tuple[float, ...]
) -> Line:
    """Judge whether |G| sizes / whole is a constant, not |G| as it would be without the group.

    While it is larger but falls, delta is not yet below c / |G|, which the lemmas need: that stays
    open.
    """
    ratios = [group.order * size / all_of_it for size, all_of_it in zip(sizes, whole, strict=True)]
    limit = min(MAX_RATIO, 0.6 * group.order)
    verdict = Verdict.OPEN if ratios[-1] <= 0.9 * ratios[0] else Verdict.FAIL
    verdict = Verdict.PASS if ratios[-1] < limit else verdict
    shown = ", ".join(f"{ratio:.2f} at {delta:g}" for ratio, delta in zip(ratios, scales, strict=True))
    return Line(
        part,
        claim,
        says,
        f"times |G| / the number without the group: {shown} (criterion: the last below {limit:g})",
        verdict,
    )
