"""Two atoms that explain the patches of a photograph, learnt from ten patches at a time, with the symmetry and without.

Atoms may change places and signs: 8 dictionaries are one. Neither agent is told the Lipschitz
constant, which is that of atoms shorter than half, where no good dictionary is.
"""

from pathlib import Path

import numpy as np

import orbandit as ob


def main() -> None:
    """Play both, print their regret, and draw it."""
    problem = ob.problems.DictionaryLearning(ob.problems.image_patches("moon", size=(2, 2)), atoms=2, batch=10)
    print(f"the best two atoms explain {problem.optimum:.1%} of the patches; as pixels:")
    for atom in problem.optimizer.reshape(2, -1) @ ob.problems.patch_basis((2, 2)):
        print(np.array2string(np.abs(atom[0]) / atom[0] * atom.reshape(2, 2), precision=2, suppress_small=True))
    runs = {
        "knowing the group": ob.simulate(ob.agents.OrbitTree, problem, 2_000, seeds=4, lipschitz=None),
        "blind": ob.simulate(ob.agents.OrbitTree, problem, 2_000, seeds=4, lipschitz=None, use_group=False),
    }
    means = {name: float(run.regret[:, -1].mean()) for name, run in runs.items()}
    for name, regret in means.items():
        print(f"{name:>17}: regret {regret:.1f}")
    print(f"{'ratio':>17}: {means['knowing the group'] / means['blind']:.2f}")
    path = Path("out") / "dictionary_learning.png"
    ob.reports.regret_picture(runs, path, "Two atoms for patches of 2 x 2 pixels")
    print(f"{'picture':>17}: {path}")


if __name__ == "__main__":
    main()
