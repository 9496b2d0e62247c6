"""The registry: everything public can be named and made from a table, and says what it takes; lines of keys."""

import inspect
import sys
import tomllib

import numpy as np
import pytest

import orbandit as ob
from orbandit.errors import InputError, SpecError
from orbandit.experiments import registry
from orbandit.experiments.toml_lines import Lines

DISK = {"class": "Ball", "dim": 2}
SQUARE = {"class": "Box", "low": 0.0, "high": 1.0, "dim": 2}
SWAP = {"class": "Symmetric", "dim": 2}
FIVE = {"class": "Dihedral", "m": 5}

TABLES = {
    "space": {
        "Ball": {"dim": 3, "radius": 2.0, "center": [1.0, 0.0, 0.0]},
        "Box": {"low": [0.0, -1.0], "high": 1},
        "Polytope": {"vertices": [[0, 0], [1, 0], [0, 1]]},
        "Polytope.regular": {"name": "icosahedron"},
        "Product": {"parts": [DISK, SQUARE]},
        "Simplex": {"dim": 3},
    },
    "group": {
        "BlockPermutation": {"blocks": 3, "size": 2},
        "Coxeter": {"name": "H3"},
        "Cyclic": {"m": 5},
        "CyclicShift": {"dim": 3},
        "Diagonal": {"group": FIVE, "copies": 2},
        "Dihedral": {"m": 5, "center": [0.5, 0.5]},
        "Joint": {"a": {"class": "Diagonal", "group": FIVE, "copies": 2}, "b": {**SWAP, "class": "BlockPermutation"}},
        "Matrix": {"generators": [[[0, 1], [1, 0]]]},
        "Orthogonal": {"blocks": 2, "size": 2},
        "Permutation": {"generators": [[1, 0, 2]], "limit": 10},
        "Product": {"parts": [FIVE, SWAP]},
        "SignFlips": {"dim": 2, "center": [0.5, 0.5]},
        "SignedBlockPermutation": {"blocks": 2, "size": 2},
        "SignedPermutation": {"dim": 3},
        "Symmetric": {"dim": 3},
        "Trivial": {"dim": 2},
    },
    "noise": {
        "Bernoulli": {},
        "Beta": {"concentration": 5.0},
        "ClippedGaussian": {"deviation": 0.1, "reward_range": [-1.0, 2.0]},
        "Uniform": {"half_width": 0.1},
    },
    "problem": {
        "Ackley": {"space": SQUARE, "group": SWAP},
        "Cone": {"space": DISK, "peak": [0.3, 0.4]},
        "DictionaryLearning": {"patches": [[1.0, 0.0], [0.0, 1.0]], "atoms": 1},
        "Function": {
            "function": "numpy:prod",
            "space": {"class": "Box", "low": 0.0, "high": 1.0, "dim": 1},
            "optimizer": [1.0],
            "lipschitz": 1.0,
        },
        "GaussianProcess": {"group": SWAP},
        "Griewank": {"space": DISK, "group": FIVE, "width": "none"},
        "IdenticalMachines": {"machines": 3},
        "LowerBoundFamily": {"space": DISK, "group": FIVE, "delta": 0.2, "instance": 3},
        "MatrixFactorization": {"users": 2, "items": 1, "factors": 1},
        "Rastrigin": {"space": SQUARE, "noise": {"class": "Beta", "concentration": 4.0}},
        "RatingFactorization": {"ratings": "ratings.csv", "users": 1, "items": 1, "factors": 1},
        "WindFarm": {"turbines": 2},
    },
}
TABLES["group"]["Joint"]["b"] = {"class": "BlockPermutation", "blocks": 2, "size": 2}
NAMES = [(kind, name) for kind, name, _ in registry.rows()]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of the user's own, forgotten afterwards."""
    monkeypatch.setattr("sys.path", list(sys.path))
    (tmp_path / "means_of_mine.py").write_text("def corner(points):\n    return points[:, 0]\n")
    (tmp_path / "ratings.csv").write_text(
        "userId,movieId,rating,timestamp\n" + "".join(f"{u},{m},{(u + m) % 5 + 1},0\n" for u in (1, 2) for m in (1, 2))
    )
    return tmp_path


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, name in NAMES if kind != "agent"])
def test_everything_that_can_be_named_is_made_from_a_table(kind, name, folder):
    table = dict(TABLES[kind][name])
    if name == "Function":
        table["function"] = "means_of_mine:corner"
    made = registry.build(kind, {"class": name, **table}, folder)
    assert isinstance(made, registry.BASES[kind])
    if "." not in name and name != "LowerBoundFamily":
        assert type(made).__name__ == name


def test_every_public_class_is_listed():
    listed = set(NAMES)
    for kind, home in registry.HOMES.items():
        for name in home.__all__:
            made = getattr(home, name)
            if isinstance(made, type) and issubclass(made, registry.BASES[kind]) and not inspect.isabstract(made):
                assert ((kind, name) in listed) == (name not in ("UCB1", "OrbitUCB1", "UCBN")), name
    assert ("space", "Polytope.regular") in listed
    assert ("problem", "LowerBoundFamily") in listed
    order = [list(registry.BASES).index(kind) for kind, _ in NAMES]
    assert order == sorted(order)


def test_parameters_are_shown_as_a_table_gives_them():
    shown = {(kind, name): text for kind, name, text in registry.rows()}
    assert shown["space", "Box"] == "low: array, high: array, dim: int | none = none"
    assert shown["space", "Product"] == "parts: [space, ...]"
    assert shown["group", "Coxeter"] == "name: str, center: array | none = none"
    assert shown["problem", "Cone"].startswith(
        "space: space, group: group | none = none, peak: array, height: float = 0.95"
    )
    assert shown["problem", "LowerBoundFamily"].endswith("lipschitz: float = 1.0, seed: int = 0, instance: int = 0")
    assert 'function: "module:function"' in shown["problem", "Function"]
    assert 'sizes: "exponential" | "hyperexponential" = "exponential"' in shown["problem", "IdenticalMachines"]
    assert "noise: noise = Bernoulli()" in shown["problem", "Ackley"]
    assert 'spacing: "penalty" | "constraint" = "penalty"' in shown["problem", "WindFarm"]
    mesh = (
        "group: bool = true, lipschitz: float = the problem's, reward_range: [float, float] = the problem's, mesh: str"
    )
    assert shown["agent", "UniformMeshN"].startswith(mesh)
    for told in ("space:", "horizon:", "seed:"):
        assert told not in shown["agent", "UniformMeshN"]


def test_what_is_made_is_what_the_classes_make():
    group = registry.build("group", {"class": "SignFlips", "dim": 2, "center": [0.5, 0.5]})
    np.testing.assert_array_equal(group.center, [0.5, 0.5])
    np.testing.assert_allclose(group.fold([0.2, 0.7]), [0.8, 0.7])
    product = registry.build("space", {"class": "Product", "parts": [DISK, DISK, SQUARE]})
    assert product.dim == 6
    assert registry.build("group", {"class": "Product", "parts": [FIVE, FIVE]}).order == 100
    family = ob.problems.LowerBoundFamily(ob.spaces.Ball(2), ob.groups.Dihedral(5), 0.2)
    table = {"class": "LowerBoundFamily", "space": DISK, "group": FIVE, "delta": 0.2, "instance": 3}
    np.testing.assert_array_equal(registry.build("problem", table).optimizer, family.instance(3).optimizer)
    assert registry.build("problem", {"class": "Cone", "space": DISK, "peak": [0, 0], "group": "none"}).group is None
    assert registry.build("problem", {"class": "Cone", "space": DISK, "peak": [0, 0]}).group is None


@pytest.mark.parametrize(
    ("kind", "table", "text"),
    [
        ("space", {"class": "Bal", "dim": 2}, "unknown space 'Bal'. Did you mean 'Ball'"),
        ("space", {"class": "Symmetric", "dim": 2}, "Symmetric is a group, not a space"),
        ("space", {"dim": 2}, "a space is a table such as { class ="),
        ("space", {"class": "Ball"}, "missing key 'dim' of space Ball, which needs dim: int"),
        ("space", {"class": "Product", "parts": DISK}, "`parts` must be a list of spaces"),
        ("space", {"class": "Product", "parts": [{"class": "Ball", "dim": 0}]}, "space Ball: `dim >= 1` must hold"),
        ("group", {"class": "Diagonal", "group": "Dihedral", "copies": 2}, "a group is a table"),
        ("group", {"class": "SignFlips", "dim": 2, "center": [1.0]}, "group SignFlips: `point` must have shape"),
        ("problem", {"class": "Cone", "space": SQUARE, "group": FIVE, "peak": [0, 0]}, "does not preserve"),
        ("problem", {"class": "LowerBoundFamily", "space": DISK, "delta": 0.3, "instance": 999}, "index=999"),
        ("problem", {"class": "Function", "function": "numpy:nosuch", "space": DISK}, "unknown name in module 'numpy'"),
        ("noise", {"class": "nosuchmodule:Noise"}, "cannot import 'nosuchmodule'"),
        ("noise", {"class": "numpy:pi"}, "must be a class"),
        ("noise", {"class": "orbandit.spaces:Ball"}, "must be a subclass of orbandit.problems.Noise"),
        ("noise", {"class": "orbandit.problems:Noise"}, "is abstract; define reward_range, sample"),
    ],
)
def test_mistakes_are_named(kind, table, text):
    with pytest.raises(SpecError) as error:
        registry.build(kind, table)
    assert text in str(error.value)


def test_all_mistakes_of_a_table_are_found_together():
    table = {"class": "Cone", "space": {"class": "Bal"}, "group": {"class": "Dihedral", "n": 5}, "hieght": 1}
    with pytest.raises(SpecError) as error:
        registry.build("problem", table)
    paths = [mistake.path for mistake in error.value.mistakes]
    assert paths == [("space", "class"), ("group", "n"), ("group",), ("hieght",), ()]


def test_agents_that_play_indices_are_refused():
    for name in ("UCB1", "OrbitUCB1", "UCBN"):
        with pytest.raises(InputError, match=f"{name} plays indices"):
            registry.find("agent", name)
    with pytest.raises(InputError, match="plays indices"):
        registry.find("agent", "orbandit.agents:UCB1")


def test_a_module_that_hides_the_users_own_is_refused(folder):
    (folder / "numpy.py").write_text("class Mine: pass\n")
    with pytest.raises(InputError, match="hidden by another module 'numpy'"):
        registry.find("space", "numpy:Mine", folder)


def test_own_classes_take_arguments_by_place_and_any_name(folder):
    (folder / "odd_classes.py").write_text(
        "from __future__ import annotations\n"
        "from orbandit.spaces import Box\n"
        "from orbandit.problems import Cone, Problem, Noise\n"
        "import numpy as np\n"
        "class Odd(Problem):\n"
        "    def __init__(self, space, width: Missing, /, *rest, factor=2, **more):\n"
        "        super().__init__(space, None, 1.0)\n"
        "        self.seen = (width, rest, factor, more)\n"
        "    optimizer = property(lambda self: np.zeros(self.space.dim))\n"
        "    def _mean(self, points): return np.zeros(len(points))\n"
    )
    table = {"class": "odd_classes:Odd", "space": SQUARE, "width": 3, "rest": [4, 5], "other": "x"}
    assert registry.build("problem", table, folder).seen == (3, (4, 5), 2, {"other": "x"})


AWKWARD = '''\
# [[not]] = a table
"quoted key" = 1
'literal.key' = "a # b = [c"
a.b . "c d" = """
x = 1
[[y]] \\""" z
""""
e = [ # first
  1,
  [2, # x = 3
   3],
  { f = 1, "g" = [4, @@@
  ] @@@, 5] },
]

[a.h]
i = 1979-05-27T07:32:00Z
j = { k.l = 1, m = {} }
[[t]]
n = 1
[[t.u]]
n = 2
[[t.u]]
n = 3
[t.u.v]
n = 4
[[t]]
"\\u006e" = 5
  [[t.u]]  # indented
  n = 6
'''.replace("@@@", "'" * 3)


def test_lines_of_an_awkward_file():
    lines = Lines(AWKWARD)
    expected = {
        ("quoted key",): 2, ("literal.key",): 3, ("a",): 4, ("a", "b", "c d"): 4, ("e",): 8, ("e", 0): 9, ("e", 1): 10,
        ("e", 1, 1): 11, ("e", 2, "f"): 12, ("e", 2, "g", 0): 12, ("e", 2, "g", 2): 13, ("a", "h"): 16,
        ("a", "h", "i"): 17, ("a", "h", "j", "k", "l"): 18, ("a", "h", "j", "m"): 18, ("t",): 19, ("t", 0): 19,
        ("t", 0, "n"): 20, ("t", 0, "u", 0, "n"): 22, ("t", 0, "u", 1): 23, ("t", 0, "u", 1, "n"): 24,
        ("t", 0, "u", 1, "v", "n"): 26, ("t", 1): 27, ("t", 1, "n"): 28, ("t", 1, "u", 0, "n"): 30,
    }  # fmt: skip
    assert {path: lines.line(path) for path in expected} == expected
    assert lines.line(("t", 0, "u", 1, "nothing", 3)) == 23
    assert lines.line(("nothing",)) == 1
    windows = Lines(AWKWARD.replace("\n", "\r\n"))
    assert {path: windows.line(path) for path in expected} == expected


def paths_of(value, path=()):
    if path:
        yield path
    if isinstance(value, dict):
        for key, item in value.items():
            yield from paths_of(item, (*path, key))
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from paths_of(item, (*path, i))


@pytest.mark.parametrize("text", [AWKWARD, "", "a=[]", "a = {}\n#", "x = [[], [[]], {}]"])
def test_every_path_that_is_read_has_a_line_and_no_other(text):
    assert Lines(text).paths == set(paths_of(tomllib.loads(text)))
