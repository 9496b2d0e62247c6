"""Results to report on, played for real."""

import pytest

from orbandit.experiments.running import run
from orbandit.experiments.spec import read

EXPERIMENT = """
name = "two <shapes> & a box"
horizons = [100, 400]
seeds = 4

[[problem]]
name = "disk </script>"
class = "Cone"
space = { class = "Ball", dim = 2 }
group = { class = "Dihedral", m = 5 }
peak = [0.3, 0.5]

[[problem]]
name = "icosahedron"
class = "Cone"
space = { class = "Polytope.regular", name = "icosahedron" }
group = { class = "Coxeter", name = "H3" }
peak = [0.3, 0.2, 0.4]

[[problem]]
name = "box of four"
class = "Cone"
space = { class = "Box", low = 0.0, high = 1.0, dim = 4 }
group = { class = "Symmetric", dim = 4 }
peak = [0.9, 0.2, 0.4, 0.6]

[[agent]]
class = "OrbitTree"
group = [true, false]

[[agent]]
class = "Zooming"
"""


@pytest.fixture(scope="session")
def results(tmp_path_factory):
    """Return a file of results: three problems, two horizons, four seeds."""
    folder = tmp_path_factory.mktemp("results")
    file = folder / "shapes.toml"
    file.write_text(EXPERIMENT, encoding="utf-8")
    out = folder / "shapes.db"
    run(read(file), out, jobs=1)
    return out
