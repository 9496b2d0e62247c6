"""How fine a mesh to play on, for n rounds: two rules for delta.

    order       delta = (log n / (n |G|))^(1/(d+2)),                    Theorem 1
    measured    n delta^2 = K(delta) log n, K the size of the quotient net: what Theorem 1's choice balances,
                with the net's own size in place of c delta^-d / |G|

The first needs a finite group, and delta < c / |G| for its premise to hold: for an infinite group it is 0, for S_20
absurd. The second works for any group. Both are for rewards in [0, 1] and a Lipschitz constant of 1; distances in X are
`scale` = L / (high - low) times shorter.
"""

import math

from orbandit.errors import InputError, MeshTooLargeError
from orbandit.groups import Group, Trivial
from orbandit.meshes import Mesh, net, quotient_net
from orbandit.meshes.nets import log_least_size
from orbandit.spaces import Space

MANY = 10_000
"""Groups with more elements than this get the measured rule unless the caller names one."""

CLOSE = 1.02
"""The measured delta is within this factor of the smallest."""


def order_delta(n: int, order: int | float, dim: int) -> float:
    """Return delta by the order of the group."""
    if order == math.inf:
        raise InputError('delta="order" needs a finite group, but this one is infinite; use delta="measured".')
    log_n = math.log(max(n, 2))
    return math.exp((math.log(log_n) - math.log(n) - math.log(order)) / (dim + 2))


def measured_net(space: Space, group: Group | None, n: int, scale: float) -> Mesh:
    """Return the finest quotient net with K log n <= n min(1, delta)^2, to within a few per cent of delta."""
    symmetry = group or Trivial(space.dim)

    def affordable(delta: float) -> Mesh | None:
        most = n * min(1.0, scale * delta) ** 2 / math.log(max(n, 2))  # rewards differ by 1 at most
        if most < 1 or log_least_size(space, symmetry, delta) > math.log(most):
            return None
        try:
            mesh = quotient_net(space, symmetry, delta) if group else net(space, delta)
        except MeshTooLargeError:
            return None
        return mesh if len(mesh) <= most else None

    fine, coarse = None, space.diameter
    best = affordable(coarse) or quotient_net(space, symmetry, coarse)  # one arm, if even that is too much
    while fine is None or coarse / fine > CLOSE:
        delta = coarse / 2 if fine is None else math.sqrt(coarse * fine)
        mesh = affordable(delta)
        if mesh is None:
            fine = delta
        else:
            best, coarse = mesh, delta
    return best
