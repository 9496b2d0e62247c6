"""Published algorithms on trees: regret and speed beside PyXAB's, on boxes without a group, with the same constants.

Run as `python benchmarks/family.py`, or with some names of algorithms; needs the extra `bench` for
PyXAB; 10 minutes. HCT and VHCT are compared by their regret, the others by their simple regret,
SequOOL on rewards without noise. A peer that fails is named. Where PyXAB's takes minutes, there is
no n = 10,000, or only one seed of it.
"""

import sys
import time
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from PyXAB.algos.GPO import GPO
from PyXAB.algos.HCT import HCT
from PyXAB.algos.HOO import T_HOO
from PyXAB.algos.POO import POO
from PyXAB.algos.SequOOL import SequOOL
from PyXAB.algos.StoSOO import StoSOO
from PyXAB.algos.StroquOOL import StroquOOL
from PyXAB.algos.VHCT import VHCT
from PyXAB.algos.VROOM import VROOM

import orbandit as ob

A, G, S = ob.agents, ob.groups, ob.spaces
BOLD: dict[str, Any] = {"nu": 1.0, "rho": 0.5, "c": 0.1, "delta": 0.01}
PROBLEMS = {
    "interval": ob.problems.Cone(S.Box(0.0, 1.0, dim=1), G.Trivial(1), [0.37]),
    "square": ob.problems.Cone(S.Box(0.0, 1.0, dim=2), G.Trivial(2), [0.15, 0.7]),
}
SEEDS = 4


class Ends(NamedTuple):
    """Regret, simple regret and seconds per round of a run."""

    regret: float
    simple: float
    seconds: float


def main() -> None:
    """Print one line for each algorithm, problem and horizon."""
    pairs: dict[str, tuple[Any, Any]] = {
        "HCT": (partial(A.HCT, **BOLD), lambda n, domain: HCT(**BOLD, domain=domain)),
        "VHCT": (partial(A.VHCT, **BOLD), lambda n, domain: VHCT(**BOLD, domain=domain)),
        "StoSOO": (A.StoSOO, lambda n, domain: StoSOO(n=n, h_max=int(np.log(n) ** 1.5), domain=domain)),
        "SequOOL": (A.SequOOL, lambda n, domain: SequOOL(n=n, domain=domain)),
        "StroquOOL": (A.StroquOOL, lambda n, domain: StroquOOL(n=n, domain=domain)),
        "VROOM": (A.VROOM, lambda n, domain: VROOM(n=n, h_max=11, b=1, f_max=1, domain=domain)),
        "POO": (partial(A.POO, nu=1.0), lambda n, domain: POO(rounds=n, domain=domain, algo=T_HOO)),
        "GPO": (partial(A.GPO, nu=1.0), lambda n, domain: GPO(rounds=n, domain=domain, algo=T_HOO)),
    }
    for name in sys.argv[1:] or pairs:
        ours, peer = pairs[name]
        for place, problem in PROBLEMS.items():
            for n in (1_000,) if name in ("StoSOO", "VROOM") else (1_000, 10_000):
                noisy = name != "SequOOL"
                mine = [run(Asking(ours(problem.space, horizon=n, seed=s)), problem, n, s, noisy) for s in range(SEEDS)]
                speed = ob.simulate(ours, problem, n, seeds=4, jobs=1, checkpoints=[n]).seconds_per_round
                print(f"{name}, {place}, n = {n:,}: {shown(mine, name)}", end="; ", flush=True)
                try:
                    seeds = range(1 if n == 10_000 and name in ("POO", "GPO") else SEEDS)
                    theirs = [run(peer(n, [[0, 1]] * problem.space.dim), problem, n, s, noisy) for s in seeds]
                except (AttributeError, IndexError, TypeError) as error:
                    print(f"PyXAB fails: {error!r}")
                    continue
                ratio = np.median([end.seconds for end in theirs]) / speed
                print(f"PyXAB {shown(theirs, name)}; faster in a simulation by {ratio:.2g}")


def shown(ends: list[Ends], name: str) -> str:
    """Return the mean and the standard deviation of what an algorithm is for."""
    values = [end.regret if name in ("HCT", "VHCT") else end.simple for end in ends]
    spread = f" ({np.std(values, ddof=1):.2g})" if len(values) > 1 else ""
    return f"{np.mean(values):.4g}{spread}"


class Asking:
    """An agent with PyXAB's methods."""

    def __init__(self, agent: ob.agents.Agent) -> None:
        self._agent = agent

    def pull(self, time: int) -> Any:
        """Ask."""
        self._point = self._agent.ask()
        return self._point

    def receive_reward(self, time: int, reward: float) -> None:
        """Tell."""
        self._agent.tell(self._point, reward)

    def get_last_point(self) -> Any:
        """Recommend."""
        return self._agent.recommend()


def run(agent: Any, problem: ob.problems.Problem, rounds: int, seed: int, noisy: bool) -> Ends:
    """Play an agent with PyXAB's methods; its seconds are those of its own code."""
    rng = np.random.default_rng(seed)
    np.random.seed(seed)  # noqa: NPY002 - PyXAB draws from it
    spent, total = 0.0, 0.0
    for t in range(1, rounds + 1):
        start = time.perf_counter()
        point = agent.pull(t)
        spent += time.perf_counter() - start
        mean = float(problem.mean(np.array(point)))
        total += mean
        reward = float(rng.random() < mean) if noisy else mean
        start = time.perf_counter()
        agent.receive_reward(t, reward)
        spent += time.perf_counter() - start
    last = float(problem.mean(np.array(agent.get_last_point())))
    return Ends(rounds * problem.optimum - total, problem.optimum - last, spent / rounds)


if __name__ == "__main__":
    main()
