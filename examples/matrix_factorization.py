"""Find two hidden factors of a matrix of ratings: they are known up to a rotation, and it pays to know that.

Factors H, W predict the ratings H W^T, and (H Q, W Q) predicts the same for every orthogonal Q.
Three agents search the same ball: one knows all of O(2), one the finite subgroup that the paper
would take for so many rounds, one nothing.
"""

from pathlib import Path

import orbandit as ob

ROUNDS, SEEDS = 1_000, 4


def main() -> None:
    """Simulate the three, print their regrets, and save a picture."""
    little = ob.problems.ClippedGaussian(0.1)
    whole = ob.problems.MatrixFactorization(users=2, items=1, factors=2, noise=little)
    paper = ob.problems.MatrixFactorization(users=2, items=1, factors=2, arms="subgroup", horizon=ROUNDS, noise=little)

    order = paper.group.order if paper.group else 1
    runs = {
        "O(2)": ob.simulate(ob.agents.OrbitTree, whole, ROUNDS, SEEDS),
        f"{order} elements": ob.simulate(ob.agents.OrbitTree, paper, ROUNDS, SEEDS),
        "blind": ob.simulate(ob.agents.OrbitTree, whole, ROUNDS, SEEDS, use_group=False),
    }
    blind = runs["blind"].regret[:, -1].mean()
    print(f"{whole}: mean regret of {SEEDS} runs after {ROUNDS:,} rounds")
    for name, outcome in runs.items():
        regret = outcome.regret[:, -1].mean()
        print(f"{name:>12}: {regret:4.0f}, {regret / blind:.2f} of blind")
    path = Path("out") / "matrix_factorization.png"
    ob.reports.regret_picture(runs, path, "Two factors of a matrix of ratings")
    print(f"picture: {path}")


if __name__ == "__main__":
    main()
