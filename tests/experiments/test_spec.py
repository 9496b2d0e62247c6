"""The experiment's file: what it makes, and what is said of mistakes, each with its line."""

import json
import pickle
import subprocess
import sys
import textwrap
import tomllib

import numpy as np
import pytest

import orbandit as ob
from orbandit.errors import InputError, OrbanditError, SpecError
from orbandit.experiments import spec
from orbandit.experiments.outline import Outline

GOOD = """\
name = "cube under S_3"
horizons = [1_000, 100]
seeds = 3

[[problem]]
name = "cone"
class = "Cone"
space = { class = "Box", low = 0.0, high = 1.0, dim = 3 }
group = { class = "Symmetric", dim = 3 }
peak = [0.9, 0.2, 0.4]

[[problem]]
class = "Ackley"
[problem.space]
class = "Ball"
dim = 2
[problem.group]
class = "Dihedral"
m = 5

[[agent]]
class = "UniformMeshN"
mesh = ["quotient", "full"]
group = true

[[agent]]
class = "OrbitTree"
group = [true, false]
lipschitz = ["none", 2.0]
"""
HEAD = "horizons = [10]\nseeds = 1\n"
CONE = '[[problem]]\nclass = "Cone"\nspace = { class = "Ball", dim = 2 }\npeak = [0.3, 0.4]\n'
TREE = '[[agent]]\nclass = "OrbitTree"\n'
HOO = '[[agent]]\nclass = "HOO"\n'


@pytest.fixture
def write(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.path", list(sys.path))

    def written(text, name="file.toml"):
        path = tmp_path / name
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return path

    return written


def mistakes_of(path):
    """Return the line and the text of each mistake that is reported."""
    with pytest.raises(SpecError) as error:
        spec.read(path)
    assert isinstance(error.value, OrbanditError)
    assert isinstance(error.value, ValueError)
    found = []
    for line in str(error.value).splitlines():
        place, _, text = line.partition(": ")
        head = f"{path}, line "
        assert place.startswith(head), line
        found.append((int(place.removeprefix(head)), text))
    assert found == sorted(found)
    return found


def test_a_good_file_makes_problems_agents_and_tasks(write):
    experiment = spec.read(write(GOOD))
    assert experiment.name == "cube under S_3"
    assert [problem.name for problem in experiment.problems] == ["cone", "Ackley"]
    assert [agent.label for agent in experiment.agents] == [
        "UniformMeshN(mesh=quotient)",
        "UniformMeshN(mesh=full)",
        "OrbitTree(lipschitz=none)",
        "OrbitTree(lipschitz=2.0)",
        "OrbitTree(lipschitz=none) without group",
        "OrbitTree(lipschitz=2.0) without group",
    ]
    assert experiment.horizons == (1000, 100)
    assert experiment.seeds == (0, 1, 2)
    cone = experiment.build_problem("cone")
    assert isinstance(cone, ob.problems.Cone)
    assert cone.group.order == 6
    np.testing.assert_array_equal(cone.optimizer, [0.9, 0.2, 0.4])
    assert experiment.build_problem("cone") is cone
    assert experiment.build_problem("Ackley").space.dim == 2
    with pytest.raises(InputError, match="Did you mean 'cone'"):
        experiment.build_problem("cones")
    assert experiment.description == tomllib.loads(GOOD)
    json.dumps(experiment.description)


def test_tasks_are_all_there_in_a_stable_order_with_the_same_parameters(write):
    path = write(GOOD)
    experiment = spec.read(path)
    tasks = list(experiment.tasks())
    assert len(tasks) == len(experiment) == 2 * 6 * 2 * 3
    keys = [json.dumps(task.parameters, sort_keys=True, allow_nan=False) for task in tasks]
    assert len(set(keys)) == len(keys)
    assert keys == [json.dumps(task.parameters, sort_keys=True) for task in spec.read(path).tasks()]
    assert [(task.problem, task.horizon, task.seed) for task in tasks[:4]] == [
        ("cone", 1000, 0),
        ("cone", 1000, 1),
        ("cone", 1000, 2),
        ("cone", 100, 0),
    ]
    assert tasks[0].parameters == {
        "problem": {key: value for key, value in tomllib.loads(GOOD)["problem"][0].items() if key != "name"},
        "agent": {"class": "UniformMeshN", "mesh": "quotient", "group": True},
        "horizon": 1000,
        "seed": 0,
        "checkpoints": 20,
        "version": ob.__version__,
    }


def test_names_and_places_do_not_change_what_determines_a_run(write):
    first = list(spec.read(write(GOOD)).tasks())
    second = list(spec.read(write("# moved\n" + GOOD.replace('name = "cone"', 'name = "peak"'), "two.toml")).tasks())
    assert [task.parameters for task in first] == [task.parameters for task in second]
    assert second[0].problem == "peak"


def test_the_plan_counts_rounds(write):
    plan = spec.read(write(GOOD)).plan()
    assert len(plan) == 12
    assert plan[0] == ("cone", "UniformMeshN(mesh=quotient)", (1000, 100), 3, 3300)
    assert plan[-1].agent == "OrbitTree(lipschitz=2.0) without group"


def test_tasks_make_the_calls_of_simulate(write):
    experiment = spec.read(write(GOOD))
    tasks = {(task.problem, task.agent, task.horizon, task.seed): task for task in experiment.tasks()}
    task = tasks["cone", "OrbitTree(lipschitz=none) without group", 100, 2]
    arguments = task.arguments()
    assert arguments["agent"].func is ob.agents.OrbitTree
    assert arguments["agent"].keywords == {"lipschitz": None}
    assert arguments["use_group"] is False
    expected = ob.simulate(
        ob.agents.OrbitTree, experiment.build_problem("cone"), 100, [2], use_group=False, lipschitz=None
    )
    np.testing.assert_array_equal(ob.simulate(**task.arguments()).regret, expected.regret)
    there = pickle.loads(pickle.dumps(task))  # as another process gets it
    np.testing.assert_array_equal(ob.simulate(**there.arguments()).regret, expected.regret)


def test_two_lists_make_a_grid_and_lists_within_lists_are_values(write):
    text = HEAD + CONE + '[[agent]]\nclass = "UniformMeshN"\nmesh = ["full", "quotient"]\ndelta = [0.3, "auto", 0.5]\n'
    experiment = spec.read(write(text + "reward_range = [[0.0, 2.0]]\n"))
    assert len(experiment.agents) == 6
    assert [(a.parameters["mesh"], a.parameters["delta"]) for a in experiment.agents] == [
        (mesh, delta) for mesh in ("full", "quotient") for delta in (0.3, "auto", 0.5)
    ]
    assert {tuple(agent.parameters["reward_range"]) for agent in experiment.agents} == {(0.0, 2.0)}
    assert experiment.agents[0].label == "UniformMeshN(mesh=full, delta=0.3, reward_range=[0.0, 2.0])"
    named = spec.read(write(text + 'name = "mine"\nlipschitz = 2.0\n', "named.toml"))
    assert named.agents[0].label == "mine(mesh=full, delta=0.3)"


def test_default_names_are_made_unique(write):
    other = CONE.replace("0.3", "0.2")
    taken = CONE.replace("0.3", "0.1") + 'name = "Cone 2"\n'
    experiment = spec.read(write(HEAD.replace("seeds = 1\n", "") + CONE + other + taken + TREE))
    assert [problem.name for problem in experiment.problems] == ["Cone", "Cone 3", "Cone 2"]
    assert experiment.name == "file"
    assert len(experiment.seeds) == 10
    assert spec.read(write("seeds = [7, 3]\nhorizons = [10]\n" + CONE + TREE)).seeds == (7, 3)


OWN = """
from functools import partial

import numpy as np
import orbandit as ob

class Slope(ob.problems.Problem):
    def __init__(self, space, steepness=0.5):
        super().__init__(space, None, steepness)

    @property
    def optimizer(self):
        return np.array([1.0])

    def _mean(self, points):
        return self.lipschitz * points[:, 0]

class AtRandom:
    def __init__(self, space, seed, spread=1.0, jobs=1):
        self.space, self.rng, self.spread = space, np.random.default_rng(seed), spread

    def ask(self):
        return self.spread * self.space.sample(1, self.rng)[0]

    def tell(self, point, reward):
        pass

class Tree(ob.agents.OrbitTree):
    pass

tree = partial(ob.agents.OrbitTree, lipschitz=3.0)

def branch(space, group, *, horizon, lipschitz, reward_range, seed, guarantee="none"):
    assert group is None or group.order == 2
    return ob.agents.OrbitTree(space, group, horizon=horizon, lipschitz=lipschitz, seed=seed, guarantee=guarantee)
"""


def test_own_classes_come_from_the_folder_of_the_file(write):
    write(OWN, "things_of_mine.py")
    text = HEAD + '[[problem]]\nclass = "things_of_mine:Slope"\n'
    text += 'space = { class = "Box", low = 0.0, high = 1.0, dim = 1 }\n'
    text += '[[agent]]\nclass = "things_of_mine:AtRandom"\nspread = [0.0, 1.0]\njobs = 2\n'
    experiment = spec.read(write(text + '[[agent]]\nclass = "UniformMesh"\n'))
    assert [agent.label for agent in experiment.agents] == [
        "AtRandom(spread=0.0, jobs=2)",
        "AtRandom(spread=1.0, jobs=2)",
        "UniformMesh",
    ]
    tasks = list(experiment.tasks())
    still = ob.simulate(**tasks[0].arguments())
    assert still.name == "AtRandom"
    np.testing.assert_allclose(still.regret[0], 0.5 * still.checkpoints)
    assert ob.simulate(**tasks[1].arguments()).regret[0, -1] < 5
    sent = pickle.dumps(tasks[1])  # as a process gets it that has not heard of the folder
    code = f"import pickle, orbandit as ob; print(ob.simulate(**pickle.loads({sent!r}).arguments()).regret[0, -1])"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd="/")
    assert float(answer.stdout) == ob.simulate(**tasks[1].arguments()).regret[0, -1]
    wrong = mistakes_of(write(text + "spraed = 2.0\nhorizon = 3\n"))
    assert wrong[0][0] == 10
    assert "unknown key 'spraed' of agent AtRandom. Did you mean 'spread'" in wrong[0][1]
    assert wrong[1] == (11, "the key 'horizon' of agent AtRandom is not the agent's to set; `horizons` sets it.")


def test_agents_of_ones_own_follow_the_contract_of_simulate(write):
    write(OWN, "callables_of_mine.py")
    text = HEAD.replace("10]", "300]") + '[[problem]]\nclass = "Cone"\npeak = [0.2, 0.7]\n'
    text += 'space = { class = "Box", low = 0.0, high = 1.0, dim = 2 }\ngroup = { class = "Symmetric", dim = 2 }\n'
    text += '[[agent]]\nclass = "callables_of_mine:tree"\nlipschitz = 2.0\n'
    text += '[[agent]]\nclass = "callables_of_mine:tree"\n'
    text += '[[agent]]\nclass = "callables_of_mine:branch"\ngroup = [true, false]\nguarantee = "theory"\n'
    experiment = spec.read(write(text))
    labels = ["tree(lipschitz=2.0)", "tree", "branch(guarantee=theory)", "branch(guarantee=theory) without group"]
    assert [agent.label for agent in experiment.agents] == labels
    cone, tree = experiment.build_problem("Cone"), ob.agents.OrbitTree
    expected = [
        ob.simulate(tree, cone, 300, [0], lipschitz=2.0),
        ob.simulate(tree, cone, 300, [0], lipschitz=3.0),
        ob.simulate(tree, cone, 300, [0], guarantee="theory"),
        ob.simulate(tree, cone, 300, [0], guarantee="theory", use_group=False),
    ]
    for task, runs in zip(experiment.tasks(), expected, strict=True):
        np.testing.assert_array_equal(ob.simulate(**task.arguments()).regret, runs.regret)
    wrong = mistakes_of(write(text.replace("guarantee", "garantee")))
    assert [line for line, _ in wrong] == [16]
    assert "unknown key 'garantee' of agent branch. Did you mean 'guarantee'" in wrong[0][1]


TOLD = ("group", "horizon", "lipschitz", "reward_range", "seed", "space")
SIGNATURES = {
    "space, group=None, *, horizon, lipschitz, reward_range, seed, width=1": TOLD,
    "space, **more": TOLD,
    "space, width, **more": TOLD,
    "group, space, *, horizon, lipschitz, reward_range, seed, width=1": TOLD,
    "seed, space, /, width=1": ("seed", "space"),
    "space, *, width, horizon": ("horizon", "space"),
}


@pytest.mark.parametrize("signature", SIGNATURES)
def test_a_class_of_ones_own_is_told_what_it_takes_by_name(write, signature):
    name = f"told_{list(SIGNATURES).index(signature)}"
    code = f"class Mine:\n    def __init__(self, {signature}):\n        given = dict(locals())\n"
    code += "        del given['self']\n        self.given = given | given.pop('more', {})\n"
    write(code + "    def ask(self): return [0.5, 0.5]\n    def tell(self, point, reward): pass\n", f"{name}.py")
    text = HEAD + CONE + 'group = { class = "Symmetric", dim = 2 }\n'
    [task] = spec.read(write(text + f'[[agent]]\nclass = "{name}:Mine"\nwidth = 3\n')).tasks()
    arguments, made = task.arguments(), []
    maker = arguments.pop("agent")

    def kept(*args, **told):
        made.append(maker(*args, **told))
        return made[-1]

    ob.simulate(kept, **arguments)
    given, problem = made[0].given, arguments["problem"]
    assert given.pop("width") == 3
    assert sorted(given) == sorted(SIGNATURES[signature])
    expected = {"space": problem.space, "group": problem.group, "horizon": 10}
    assert all(given[key] is expected[key] or given[key] == 10 for key in expected.keys() & given.keys())


def test_an_agent_may_have_some_of_the_horizons_only(write):
    experiment = spec.read(
        write("horizons = [100, 10]\nseeds = 3\n" + CONE + TREE + "horizons = [10]\ngroup = [true, false]\n" + HOO)
    )
    assert [agent.horizons for agent in experiment.agents] == [(10,), (10,), (100, 10)]
    assert len(experiment) == len(list(experiment.tasks())) == experiment.outline.n_runs == 12
    assert Outline.of(experiment.description) == experiment.outline
    assert [(row.agent, row.horizons, row.n_rounds) for row in experiment.plan()] == [
        ("OrbitTree", (10,), 30),
        ("OrbitTree without group", (10,), 30),
        ("HOO", (100, 10), 330),
    ]
    alone = spec.read(write("horizons = [10]\nseeds = 3\n" + CONE + TREE))
    parameters = [task.parameters for task in experiment.tasks()]
    # the same runs, kept under the same keys
    assert all(task.parameters in parameters for task in alone.tasks())


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ("[10, 20]", "`agent[0].horizons[1]` must be one of the experiment's `horizons` (100, 10), but got 20."),
        ("[]", "`agent[0].horizons` must have at least 1 item"),
        ("10", "`agent[0].horizons` must be a valid list, but got 10"),
        ("[10, 10]", "`agent[0].horizons` must all be different"),
        ("[0]", "`agent[0].horizons[0]` must be greater than or equal to 1"),
    ],
)
def test_horizons_of_an_agent_are_some_of_the_experiments(write, given, text):
    ((line, found),) = mistakes_of(write("horizons = [100, 10]\n" + TREE + f"horizons = {given}\n" + CONE))
    assert (line, found[: len(text)]) == (4, text)


SEEDS = "must be a whole number of runs, from 1 to 1,000,000, or a list of seeds"
TOP = [
    ("horizon = [10]\nhorizons = [1]\n", 1, "unknown key 'horizon' of an experiment. Did you mean 'horizons'"),
    ("seeds = 1\n", 1, "missing key 'horizons' of an experiment"),
    ("seeds = 1\nhorizons = 10\n", 2, "`horizons` must be a valid list, but got 10"),
    ("horizons = []\n", 1, "`horizons` must have at least 1 item"),
    ("horizons = [\n  10,\n  0,\n]\n", 3, "`horizons[1]` must be greater than or equal to 1, but got 0"),
    ("horizons = [10, 10_000_000_000_000]\n", 1, "`horizons[1]` must be less than or equal to 1000000000000"),
    ("horizons = [10.0]\n", 1, "`horizons[0]` must be a valid integer, but got 10.0"),
    ("horizons = [true]\n", 1, "`horizons[0]` must be a valid integer, but got true"),
    ("horizons = [5, 10, 5]\n", 1, "`horizons` must all be different (5 appears twice), but got [5, 10, 5]."),
    ("horizons = [5]\nseeds = 0\n", 2, f"`seeds` {SEEDS}, but got 0."),
    ("horizons = [5]\nseeds = []\n", 2, "`seeds` must have at least 1 item"),
    ("horizons = [5]\nseeds = [1,\n -1]\n", 3, "`seeds[1]` must be greater than or equal to 0, but got -1"),
    ("horizons = [5]\nseeds = true\n", 2, f"`seeds` {SEEDS}, but got true."),
    ("horizons = [5]\nseeds = [1, 1]\n", 2, "`seeds` must all be different"),
    ('horizons = [5]\nseeds = "ten"\n', 2, f'`seeds` {SEEDS}, but got "ten".'),
    ("horizons = [5]\nseeds = 2.5\n", 2, f"`seeds` {SEEDS}, but got 2.5."),
    ("horizons = [5]\ntimeout = 0\n", 2, "`timeout` must be greater than 0, but got 0"),
    ("horizons = [5]\ntimeout = -1.5\n", 2, "`timeout` must be greater than 0, but got -1.5"),
    ("horizons = [5]\ntimeout = 2e6\n", 2, "`timeout` must be less than or equal to 1000000, but got 2000000.0"),
    ("horizons = [5]\ntimeout = inf\n", 2, "`timeout` must be"),
    ("horizons = [5]\ntimeout = nan\n", 2, "`timeout` must be"),
    ("horizons = [5]\ntimeout = true\n", 2, "`timeout` must be a valid number, but got true"),
    ("horizons = [5]\ntimeout = '10 s'\n", 2, '`timeout` must be a valid number, but got "10 s"'),
    ("horizons = [5]\ntimeout = [1, 2]\n", 2, "`timeout` must be a valid number, but got [1, 2]"),
    ("horizons = [5]\nname = 3\n", 2, "`name` must be a valid string, but got 3"),
    (f"horizons = [5]\nname = {[1] * 100_000}\n", 2, "`name` must be a valid string, but got [1, 1, "),
    (f"horizons = [0x{'f' * 5000}]\n", 1, "`horizons[0]` must be "),
    (f"horizons = [5]\nseeds = 0x{'f' * 5000}\n", 2, f"`seeds` {SEEDS}, but got about 10^6020.6."),
]


@pytest.mark.parametrize(("head", "line", "text"), TOP)
def test_mistakes_at_the_top_are_reported(write, head, line, text):
    found = mistakes_of(write(head + CONE + TREE))
    assert len(found) == 1
    assert found[0][0] == line
    assert found[0][1].startswith(text)


def problem(text):
    """Return a file whose line 3 is the head of a problem."""
    return HEAD + "[[problem]]\n" + text + TREE


def agent(text):
    """Return a file whose line 7 is the head of an agent."""
    return HEAD + CONE + "[[agent]]\n" + text


SPACE = 'space = { class = "Ball", dim = 2 }\n'
MESH = 'class = "UniformMeshN"\n'
INSIDE = [
    (problem('class = "Kone"\n' + SPACE), 4, "unknown problem 'Kone'. Did you mean 'Cone'"),
    (problem('class = "Cone"\n' + SPACE + "peak = [0, 0]\nhieght = 0.5\n"), 7,
     "unknown key 'hieght' of problem Cone. Did you mean 'height'"),
    (problem('class = "Cone"\n' + SPACE), 3, "missing key 'peak' of problem Cone, which needs peak: array"),
    (problem('class = "Cone"\npeak = [0, 0]\nspace = { class = "Ball",  dmi = 2, dim = 2 }\n'), 6,
     "unknown key 'dmi' of space Ball. Did you mean 'dim'"),
    (problem('class = "Cone"\npeak = [0, 0]\n[problem.space]\nclass = "Ball"\n# a disk\ndim = "two"\n'), 9,
     "space Ball: `dim` must be an integer, but got 'two'"),
    (problem('class = "Cone"\n' + SPACE + "peak = [\n0,\n0, 0]\n"), 6, "problem Cone: `peak` must have shape (2,)"),
    (problem('class = "Cone"\n' + SPACE + 'peak = [0, 0]\ngroup = { class = "Symmetric", dim = 3 }\n'), 7,
     "problem Cone: `space` and group must have one dimension"),
    (problem('class = "Cone"\nspace = { class = "Box", low = 0.0, high = 1.0, dim = 2 }\n'
             'peak = [0, 0]\ngroup = { class = "SignFlips", dim = 2 }\n'), 7,
     "problem Cone: SignFlips(2) does not preserve Box"),
    (problem('class = "Cone"\n' + SPACE + 'peak = [0, 0]\ngroup = "Symmetric"\n'), 7, "a group is a table such as"),
    (problem('class = "Cone"\n' + SPACE + 'peak = [0, 0]\ngroup = { class = "Ball" }\n'), 7,
     "Ball is a space, not a group"),
    (problem('class = "Cone"\n' + SPACE + "peak = [0, nan]\n"), 6, "numbers must be finite, but got nan"),
    (problem('class = "Cone"\n' + SPACE + "peak = 1979-05-27\n"), 6, "dates and times are no values"),
    (problem('class = "Cone"\n' + SPACE + "peak = [0, 9_223_372_036_854_775_808]\n"), 6,
     "integers must lie within +-9,223,372,036,854,775,807, but got 9223372036854775808."),
    (problem('class = "Cone"\n' + SPACE + f"peak = [0, 0o{'7' * 9000}]\n"), 6,
     "integers must lie within +-9,223,372,036,854,775,807, but got about 10^8127.8."),
    (problem('class = "Cone"\n' + SPACE + f"peak = {[0.5] * 100_000}\n"), 6, "problem Cone: `peak` must have shape"),
    (problem(f'class = "{"x" * 100_000}"\n' + SPACE), 4, "unknown problem 'xxx"),
    (problem('class = "Cone"\n' + SPACE + "peak = " + "[" * 200 + "]" * 200 + "\n"), 6, "values must be nested"),
    (problem('class = "no_such_module:Cone"\n'), 4, "cannot import 'no_such_module'"),
    (problem('name = "x"\n' + SPACE), 3, "missing key 'class' of [[problem]]"),
    (problem("class = 3\n"), 4, "`problem[0].class` must be a valid string, but got 3"),
    (problem('class = "Ackley"\nnoise = { class = "Beta", concentration = -1.0 }\n' + SPACE), 5,
     "noise Beta: `concentration > 0` must hold"),
    (HEAD + '[problem]\nclass = "Cone"\n' + TREE, 3, "`problem` must be a valid list, but got {"),
    (HEAD + TREE, 1, "missing [[problem]] of an experiment"),
    (HEAD + CONE, 1, "missing [[agent]] of an experiment"),
    (HEAD + "problem = []\n" + TREE, 3, "`problem` must have at least 1 item"),
    (HEAD + CONE + 'name = "a"\n' + CONE.replace("0.3", "0") + 'name = "a"\n' + TREE, 12, "the name 'a' is taken"),
    (HEAD + CONE + CONE + TREE, 7, "this problem is the same as 'Cone'"),
    (agent('class = "OrbitTre"\n'), 8, "unknown agent 'OrbitTre'. Did you mean 'OrbitTree'"),
    (agent('class = "UCB1"\nn_arms = 3\n'), 8, "UCB1 plays indices"),
    (agent(MESH + "meshh = 'full'\n"), 9, "unknown key 'meshh' of agent UniformMeshN. Did you mean 'mesh'"),
    (agent(MESH + "mesh = [\n  'full',\n  'fulll',\n]\n"), 11,
     "agent UniformMeshN: unknown mesh 'fulll'. Did you mean 'full'"),
    (agent(MESH + "delta = [0.5,\n -1.0]\n"), 10, "agent UniformMeshN: `delta"),
    (agent(MESH + "mesh = []\n"), 9, "`mesh` must have at least one value"),
    (agent(MESH + "seed = 4\n"), 9, "the key 'seed' of agent UniformMeshN is not the agent's to set; `seeds` sets it"),
    (agent(MESH + "group = 'yes'\n"), 9, "`group` of an agent must be true or false"),
    (agent(MESH + "group = { class = 'Symmetric', dim = 2 }\n"), 9, "`group` of an agent must be true or false"),
    (agent(MESH + "reward_range = 0.5\n"), 9, "agent UniformMeshN: `reward_range` must be (low, high)"),
    (agent(MESH + "mesh = ['full', 'full']\n"), 7, "the agent UniformMeshN(mesh=full) appears twice"),
    (agent(MESH + f"lipschitz = {list(range(1, 1002))}\n"), 7, "the grids of a file may have 1,000 agents at most"),
    (agent('class = "numpy:zeroes"\n'), 8,
     "unknown name in module 'numpy': 'zeroes'. Did you mean 'zeros' or 'zeros_like'? Known: zeros, zeros_like, "),
    (agent('class = "numpy:zeros"\n'), 8, "'numpy:zeros' must be a class"),
    (agent('class = "orbandit.spaces:Ball"\ndim = 1\n'), 8, "'orbandit.spaces:Ball' must have the methods `ask`"),
]  # fmt: skip


@pytest.mark.parametrize(("file", "line", "text"), INSIDE)
def test_mistakes_inside_are_reported(write, file, line, text):
    found = mistakes_of(write(file))
    assert len(found) == 1, found
    assert found[0][0] == line, found
    assert found[0][1].startswith(text), found
    assert len(found[0][1]) < 400


def test_agents_without_constraints_are_refused_beside_a_problem_with_one(write):
    farm = 'horizons = [60]\nseeds = 1\n[[problem]]\nclass = "WindFarm"\nturbines = 3\nspacing = "{}"\n'
    agents = '[[agent]]\nclass = "OrbitTree"\n[[agent]]\nclass = "HOO"\n'
    said = "the problem 'WindFarm' has a constraint, but HOO takes no `feasible`; choose an agent that does, such as "
    assert mistakes_of(write(farm.format("constraint") + agents)) == [(10, said + "OrbitGP or OrbitTree.")]
    assert len(spec.read(write(farm.format("penalty") + agents))) == 2


def test_an_error_without_a_text_is_reported_by_its_kind(write, tmp_path):
    code = "class MuteError(Exception):\n    def __str__(self):\n        raise RuntimeError\n"
    (tmp_path / "mute_space.py").write_text(
        code + "import orbandit\nclass Mute(orbandit.spaces.Space):\n"
        "    def __new__(cls):\n        raise MuteError\n    dim = volume = diameter = bounds = None\n"
        "    _excess = _sample = _project = _support = farthest_distance = halfspaces = None\n"
    )
    file = problem('class = "Cone"\npeak = [0, 0]\nspace = { class = "mute_space:Mute" }\n')
    assert mistakes_of(write(file)) == [
        (6, "space Mute: MuteError: its text cannot be made, which raised RuntimeError")
    ]


def test_a_list_that_was_meant_as_a_value_gets_a_hint(write):
    [(_, text)] = mistakes_of(write(agent(MESH + "reward_range = [0.0]\n")))
    assert text.endswith("A list makes a grid of values; wrap a value that is a list in one more.")


def test_several_mistakes_are_reported_together(write):
    file = """\
        horizons = [0]
        sedes = 3
        [[problem]]
        class = "Cone"
        space = { class = "Bal", dim = 2 }
        peek = [0.3, 0.4]
        [[problem]]
        class = "Ackley"
        space = { class = "Ball", dim = 2 }
        group = { class = "Symmetric", dim = 3 }
        [[agent]]
        class = "UniformMesh"
        mesh = "fulll"
        [[agent]]
        class = "Zoming"
        """
    assert [line for line, _ in mistakes_of(write(file))] == [1, 2, 3, 5, 6, 10, 13, 15]


@pytest.mark.parametrize(
    ("raw", "line"),
    [
        (b"a = 1\nb = \n", 2),
        (b"a = 1\r\n[x\r\n", 2),
        (b"a = 1\na = 2\n", 2),
        (b"a = '''\nnever\nclosed", 3),
        (b"a = 1\nb = '\xff'\n", 2),
        (b"a = " + b"[" * 100_000, 1),
        (
            b"a = 1\n# "
            + b"9" * 5001
            + b"\nb = '"
            + b"9" * 5001
            + b"'\nc = 0."
            + b"9" * 5001
            + b"\nd = -"
            + b"9" * 5001,
            5,
        ),
        (b"a = [\n1,\n" + b"1_0" * 2501 + b"]", 3),
    ],
)
def test_what_is_no_toml_is_refused_with_its_line(tmp_path, raw, line):
    path = tmp_path / "bad.toml"
    path.write_bytes(raw)
    assert [found for found, _ in mistakes_of(path)] == [line]


def test_a_missing_file_and_a_byte_order_mark(tmp_path, write):
    with pytest.raises(SpecError, match=r"none\.toml is missing; name the TOML file"):
        spec.read(tmp_path / "none.toml")
    with pytest.raises(SpecError, match="cannot be read"):
        spec.read(tmp_path)
    path = tmp_path / "windows.toml"
    path.write_bytes(b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode())
    assert len(spec.read(path)) == len(spec.read(write(GOOD)))
