"""MeshAgent: what agents on a mesh of a space share; each says who learns from a reward, and what is played.

Settings -> delta -> mesh -> table. Delta and points are in units of X.

Without a horizon the agent plans for epochs that double. Each has its own, finer mesh, and all rewards so far are told
to it, each at the point where it was observed.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from orbandit._checks import Array, as_finite, as_point, as_points, as_positive, shown, unknown_name
from orbandit._kernels.arms import ArmArray
from orbandit.agents.base import ELSEWHERE, Seed, as_batch, as_stream
from orbandit.agents.files import Arrays
from orbandit.agents.finite import FiniteAgent
from orbandit.agents.scales import MANY, measured_net, order_delta
from orbandit.agents.sizes import check_sizes
from orbandit.agents.spatial import SpatialAgent, point_of
from orbandit.errors import InputError, InputTypeError, MeshTooLargeError
from orbandit.groups import Group
from orbandit.meshes import Mesh, net, quotient_net
from orbandit.spaces import Space


class MeshAgent(SpatialAgent, FiniteAgent):
    """Plays points of a mesh."""

    _mesh: Mesh
    _arms: Mesh
    _told: list[tuple[Array, float, float]]

    def __init__(
        self,
        space: Space,
        group: Group | None = None,
        *,
        horizon: int | None = None,
        lipschitz: float = 1.0,
        reward_range: tuple[float, float] = (0.0, 1.0),
        mesh: str | Mesh = "quotient",
        delta: str | float = "auto",
        seed: Seed = None,
    ) -> None:
        self._configure(
            space=space,
            group=group,
            horizon=horizon,
            lipschitz=lipschitz,
            reward_range=reward_range,
            mesh=mesh,
            delta=delta,
        )
        self._rng = as_stream(seed)
        self._told = []
        self._begin(self._make_mesh())

    def _configure(
        self,
        *,
        space: Space,
        group: Group | None,
        lipschitz: float,
        mesh: str | Mesh,
        delta: str | float,
        **common: Any,
    ) -> None:
        self._configure_common(**common)
        self._configure_space(space, group, lipschitz)
        self._mesh_setting = self._checked_mesh(mesh)
        self._delta_setting = self._checked_delta(delta)

    @property
    def mesh(self) -> Mesh:
        """The points played now."""
        return self._mesh

    @property
    def delta(self) -> float:
        """The scale of the mesh, in units of the space."""
        return self._mesh.delta

    _meshes: tuple[str, ...] = ("quotient",)
    """The names of meshes that may be asked for."""

    def _reach_all(self, points: Array) -> tuple[npt.NDArray[np.int64], ArmArray]:
        """Return (indptr, indices): the arms that learn from a reward at each point; here, the nearest one."""
        nearest = np.asarray(self._arms.nearest(points))
        return np.arange(len(nearest) + 1), nearest.astype(np.int32)

    def _connect(self) -> None:
        """Make what the agent needs besides the table, as lists of arms that learn from each other's rewards."""

    def _checked_mesh(self, mesh: str | Mesh) -> str | Mesh:
        if isinstance(mesh, Mesh):
            check_sizes(mesh.space, mesh.group)
            inside = mesh.dim == self._space.dim and self._space.contains(mesh.points, tol=self._space.tolerance)
            if not np.all(inside):
                raise InputError(f"`mesh` must have points of {shown(self._space)}, but {shown(mesh)} has others.")
            return mesh
        if not isinstance(mesh, str):
            raise InputTypeError(f"`mesh` must be a Mesh or one of {', '.join(self._meshes)}, but got {shown(mesh)}.")
        if mesh not in self._meshes:
            raise unknown_name("mesh", mesh, self._meshes)
        return mesh

    def _checked_delta(self, delta: str | float) -> str | float:
        if not isinstance(delta, str):
            delta = as_positive(delta, "delta")
        elif delta not in ("auto", "order", "measured"):
            raise unknown_name("rule for delta", delta, ("auto", "order", "measured"))
        if isinstance(self._mesh_setting, Mesh) and delta != "auto":
            raise InputError(f"a given mesh has its own delta, but got delta={shown(delta)} too; drop it.")
        return delta

    def _make_mesh(self) -> Mesh:
        """Return the mesh for the present horizon."""
        if isinstance(self._mesh_setting, Mesh):
            return self._mesh_setting
        rule = self._delta_setting
        if rule == "auto":
            rule = "measured" if self._group is not None and self._group.order > MANY else "order"
        if rule == "measured":
            measured = measured_net(self._space, self._group, self._goal, self._scale)
            if self._mesh_setting == "quotient":
                return measured
            delta = measured.delta
        elif isinstance(rule, str):
            order = 1 if self._group is None else self._group.order
            delta = order_delta(self._goal, order, self._space.intrinsic_dim) / self._scale
        else:
            delta = rule
        return self._named_mesh(delta)

    def _named_mesh(self, delta: float) -> Mesh:
        if self._mesh_setting == "full" or self._group is None:
            return net(self._space, delta)
        return quotient_net(self._space, self._group, delta)

    def _begin(self, mesh: Mesh, priorities: Array | None = None) -> None:
        """Start on a mesh, with its arms numbered by priority."""
        self._mesh = self._distinct(mesh)
        self._open(len(self._mesh), priorities)
        self._arms = self._numbered()
        self._connect()

    def _distinct(self, mesh: Mesh) -> Mesh:
        """Return the mesh without points that are there twice, since an arm is known by its point."""
        first = np.sort(np.unique(mesh.points, axis=0, return_index=True)[1])
        return mesh if len(first) == len(mesh) else Mesh(mesh.points[first], mesh.delta, mesh.space, mesh.group)

    def _numbered(self) -> Mesh:
        """Return the mesh with its points in the order of their numbers, and no negative zeros."""
        return Mesh(self._mesh.points[self._order] + 0.0, self._mesh.delta, self._space, self._group)

    def _point(self, arm: int) -> Array:
        return np.array(self._arms.points[arm])

    def _points(self) -> npt.NDArray[Any]:
        return self._arms.points

    def _nearest(self, point: Any) -> int:
        return int(self._arms.nearest(self._inside(point)))

    def _reach(self, point: Any) -> ArmArray:
        inside = self._inside(point)
        arms = self._reach_all(inside[None])[1]
        if not len(arms):
            raise InputError(f"no point of the mesh learns from {shown(inside)}: it does not cover the space.")
        return arms

    def tell_batch(self, points: Sequence[Any] | npt.NDArray[Any], rewards: npt.ArrayLike) -> None:
        """Learn the rewards of several points, at once where that can be; if one of them is refused, none is learnt."""
        points = as_batch(points)
        pending = self._last is not None or self._asked
        if pending or self._refines or not len(points):
            super().tell_batch(points, rewards)
            return
        batch, values = as_points(points, self._space.dim)[0], as_finite(rewards, "rewards")
        if values.shape != (len(batch),):
            raise InputError(f"`rewards` must be one for each of {len(batch)} points, but has shape {values.shape}.")
        scaled = np.array([self._scaled(value) for value in values.tolist()])
        for outside in batch[~np.asarray(self._space.contains(batch, tol=self._space.tolerance))]:
            self._inside(outside)  # refuses it
        indptr, arms = self._reach_all(batch)
        sizes = np.diff(indptr)
        if not sizes.all():
            self._reach(batch[np.argmin(sizes)])  # refuses it
        self._table.add(arms, np.repeat(scaled, sizes), np.ones(len(arms)))
        self._rounds += len(batch)
        if self._rounds >= self._goal:
            self._advance()
        self._review()

    @property
    def _refines(self) -> bool:
        """Whether later epochs have other meshes."""
        return self._horizon is None and not self._is_fixed

    @property
    def _is_fixed(self) -> bool:
        """Whether the settings leave one mesh only, whatever the horizon."""
        return isinstance(self._mesh_setting, Mesh) or not isinstance(self._delta_setting, str)

    def _observe_elsewhere(self, point: Any, value: float, released: float) -> None:
        super()._observe_elsewhere(point, value, released)
        if self._refines:
            self._told.append((as_point(point, self._space.dim).copy(), value, 1.0))

    def _next_epoch(self) -> None:
        """Go on with the mesh for the new horizon; if it would be too large, with the one there is."""
        if not self._refines:
            self._renew()
            return
        try:
            mesh = self._make_mesh()
        except MeshTooLargeError:
            self._renew()
            return
        sums, counts = self._table.own()
        played = np.flatnonzero(counts)
        told = [*self._told, *zip(self._arms.points[played], sums[played], counts[played], strict=True)]
        asked = self._asked
        self._begin(mesh)
        self._told = told
        points, sums, counts = self._told_arrays()
        indptr, arms = self._reach_all(points)
        sizes = np.diff(indptr)
        self._table.add(arms, np.repeat(sums, sizes), np.repeat(counts, sizes))
        self._resume()
        for key, handles in asked.items():
            self._asked[key] = [ELSEWHERE] * len(handles)
            self._table.expect(self._reach(point_of(key)), float(len(handles)))

    def _resume(self) -> None:
        """Do what is due once a new mesh knows all that was observed."""

    def _told_arrays(self) -> tuple[Array, Array, Array]:
        """Return the points observed but not as arms of this mesh, with the sums and counts of their rewards."""
        points = np.array([point for point, _, _ in self._told]).reshape(-1, self._space.dim)
        return points, np.array([s for _, s, _ in self._told]), np.array([c for _, _, c in self._told])

    def _frozen(self) -> tuple[dict[str, Any], dict[str, Any], Arrays]:
        arrays = self._table_arrays()
        points, sums, counts = self._told_arrays()
        arrays |= {"mesh": self._mesh.points, "asked": self._asked_points()}
        arrays |= {"told_points": points, "told_sums": sums, "told_counts": counts}
        settings = {**self._spatial_settings(), "mesh": self._mesh_setting, "delta": self._delta_setting}
        return settings, {"delta": self._mesh.delta}, arrays

    def _thaw(self, state: dict[str, Any], arrays: Arrays) -> None:
        self._mesh = Mesh(arrays["mesh"], state["delta"], self._space, self._group)
        self._checked_mesh(self._mesh)
        if self._distinct(self._mesh) is not self._mesh:
            raise ValueError("points that are there twice")
        self._set_table(arrays, len(self._mesh), self._asked_keys(arrays))
        points, sums, counts = arrays["told_points"], arrays["told_sums"], arrays["told_counts"]
        if points.shape != (len(sums), self._space.dim) or sums.shape != counts.shape or not (counts >= 1).all():
            raise ValueError("rewards and the points they were told of do not match")
        inside = self._space.contains(points, tol=self._space.tolerance) if len(points) else True
        if not (np.all(inside) and (sums >= 0).all() and (sums <= counts).all()):
            raise ValueError("rewards or points that were told and cannot be")
        self._told = list(zip(points, sums.tolist(), counts.tolist(), strict=True))
        self._arms = self._numbered()
        self._check_asks()
        self._connect()
