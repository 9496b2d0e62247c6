"""A problem of one's own: three exchangeable pumps, checked for what is claimed of it, then played."""

import numpy as np

import orbandit as ob


def efficiency(x: np.ndarray) -> np.ndarray:
    """Return the mean at each row of three speeds: best at 0.2, 0.5 and 0.9, in any order."""
    means: np.ndarray = 0.9 - 0.8 * np.linalg.norm(np.sort(x, axis=1) - [0.2, 0.5, 0.9], axis=1) / np.sqrt(3)
    return means


def main() -> None:
    """Claim a slope that is too small, see it found, mend it, and play."""
    cube, pumps = ob.spaces.Box(0.0, 1.0, dim=3), ob.groups.Symmetric(3)
    noise = ob.problems.ClippedGaussian(0.1)
    for lipschitz in (0.4, 0.8 / np.sqrt(3)):
        problem = ob.problems.Function(
            efficiency, cube, pumps, optimizer=[0.2, 0.9, 0.5], lipschitz=lipschitz, noise=noise
        )
        print(f"lipschitz = {lipschitz:.3f}: {ob.problems.check(problem)}")
    runs = ob.simulate(ob.agents.OrbitTree, problem, horizon=2_000, seeds=4)
    print(runs)


if __name__ == "__main__":
    main()
