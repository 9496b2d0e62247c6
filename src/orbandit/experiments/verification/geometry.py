"""(a) Proposition 2 and the Dirichlet domain; (b) Lemma 1; (c) Propositions 3 and 4, and Lemma 2."""

import math
from collections.abc import Iterator
from functools import partial

import numpy as np

from orbandit._checks import Array
from orbandit.experiments.verification.lines import Line, Step, judged
from orbandit.groups import Coxeter, Cyclic, CyclicShift, Dihedral, Group, Symmetric
from orbandit.meshes import OrbitGraph, net, orbit_neighbors, quotient_net
from orbandit.spaces import Ball, Box, Polytope, Space

Setting = tuple[str, Space, Group]


def settings() -> list[Setting]:
    """Return the spaces and groups looked at: reflection groups, and rotations, whose domains have other walls."""
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
        *(
            Step(f"(c) cliques: {s[0]}", 2.0, partial(clique_lines, s, scales[: -2 if len(scales) > 3 else -1]))
            for s in every[:3]
        ),
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
    """Lemma 1: the size of a net of D times |G| delta^d stays below its value at the coarsest delta."""
    name, space, group = setting
    d = space.intrinsic_dim
    sizes = np.array([len(quotient_net(space, group, delta)) for delta in scales])
    yield Line(
        "b",
        f"Lemma 1 on the {name}",
        "|net of D| <= c delta^-d / |G|",
        _products(sizes, group, d, scales),
        judged(_bounded(sizes * np.power(scales, d))),
    )


def clique_lines(setting: Setting, scales: tuple[float, ...]) -> Iterator[Line]:
    """Props. 3 and 4: the graph is undirected and N(i, delta) a clique of G_2delta; Lemma 2: how many cover it."""
    name, space, group = setting
    d = space.intrinsic_dim
    counts, broken, one_way, checked = [], 0, 0, 0
    for delta in scales:
        mesh = net(space, delta)
        graph = OrbitGraph(mesh, group, 2 * delta)
        counts.append(len(graph.clique_cover()))
        some = np.unique(np.linspace(0, len(mesh) - 1, 200).astype(int))
        for i, ball in zip(some, orbit_neighbors(mesh, group, mesh.points[some], delta), strict=True):
            checked += 1
            broken += any(not np.isin(ball, graph.neighbors(int(j))).all() for j in ball)
            one_way += any(i not in graph.neighbors(int(j)) for j in graph.neighbors(int(i)))
    yield Line(
        "c",
        f"Props. 3 and 4 on the {name}",
        "edges go both ways; N(i, delta) is a clique of G_2delta",
        f"{one_way} one-way edges, {broken} broken cliques, at {checked} vertices",
        judged(broken == 0 and one_way == 0),
    )
    yield Line(
        "c",
        f"Lemma 2 on the {name}, full mesh",
        "cliques to cover G_2delta <= c delta^-d / |G|",
        _products(np.array(counts), group, d, scales),
        judged(_bounded(np.array(counts) * np.power(scales, d))),
    )


def _products(sizes: Array, group: Group, d: int, scales: tuple[float, ...]) -> str:
    values = sizes * float(group.order) * np.power(scales, d)
    return "times |G| delta^d: " + ", ".join(f"{v:.2f} at {delta:g}" for v, delta in zip(values, scales, strict=True))


def _bounded(values: Array) -> bool:
    """Tell whether the value at the coarsest scale is a bound for all finer ones, and the finest well below it."""
    return bool((values[1:] <= values[0]).all() and values[-1] < 0.9 * values[0])
