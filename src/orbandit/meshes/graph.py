"""OrbitGraph: the graph G_eps that a group induces on a mesh (Section 3.1, Definition 3).

Two vertices are neighbours if their orbits come within eps of each other: d_G(i, j) <= eps. A
reward of one arm is a side observation of its neighbours, with a bias of at most L eps.
"""

from typing import TYPE_CHECKING, final

import numpy as np
import numpy.typing as npt

from orbandit._checks import as_count, shown
from orbandit.errors import InputError, MeshTooLargeError, MissingExtraError
from orbandit.groups import Group
from orbandit.meshes.mesh import Mesh
from orbandit.meshes.neighbors import ByFold, Indices, Pointers, search

if TYPE_CHECKING:
    import networkx

MAX_NEIGHBORS = 400_000_000
"""Most neighbours listed in total, 1.6 GB, unless the caller allows more."""


@final
class OrbitGraph:
    """Neighbour lists of the vertices of a mesh; each vertex is its own neighbour.

    Parameters
    ----------
    mesh : Mesh
        The vertices.
    group : Group or None
        The symmetry; None is no symmetry.
    radius : float
        The eps of G_eps, non-negative; distances up to radius (1 + 1e-9) are within it.
    limit : int
        Most neighbours to list in total.

    Raises
    ------
    MeshTooLargeError
        If there would be more than `limit`, estimated from a sample before anything is built.

    Examples
    --------
    >>> import orbandit as ob
    >>> mesh = ob.meshes.Mesh([[0.1, 0.9], [0.9, 0.1], [0.5, 0.5]], delta=0.3)
    >>> graph = ob.meshes.OrbitGraph(mesh, ob.groups.Symmetric(2), radius=0.2)
    >>> graph.indptr.tolist(), graph.indices.tolist()
    ([0, 2, 4, 5], [0, 1, 0, 1, 2])
    >>> [clique.tolist() for clique in graph.clique_cover()]
    [[0, 1], [2]]
    """

    def __init__(self, mesh: Mesh, group: Group | None, radius: float, limit: int = MAX_NEIGHBORS) -> None:
        searcher = search(mesh, group, radius)
        self._mesh, self._group, self._radius = mesh, group, float(radius)
        sample = np.linspace(0, len(mesh) - 1, 2_000 if isinstance(searcher, ByFold) else 64).astype(np.intp)
        about = int(searcher.counts(mesh.points[np.unique(sample)]).mean() * len(mesh))
        if about > as_count(limit, "limit"):
            raise MeshTooLargeError(
                f"the graph on {shown(mesh)} at radius {radius:.3g} would list about {about:,} neighbours "
                f"({4e-9 * about:.1f} GB), more than `limit`={limit:,}; use a quotient mesh, a larger delta, or a "
                "larger `limit`."
            )
        if isinstance(searcher, ByFold):
            self._indptr, self._indices = searcher.within(mesh.points)
        else:
            self._indptr, self._indices = _symmetric(*searcher.within(mesh.points))
        for array in (self._indptr, self._indices):
            array.flags.writeable = False

    def __len__(self) -> int:
        return len(self._mesh)

    def __repr__(self) -> str:
        return f"OrbitGraph(<{len(self)} vertices, {len(self._indices)} neighbours>, radius={self._radius:.4g})"

    @property
    def mesh(self) -> Mesh:
        """The vertices."""
        return self._mesh

    @property
    def group(self) -> Group | None:
        """The group, if there is one."""
        return self._group

    @property
    def radius(self) -> float:
        """The eps of G_eps."""
        return self._radius

    @property
    def indptr(self) -> Pointers:
        """The neighbours of vertex i are indices[indptr[i]:indptr[i + 1]]."""
        return self._indptr

    @property
    def indices(self) -> Indices:
        """Neighbours, sorted for each vertex, the vertex itself included."""
        return self._indices

    def neighbors(self, vertex: int) -> Indices:
        """Return the sorted neighbours of a vertex, itself included.

        Parameters
        ----------
        vertex : int
            Index of a point of the mesh.
        """
        if not 0 <= as_count(vertex, "vertex", minimum=0) < len(self):
            raise InputError(f"`vertex` must be below {len(self)}, but got {vertex}.")
        return self._indices[self._indptr[vertex] : self._indptr[vertex + 1]]

    def clique_cover(self) -> list[Indices]:
        """Return a partition of the vertices into cliques.

        Vertices within radius / 2 of one orbit are within radius of each other (Proposition 4):
        each clique begins as what is left of such a ball N(i, radius / 2) when it is reached, the
        largest balls first, and takes in what else is left and a neighbour of all of it.
        """
        indptr, indices = search(self._mesh, self._group, self._radius, share=0.5).within(self._mesh.points)
        left = np.ones(len(self), dtype=bool)
        cliques = []
        for i in np.argsort(-np.diff(indptr), kind="stable"):
            if left[i]:
                ball = indices[indptr[i] : indptr[i + 1]]
                clique = self._grown(ball[left[ball]], left)
                left[clique] = False
                cliques.append(clique)
        return cliques

    def _grown(self, clique: Indices, left: npt.NDArray[np.bool_]) -> Indices:
        """Return the clique with vertices that are left and neighbours of all its members, one after the other."""
        common = self.neighbors(int(clique[0]))
        common = common[left[common]]
        for vertex in clique[1:]:
            common = np.intersect1d(common, self.neighbors(int(vertex)), assume_unique=True)
        members = clique.tolist()
        outside = np.setdiff1d(common, clique, assume_unique=True)
        while len(outside):
            members.append(int(outside[0]))
            outside = np.intersect1d(outside[1:], self.neighbors(members[-1]), assume_unique=True)
        return np.sort(np.array(members, dtype=clique.dtype))

    def independent_set(self) -> Indices:
        """Return a maximal set of vertices no two of which are neighbours, sorted.

        Vertices with few neighbours are taken first.
        """
        free = np.ones(len(self), dtype=bool)
        chosen = []
        for i in np.argsort(np.diff(self._indptr), kind="stable"):
            if free[i]:
                chosen.append(i)
                free[self.neighbors(i)] = False
        return np.sort(np.array(chosen, dtype=np.int32))

    def to_networkx(self) -> "networkx.Graph[int]":
        """Return the graph for networkx, without loops; needs the extra `orbandit[graph]`."""
        try:
            import networkx
        except ImportError as error:
            raise MissingExtraError("to_networkx needs networkx: install orbandit with the extra `graph`.") from error
        graph: networkx.Graph[int] = networkx.Graph()
        graph.add_nodes_from(range(len(self)))
        vertex = np.repeat(np.arange(len(self)), np.diff(self._indptr))
        once = vertex < self._indices
        graph.add_edges_from(zip(vertex[once].tolist(), self._indices[once].tolist(), strict=True))
        return graph


def _symmetric(indptr: Pointers, indices: Indices) -> tuple[Pointers, Indices]:
    """Make a pair that rounding put within the border on one side only a pair on both."""
    from scipy.sparse import csr_array

    size = len(indptr) - 1
    one_way = csr_array((np.ones(len(indices), dtype=np.int8), indices, indptr), shape=(size, size))
    other_way = one_way.T.tocsr()
    if np.array_equal(one_way.indices, other_way.indices) and np.array_equal(one_way.indptr, other_way.indptr):
        return indptr, indices
    both = (one_way + other_way).tocsr()
    both.sort_indices()
    return both.indptr.astype(np.int64), both.indices.astype(np.int32)
