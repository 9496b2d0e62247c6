"""Four like machines in a study of Optuna: the sampler is told that they may change places, the study is as ever.

Each trial simulates the queues once, so that values are noisy. The best trial is the luckiest; what
the sampler recommends is best by all trials together.
"""

from pathlib import Path

import numpy as np
import optuna

import orbandit as ob

MACHINES = ["batch_1", "batch_2", "batch_3", "batch_4"]
TRIALS = 100


def main() -> None:
    """Search with and without the symmetry, and let Optuna draw the study."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    problem = ob.problems.IdenticalMachines(4)
    best = {}
    for name, exchangeable in {"exchangeable": MACHINES, "blind": None}.items():
        rng = np.random.default_rng(0)

        def objective(trial: optuna.Trial, rng: np.random.Generator = rng) -> float:
            affinities = [trial.suggest_float(machine, 0.0, 1.0) for machine in MACHINES]
            return float(problem.sample(np.array(affinities), rng))

        sampler = ob.integrations.optuna.OrbitSampler(exchangeable=exchangeable, seed=0)
        study = optuna.create_study(direction="maximize", sampler=sampler)
        study.optimize(objective, n_trials=TRIALS)
        params = sampler.recommend(study)
        best[name] = float(problem.mean([params[machine] for machine in MACHINES]))
        shares = ", ".join(f"{params[machine]:.2f}" for machine in MACHINES)
        print(f"{name:>12}: recommends {shares}, of true mean {best[name]:.3f} (optimum {problem.optimum:.3f})")
        if exchangeable:
            path = Path("out") / "optuna_machines.html"
            path.parent.mkdir(exist_ok=True)
            optuna.visualization.plot_optimization_history(study).write_html(path)
            print(f"     picture: {path}, by Optuna, of {len(study.trials)} trials")


if __name__ == "__main__":
    main()
