"""Four workers on one agent: asks in batches, answers late and out of order, one of them never, and a restart.

Three identical pumps share the load; what matters is the noisy efficiency of a setting, not which
pump has which.
"""

import tempfile
from pathlib import Path

import numpy as np

import orbandit as ob


def main() -> None:
    """Ask, measure elsewhere, tell; save in the middle and go on."""
    pumps, alike = ob.spaces.Box(0.0, 1.0, dim=3), ob.groups.Symmetric(3)
    agent = ob.agents.OrbitTree(pumps, alike, horizon=4000, reward_range=(0.0, 100.0), lipschitz=None, seed=0)
    rng = np.random.default_rng(1)

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "pumps.npz"
        for shift in range(2):
            for _ in range(400):
                *answered, lost = rng.permutation(agent.ask_batch(4))  # out of order
                for setting in answered:
                    agent.tell(setting, efficiency(setting, rng))
                agent.forget(lost)  # the fourth worker broke down
            agent.save(file)
            agent = ob.agents.OrbitTree.load(file)
            print(f"after shift {shift + 1}: {agent}")
    best = agent.recommend()
    print(f"recommended {np.round(best, 2).tolist()}, expected {agent.estimate(best):.0f} of 100")


def efficiency(setting: np.ndarray, rng: np.random.Generator) -> float:
    """Measure a setting, best when the pumps run at 20, 50 and 80 per cent in any order."""
    mean = 90 - 100 * np.abs(np.sort(setting) - [0.2, 0.5, 0.8]).mean()
    return float(np.clip(mean + 5 * rng.standard_normal(), 0, 100))


if __name__ == "__main__":
    main()
