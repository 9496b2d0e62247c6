"""Four runs of a simulator at a time, some of which crash: threads, a callback, and failures that are avoided."""

import time

import numpy as np

import orbandit as ob
from orbandit.optimize import State


def throughput(speeds: np.ndarray) -> float:
    """Simulate three identical pumps for a while; above a common limit the pipe bursts, and the run crashes."""
    time.sleep(0.01)  # a real simulator takes longer
    if speeds.sum() > 1.6:
        raise RuntimeError("the pipe burst")
    return float(70 - 100 * np.abs(np.sort(speeds) - [0.2, 0.5, 0.8]).sum())


def watch(state: State) -> bool:
    """Say how far it is now and then, and end the search when it is good enough."""
    done = len(state.history) + len(state.history.failed)
    if done % 20 == 0:
        print(f"after {done} runs: speeds {np.round(np.sort(state.recommend()), 2).tolist()}")
    return state.value > 69  # of the last run, NaN if that crashed


def main() -> None:
    """Search, and say what crashed."""
    speeds, alike = ob.spaces.Box(0.0, 1.0, dim=3), ob.groups.Symmetric(3)
    best = ob.maximize(throughput, speeds, alike, budget=100, workers=4, failures="avoid", callback=watch, seed=0)
    print(f"speeds {np.round(np.sort(best.point), 2).tolist()} give about {best.value:.0f} litres a second")
    print(f"{len(best.history)} runs gave a value, {len(best.history.failed)} crashed")
    random = np.mean(speeds.sample(1000, np.random.default_rng(0)).sum(axis=1) > 1.6)
    print(f"of random speeds {random:.0%} crash")


if __name__ == "__main__":
    main()
