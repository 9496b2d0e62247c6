"""Agents in files: a loaded one goes on as the saved one, and damaged or forged files are refused by name."""

import copy
import io
import json
import os
import pickle
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest

import orbandit as ob
from agent_cases import AGENTS, PAIRS, SOME_PAIRS, a_pending, any_points, fewer, is_tree, nearest, play, state
from orbandit._kernels.kriging import COLUMNS, NOISE
from orbandit.agents import sizes
from orbandit.errors import GroupTooLargeError, InputError


@pytest.mark.parametrize(
    ("name", "horizon", "bits"),
    [
        *((*pair, np.random.PCG64) for pair in PAIRS),
        *(("OrbitTree", None, bits) for bits in (np.random.MT19937, np.random.SFC64)),
    ],
)
def test_a_loaded_agent_goes_on_as_the_saved_one(name, horizon, bits, tmp_path):
    agent = AGENTS[name](horizon=horizon, seed=np.random.Generator(bits(3)), reward_range=(0.0, 2.0))
    play(agent, fewer(name, 70), 0, 0.0, 2.0)
    for point in any_points(agent, 5, 1):
        agent.tell(point, 1.5)
    pending = [agent.ask() for _ in range(3)]
    path = tmp_path / "agent.npz"
    agent.save(path)
    assert [p.name for p in tmp_path.iterdir()] == ["agent.npz"]  # no temporary file stays behind
    loaded = type(agent).load(path)
    assert state(loaded) == state(agent)
    assert state(ob.agents.Agent.load(path)) == state(agent)
    for one in (agent, loaded):
        for point in pending[::-1]:
            one.tell(point, 0.25)
    rounds = fewer(name, 60)  # the end of an epoch lies before the file, and another behind it
    a, b = play(agent, rounds, 5, 0.0, 2.0), play(loaded, rounds, 5, 0.0, 2.0)
    np.testing.assert_array_equal(a, b)
    assert state(loaded) == state(agent)
    np.testing.assert_array_equal(agent.recommend(), loaded.recommend())


@pytest.mark.parametrize("kind", [ob.agents.HCT, ob.agents.VHCT])
def test_a_loaded_tree_has_the_bounds_of_the_saved_one_while_asks_are_pending(kind, tmp_path):
    """Asks lead below a leaf, which is then cut by its rewards: its B-value must heed those below at once."""
    agent = kind(ob.spaces.Box(0, 1, dim=1), horizon=1000, nu=1.0, rho=0.5, c=0.1, delta=0.01, seed=0)
    rng, pending, path = np.random.default_rng(0), [], tmp_path / "agent.npz"
    for _ in range(60):
        while len(pending) < 8:
            pending.append(agent.ask())
        point = pending.pop(int(rng.integers(len(pending))))
        agent.tell(point, float(rng.random() < 1 - abs(point[0] - 0.37)))
        agent.save(path)
        loaded = kind.load(path)
        np.testing.assert_allclose(loaded._tree.table.bounds, agent._tree.table.bounds, rtol=1e-12)


def test_saving_replaces_the_file_in_one_step(tmp_path, monkeypatch):
    agent = AGENTS["UniformMesh"](horizon=100, seed=0)
    path = tmp_path / "agent"
    agent.save(str(path))
    before = path.read_bytes()
    agent.tell(agent.ask(), 1.0)
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        agent.save(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["agent"]
    with pytest.raises(FileNotFoundError):
        agent.load(tmp_path / "nowhere")


@pytest.mark.parametrize(
    "name",
    [
        "UCB1",
        "UCBN",
        "UniformMesh S3",
        "UniformMeshN tree",
        "Zooming",
        "HOO S3",
        "HCT S3",
        "OrbitTree S3",
        "OrbitGP S3",
        "elimination",
    ],
)
def test_damaged_files_are_refused_by_name(name, tmp_path):
    agent = AGENTS[name](horizon=None, seed=0)
    play(agent, 20, 0)
    path = tmp_path / "agent.npz"
    agent.save(path)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for length in [0, 1, 30, len(whole) // 2, len(whole) - 1, *rng.integers(len(whole), size=20)]:
        path.write_bytes(whole[:length])
        with pytest.raises(InputError, match=r"agent\.npz"):
            type(agent).load(path)
    for _ in range(150):
        broken = bytearray(whole)
        for place in rng.integers(len(whole), size=3):
            broken[place] ^= int(rng.integers(1, 256))
        path.write_bytes(broken)
        try:
            loaded = type(agent).load(path)
        except InputError as error:
            assert "agent.npz" in str(error)  # noqa: PT017
        else:
            # the change hit a byte that means nothing, as a date
            assert state(loaded) == state(agent)


def rewritten(path, change):
    """Write the file again with a change to its members, with correct checksums: a careful stranger's work."""
    with zipfile.ZipFile(path) as archive:
        members = {info.filename: archive.read(info) for info in archive.infolist()}
    change(members)
    with zipfile.ZipFile(path, "w") as archive:
        for member, data in members.items():
            archive.writestr(member, data)


def assert_refused(agent, forgery, folder):
    """The agent's file loads, and once it is forged it is refused by name."""
    path = folder / "agent.npz"
    agent.save(path)
    ob.agents.Agent.load(path)
    rewritten(path, forgery)
    with pytest.raises(InputError, match=r"agent\.npz"):
        ob.agents.Agent.load(path)


def npy(array, pickled=False):
    data = io.BytesIO()
    np.lib.format.write_array(data, np.asarray(array), allow_pickle=pickled)
    return data.getvalue()


def header_of(members):
    return json.loads(bytes(np.load(io.BytesIO(members["header.npy"]))))


def with_header(**changes):
    def change(members):
        header = header_of(members)
        for key, value in changes.items():
            (header if key in header else header["settings" if key in header["settings"] else "state"])[key] = value
        members["header.npy"] = npy(np.frombuffer(json.dumps(header).encode(), dtype=np.uint8))

    return change


def with_array(member, make):
    def change(members):
        array = np.load(io.BytesIO(members[member]))
        members[member] = make(array)

    return change


def huge(array):
    data = io.BytesIO()
    np.lib.format.write_array_header_1_0(data, {"descr": "<f8", "fortran_order": False, "shape": (10**12, 8)})
    return data.getvalue()


def within_header(part, name, value):
    def change(members):
        header = header_of(members)
        header[part][name] = value
        members["header.npy"] = npy(np.frombuffer(json.dumps(header).encode(), dtype=np.uint8))

    return change


FORGERIES = {
    "an abstract agent": with_header(agent="SharingAgent"),
    "the base of agents": with_header(agent="FiniteAgent"),
    "an agent that is no name": with_header(agent={"array": "stats"}),
    "no state": with_header(state=7),
    "no stream": with_header(stream={"state": {}}),
    "a stream of words": with_header(stream={"state": {"state": "a", "inc": "b"}, "has_uint32": 0, "uinteger": 0}),
    "a space with a centre": with_header(
        space={"space": {"name": "Box", "args": [0, 1, 3], "kwargs": {}, "extra": [0, 0, 0]}}
    ),
    "a space too large for any machine": with_header(
        space={"space": {"name": "Box", "args": [0, 1, 10**13], "kwargs": {}}}
    ),
    "told points outside": with_array("told_points.npy", lambda a: npy(a + 9)),
    "told counts of no times": with_array("told_counts.npy", lambda a: npy(a * 0)),
    "told rewards out of range": with_array("told_sums.npy", lambda a: npy(a + 9)),
    "a point twice": with_array("mesh.npy", lambda a: npy(a[[0, *range(len(a) - 1)]])),
    "another format": with_header(format="something else"),
    "a later version": with_header(version=99),
    "no version": with_header(version="new"),
    "an unknown agent": with_header(agent="Villain"),
    "a space that is none": with_header(space={"space": {"name": "os", "args": [], "kwargs": {}}}),
    "a base class": with_header(space={"space": {"name": "Space", "args": [], "kwargs": {}}}),
    "a space of another size": with_header(space={"space": {"name": "Box", "args": [0, 1, 2], "kwargs": {}}}),
    "settings that cannot be": with_header(lipschitz=-1.0),
    "an unknown setting": with_header(settings={"extra": 1}),
    "negative rounds": with_header(rounds=-3),
    "a wrong horizon": with_header(goal=0),
    "pickled objects": with_array("stats.npy", lambda a: npy(np.array([{}], dtype=object), pickled=True)),
    "an array that claims to be huge": with_array("stats.npy", huge),
    "too few arms": with_array("stats.npy", lambda a: npy(a[:-1])),
    "not a number": with_array("stats.npy", lambda a: npy(a * np.nan)),
    "negative counts": with_array("stats.npy", lambda a: npy(a - 5)),
    "an order that is none": with_array("order.npy", lambda a: npy(np.zeros_like(a))),
    "points elsewhere": with_array("mesh.npy", lambda a: npy(a + 9)),
    "asks of no arm": with_array("asked_handles.npy", lambda a: npy(a + 10**6)),
    "asks without points": with_array("asked.npy", lambda a: npy(a[:0])),
    "told points without rewards": with_array("told_sums.npy", lambda a: npy(a[:-1])),
    "a missing array": lambda members: members.pop("stats.npy"),
    "no header": lambda members: members.pop("header.npy"),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_forged_files_are_refused_by_name(forgery, tmp_path):
    agent = AGENTS["UniformMeshN S3"](horizon=None, seed=0)
    play(agent, 20, 0)
    agent.tell(agent.space.sample(1, 0)[0], 0.5)
    agent.ask()
    path = tmp_path / "agent.npz"
    agent.save(path)
    rewritten(path, lambda members: None)
    assert state(type(agent).load(path)) == state(agent)
    rewritten(path, FORGERIES[forgery])
    with pytest.raises(InputError, match=r"agent\.npz"):
        type(agent).load(path)


def recipe(kind, name, *args, center=None, **kwargs):
    made = {"name": name, "args": list(args), "kwargs": kwargs}
    return {kind: made if center is None else {**made, "center": center}}


def swaps(dim):
    """Generators of all permutations."""
    return [[1, 0, *range(2, dim)], [*range(1, dim), 0]]


def cyclic(m):
    return recipe("group", "Cyclic", m, center=[0, 0])


def settings(**changes):
    def change(members):
        for name, value in changes.items():
            within_header("settings", name, value)(members)

    return change


TOO_LARGE = {
    "arms": ("UCB1", settings(n_arms=10**9)),
    "arms without generators": ("OrbitUCB1", settings(n_arms=10**9, generators=[])),
    "candidates": ("OrbitGP", settings(candidates=10**9)),
    "a box": ("HOO", settings(space=recipe("space", "Box", 0, 1, dim=10**9))),
    "a box by position": ("OrbitGP", settings(space=recipe("space", "Box", 0, 1, 10**400))),
    "a ball": ("OrbitTree", settings(space=recipe("space", "Ball", 20_000))),
    "a simplex": ("UniformMesh", settings(space=recipe("space", "Simplex", 20_000))),
    "a product": ("HOO", settings(space=recipe("space", "Product", *[recipe("space", "Box", 0, 1, 999)] * 2))),
    "permutations": ("HOO", settings(group=recipe("group", "Symmetric", 20_000, center=0))),
    "permutations of the space": (
        "HOO",
        settings(space=recipe("space", "Box", 0, 1, 1000), group=recipe("group", "Symmetric", 1000, center=[0] * 1000)),
    ),
    "shifts": ("OrbitTree", settings(group=recipe("group", "CyclicShift", 20_000, center=0))),
    "blocks": ("OrbitGP", settings(group=recipe("group", "BlockPermutation", 10**5, 10**5, center=0))),
    "copies": ("OrbitGP", settings(group=recipe("group", "Diagonal", cyclic(3), 10**9, center=0))),
    "a rank": ("UniformMesh", settings(group=recipe("group", "Coxeter", "A5000", center=0))),
    "cosets": ("HOO", settings(group=recipe("group", "Joint", cyclic(2), cyclic(99_998), center=[0, 0]))),
    "matrices of shifts": (
        "HOO",
        settings(
            group=recipe(
                "group", "Diagonal", recipe("group", "CyclicShift", 900, center=[0] * 900), 1, center=[0] * 900
            )
        ),
    ),
    "leaves": ("UniformMeshN tree", within_header("state", "delta", 1e-3)),
    "a later delta": ("UniformMeshN tree", within_header("state", "delta", 0.05)),
    "rounds": ("UniformMesh", with_header(rounds=10**400)),
}


@pytest.mark.parametrize("forgery", TOO_LARGE)
def test_forged_sizes_are_refused_before_memory_is_set_aside(forgery, tmp_path):
    name, change = TOO_LARGE[forgery]
    path = tmp_path / "agent.npz"
    AGENTS[name](horizon=10, seed=0).save(path)
    ob.agents.Agent.load(path)
    rewritten(path, change)
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match=r"agent\.npz"):
            ob.agents.Agent.load(path)
        assert tracemalloc.get_traced_memory()[1] < 2**27
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "group",
    [
        recipe("group", "Permutation", swaps(6), limit=10**15, center=[0] * 6),
        recipe("group", "Permutation", swaps(6), center=[0] * 6),
        recipe("group", "Matrix", np.eye(6)[swaps(6)].tolist(), center=[0] * 6),
    ],
)
def test_a_file_lists_no_more_elements_than_an_agent_takes(group, tmp_path, monkeypatch):
    monkeypatch.setattr(sizes, "MAX_LISTED", 100_000)
    path = tmp_path / "agent.npz"
    AGENTS["HOO"](horizon=10, seed=0).save(path)
    rewritten(path, settings(group=group))
    with pytest.raises(InputError, match=r"agent\.npz .*GroupTooLargeError"):
        ob.agents.Agent.load(path)
    with pytest.raises(GroupTooLargeError, match="listed element"):
        ob.agents.OrbitTree(ob.spaces.Box(0, 1, dim=6), ob.groups.Permutation(swaps(6)))


def test_all_spaces_and_groups_of_a_file_are_no_larger_than_those_of_an_agent(tmp_path, monkeypatch):
    monkeypatch.setattr(sizes, "MAX_LISTED", 20_000)
    monkeypatch.setattr("orbandit.agents.files.MAX_DESCRIBED", 40_000)
    path = tmp_path / "agent.npz"
    AGENTS["HOO"](horizon=10, seed=0).save(path)
    rewritten(path, settings(extra=[recipe("group", "Permutation", swaps(4), center=[0] * 4)] * 30))
    with pytest.raises(InputError, match=r"agent\.npz .* too large together"):
        ob.agents.Agent.load(path)


def test_agents_refuse_spaces_and_groups_that_no_file_may_describe():
    space, group = ob.spaces, ob.groups
    with pytest.raises(InputError, match="at most 1,000 dimensions"):
        ob.agents.HOO(space.Box(0.0, 1.0, dim=1001))
    with pytest.raises(GroupTooLargeError, match="at most 200 coordinates"):
        ob.agents.OrbitGP(space.Box(0.0, 1.0, dim=201), group.Symmetric(201))
    mirrors = group.Product(group.Matrix([[[-1.0]]] * 500), group.Trivial(199))
    with pytest.raises(GroupTooLargeError, match="16,777,216 entries"):
        ob.agents.OrbitGP(space.Box(-1.0, 1.0, dim=200), mirrors)
    far = ob.meshes.Mesh(np.zeros((1, 1001)), 1.0, space.Box(0.0, 1.0, dim=1001))
    with pytest.raises(InputError, match="at most 1,000 dimensions"):
        ob.agents.UniformMesh(space.Box(0.0, 1.0, dim=2), mesh=far)


S, G = ob.spaces, ob.groups
UNUSUAL = {
    "many arms": lambda: ob.agents.UCB1(100_000, seed=0),
    "many orbits": lambda: ob.agents.OrbitUCB1(100_000, [], seed=0),
    "many candidates": lambda: ob.agents.OrbitGP(S.Box(0.0, 1.0, dim=2), candidates=4096, seed=0),
    "many dimensions": lambda: ob.agents.HOO(S.Box(0.0, 1.0, dim=300), seed=0),
    "many dimensions of a simplex": lambda: ob.agents.OrbitGP(S.Simplex(300), seed=0),
    "no limit": lambda: ob.agents.OrbitTree(S.Box(0, 1, 4), G.Permutation(swaps(4), limit=10**15), seed=0),
    "a polytope": lambda: ob.agents.OrbitTree(S.Polytope.regular("dodecahedron"), G.Coxeter("H3"), seed=0),
    "a farm": lambda: ob.agents.OrbitTree(
        S.Product(*[S.Ball(2)] * 4), G.Joint(G.BlockPermutation(4, 2), G.Diagonal(G.Dihedral(16), 4)), seed=0
    ),
    "copies of copies": lambda: ob.agents.OrbitTree(
        S.Box(-1.0, 1.0, dim=8), G.Diagonal(G.Diagonal(G.Cyclic(4), 2), copies=2), seed=0
    ),
    "moved parts": lambda: ob.agents.HOO(
        S.Product(S.Box(0, 2, dim=2), S.Product(S.Ball(2, center=[1.0, 1.0]))),
        G.Product(G.SignFlips(2).centered([1.0, 1.0]), G.Cyclic(5).centered([1.0, 1.0])),
        seed=0,
    ),
    "a mesh of its own": lambda: ob.agents.Zooming(
        S.Box(0, 1, 2), mesh=ob.meshes.Mesh([[0.5, 0.5]], 1.0, S.Box(0, 1, 2), G.Symmetric(2)), horizon=10**18, seed=0
    ),
}


def test_settings_are_those_of_the_call_whatever_becomes_of_its_arguments():
    def given():
        return {
            ob.agents.UCB1: [np.array(4)],
            ob.agents.OrbitUCB1: [4, np.array([[1, 0, 2, 3]])],
            ob.agents.UCBN: [(np.array([0, 2, 4]), np.array([0, 1, 0, 1]))],
        }

    common = {"horizon": np.array(50), "reward_range": np.array([0.0, 2.0])}
    known = {kind: state(kind(*args, **common, seed=0)) for kind, args in given().items()}
    for kind, args in given().items():
        own = {name: value.copy() for name, value in common.items()}
        agent = kind(*args, **own, seed=0)
        for array in (*own.values(), *(part for arg in args for part in (arg if isinstance(arg, tuple) else [arg]))):
            if isinstance(array, np.ndarray):
                array[...] = 9
        assert state(agent) == known[kind]
    slope = np.array(2.0)
    agent = ob.agents.UniformMesh(S.Box(0.0, 1.0, dim=2), lipschitz=slope, seed=0)
    slope[...] = 3.0
    assert copy.deepcopy(agent).lipschitz == agent.lipschitz == 2.0


@pytest.mark.parametrize("unusual", UNUSUAL)
def test_every_file_that_is_saved_loads(unusual, tmp_path):
    agent = UNUSUAL[unusual]()
    path, again = tmp_path / "agent.npz", tmp_path / "again.npz"
    agent.save(path)
    loaded = ob.agents.Agent.load(path)
    loaded.save(again)
    assert path.read_bytes() == again.read_bytes()
    assert state(loaded) == state(agent)


ASKING = ["OrbitGP S3", "UniformMesh S3", "UniformMeshN S3", "Zooming S3", "HOO S3", "HCT S3", "OrbitTree S3"]
ASKING += ["CKLUCB shift", "StoSOO S3", "SequOOL S3", "elimination S2"]


@pytest.mark.parametrize("name", ASKING)
@pytest.mark.parametrize(
    "forgery", [lambda a: a + 9, lambda a: a * np.nan, lambda a: a[:, :1], lambda a: a.astype(np.float32)]
)
def test_pending_asks_of_what_is_no_point_of_the_space_are_refused(name, forgery, tmp_path):
    agent = AGENTS[name](horizon=None, seed=0)
    play(agent, 20, 0)
    agent.ask()
    path = tmp_path / "agent.npz"
    agent.save(path)
    rewritten(path, with_array("asked.npy", lambda a: npy(forgery(a))))
    with pytest.raises(InputError, match=r"agent\.npz"):
        ob.agents.Agent.load(path)


@pytest.mark.parametrize("name", [*ASKING[1:], "UCB1", "OrbitUCB1"])
def test_pending_asks_of_other_points_than_their_arms_have_are_refused(name, tmp_path):
    agent = AGENTS[name](horizon=None, seed=0)
    play(agent, 20, 0)
    point = agent.ask()
    path = tmp_path / "agent.npz"
    agent.save(path)
    if is_tree(agent):
        place = agent.arms.cells.place(agent.arms.units.enter(point[None]))[0]
        other = next(cell for cell in range(len(agent.arms.cells)) if not agent.arms.cells.holds(cell, place))
    else:
        other = 1 - nearest(agent, point) % 2
    rewritten(path, with_array("asked_handles.npy", lambda a: npy(np.full_like(a, other))))
    with pytest.raises(InputError, match="pending asks at points that are not those"):
        ob.agents.Agent.load(path)


@pytest.mark.parametrize(
    ("name", "forgery"),
    [
        ("UniformMesh", with_header(goal=10**400)),
        ("UniformMesh", with_header(goal=256)),
        ("UniformMesh", with_header(goal=100)),
        ("OrbitGP", with_header(salt=10**400)),
        ("OrbitGP", with_header(fits=10**6)),
        ("OrbitGP", with_header(due=10**6)),
        ("HOO", with_header(salt=2**64)),
        ("OrbitTree", with_header(salt=-1)),
        *(
            ("StoSOO", with_array("place.npy", lambda a, bad=bad: npy(np.array(bad))))
            for bad in ([0.0], [99.0, 0.0], [0.5, 0.0], [1.0, np.nan], [1.0, np.inf], [1, 0])
        ),
        ("StoSOO", with_array("stats.npy", lambda a: npy(a * [1, 1, 1, 2]))),
        ("StoSOO", with_array("stats.npy", lambda a: npy(np.maximum(a, [0, 0, 0, 1])))),
        *(
            ("SequOOL", with_array("finalists.npy", lambda a, bad=bad: npy(np.array(bad))))
            for bad in ([1.0], [[1, 0, 0]], [[999.0, 0.0, 0.0]], [[0.5, 0.0, 0.0]], [[1.0, 0.0, 0.0]] * 2)
        ),
        *(
            ("SequOOL", with_array("finalists.npy", lambda a, bad=bad: npy(np.array([[1.0, *bad]]))))
            for bad in ([99.0, 0.0], [0.0, 99.0], [-1.0, 0.0], [np.nan, 0.0])
        ),
        *(
            ("GPO", with_array("checks.npy", lambda a, bad=bad: npy(np.array(bad))))
            for bad in (
                [1.0],
                [[9.0, 0.0, 1.0, 0.5, 0.5]],
                [[0.0, 2.0, 1.0, 0.5, 0.5]],
                [[0.0, 0.0, 1.0, 5.0, 0.5]],
                [[0.0, 0.0, 1.0, np.nan, 0.5]],
                [[0.0, 0.0, 1.0, 0.5, 0.5]] * 2,
            )
        ),
        ("GPO", with_header(instances=[{"salt": 1, "rounds": 1, "goal": 10}] * 99)),
        ("POO", with_header(salt=-1)),
        ("POO", with_header(instances=[])),
        ("POO", with_header(instances=[{"salt": 1}] * 99)),
        ("POO", with_array("1.stats.npy", lambda a: npy(-a))),
        ("POO", lambda members: members.pop("0.stats.npy")),
        ("POO", with_array("asked_handles.npy", lambda a: npy(a + 60_000))),
        ("elimination", with_header(phase=10**9)),
        ("elimination", with_header(phase=4)),
        *(
            (
                "OrbitTree",
                with_array("pool.npy", lambda a, at=at, value=value: npy(np.where(np.arange(4) == at, value, a))),
            )
            for at, value in [(0, -1.0), (0, 1e300), (1, 1e300), (1, 1e-320), (2, 1e300), (3, 1e300), (3, 1e-300)]
        ),
    ],
)
def test_numbers_that_no_play_leads_to_are_refused(name, forgery, tmp_path):
    agent = AGENTS[name](horizon=None, seed=0)
    play(agent, 20, 0)
    if name == "POO":
        agent.ask()
    assert_refused(agent, forgery, tmp_path)


def test_a_horizon_that_is_not_the_one_given_is_refused(tmp_path):
    path = tmp_path / "agent.npz"
    AGENTS["UniformMesh"](horizon=1000, seed=0).save(path)
    rewritten(path, with_header(goal=64))
    with pytest.raises(InputError, match=r"agent\.npz"):
        ob.agents.Agent.load(path)


@pytest.mark.parametrize(
    "forgery",
    [
        with_array("stats.npy", lambda a: npy(a[:-1])),
        with_array("stats.npy", lambda a: npy(-a)),
        with_array("stats.npy", lambda a: npy(a + np.inf)),
        with_array("parents.npy", lambda a: npy(a[::-1])),
        with_array("children.npy", lambda a: npy(a + 10**6)),
        with_array("asked_handles.npy", lambda a: npy(a - 10**6)),
        with_array("asked.npy", lambda a: npy(a[:, :1])),
        with_header(salt="pepper"),
        with_header(rho=3.0),
    ],
)
def test_forged_trees_are_refused_by_name(forgery, tmp_path):
    agent = AGENTS["HOO S3"](horizon=1000, seed=0)
    play(agent, 50, 0)
    agent.ask()
    path = tmp_path / "agent.npz"
    agent.save(path)
    rewritten(path, forgery)
    with pytest.raises(InputError, match=r"agent\.npz"):
        ob.agents.Agent.load(path)


@pytest.mark.parametrize(
    "forgery",
    [
        with_array("stats.npy", lambda a: npy(a[:-1])),
        with_array("stats.npy", lambda a: npy(-a)),
        with_array("stats.npy", lambda a: npy(a + np.inf)),
        with_array("stats.npy", lambda a: npy(a.astype(np.float32))),
        # no noise
        with_array("stats.npy", lambda a: npy(a * np.where(np.arange(COLUMNS) == NOISE, 0.0, 1.0))),
        with_array("keys.npy", lambda a: npy(a[:-1])),
        with_array("keys.npy", lambda a: npy(np.full_like(a, np.nan))),
        with_array("keys.npy", lambda a: npy(np.full_like(a, -np.inf))),
        with_array("keys.npy", lambda a: npy(np.zeros_like(a))),
        with_array("keys.npy", lambda a: npy(np.where(np.arange(len(a)) == 0, 1.0, a))),
        with_array("places.npy", lambda a: npy(a[:, :2])),
        with_array("places.npy", lambda a: npy(a * np.nan)),
        with_array("pool.npy", lambda a: npy(a[:3])),
        with_array("pool.npy", lambda a: npy(a * 0)),
        with_array("parents.npy", lambda a: npy(a[::-1])),
        with_array("children.npy", lambda a: npy(a + 10**6)),
        with_array("asked_handles.npy", lambda a: npy(a - 10**6)),
        with_array("asked.npy", lambda a: npy(a[:, :1])),
        with_header(salt="pepper"),
        with_header(guarantee="practice"),
    ],
)
def test_forged_orbit_trees_are_refused_by_name(forgery, tmp_path):
    agent = AGENTS["OrbitTree S3"](horizon=1000, seed=0)
    play(agent, 80, 0)
    agent.ask()
    assert_refused(agent, forgery, tmp_path)


@pytest.mark.parametrize(
    "forgery",
    [
        with_array("stats.npy", lambda a: npy(a[:-1])),
        with_array("stats.npy", lambda a: npy(-a)),
        with_array("stats.npy", lambda a: npy(a[:, :4])),
        with_array("stats.npy", lambda a: npy(a.astype(np.float32))),
        with_array("stats.npy", lambda a: npy(a * [1, 1, 1, 1, 2])),  # cells that are cut twice
        with_array("stats.npy", lambda a: npy(a * [1, 1, 1, 1, 0])),  # a root that is not cut
        with_array("stats.npy", lambda a: npy(a * [1, 1, 1, 9, 1])),  # squares beyond the rewards
        with_array("parents.npy", lambda a: npy(a[::-1])),
        with_header(salt="pepper"),
        with_header(delta=1.5),
    ],
)
def test_forged_confidence_trees_are_refused_by_name(forgery, tmp_path):
    agent = AGENTS["VHCT"](horizon=1000, seed=0)
    play(agent, 80, 0)
    agent.ask()
    assert_refused(agent, forgery, tmp_path)


@pytest.mark.parametrize(("name", "horizon"), SOME_PAIRS)
def test_copies_and_pickles_go_on_alone(name, horizon):
    agent = AGENTS[name](horizon=horizon, seed=0)
    play(agent, fewer(name, 50), 0)
    agent.ask()
    before = state(agent)
    copies = [copy.deepcopy(agent), copy.copy(agent), pickle.loads(pickle.dumps(agent))]
    play(agent, fewer(name, 20), 1)
    for one in copies:
        assert state(one) == before
        one.forget(a_pending(one))
    np.testing.assert_array_equal(*(play(one, fewer(name, 40), 2) for one in copies[:2]))


@pytest.mark.parametrize(("name", "horizon"), SOME_PAIRS)
def test_what_is_expected_is_in_the_file(name, horizon, tmp_path):
    agent = AGENTS[name](horizon=horizon, seed=0)
    play(agent, fewer(name, 40), 0)
    first, second, third = any_points(agent, 3, 1)
    for point in (first, second, first, third):
        agent.expect(point)
        agent.forget(agent.ask())
    agent.save(tmp_path / "agent.npz")
    loaded = ob.agents.Agent.load(tmp_path / "agent.npz")
    assert state(loaded) == state(agent)
    for each in (agent, loaded):
        each.tell(first, 0.5)
        each.forget(second)
    assert state(loaded) == state(agent)
    np.testing.assert_array_equal(*(each.ask_batch(3) for each in (agent, loaded)))


def test_a_file_of_another_agent_is_refused_by_name(tmp_path):
    path = tmp_path / "agent.npz"
    AGENTS["UCB1"](horizon=10, seed=0).save(path)
    with pytest.raises(InputError, match="holds a UCB1, not a UniformMesh"):
        ob.agents.UniformMesh.load(path)


def test_spaces_and_groups_of_others_cannot_be_saved(tmp_path):
    class Mine(ob.spaces.Space):
        pass

    for name in dir(ob.spaces.Box):
        if name.startswith("_") and not name.startswith("__"):
            setattr(Mine, name, getattr(ob.spaces.Box, name))
    Mine.__abstractmethods__ = frozenset()
    for name in ("__init__", "dim", "volume", "diameter", "bounds", "farthest_distance", "halfspaces"):
        setattr(Mine, name, ob.spaces.Box.__dict__[name])
    agent = ob.agents.UniformMesh(Mine(0.0, 1.0, dim=2), horizon=100, seed=0)
    with pytest.raises(InputError, match="only spaces and groups of this package"):
        agent.save(tmp_path / "agent.npz")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("symmetry", ["exact", "approximate"])
def test_a_file_without_the_reach_of_few_units_is_fitted_anew(symmetry):
    """Up to 0.2.0 kernels of few units were averages, which have none."""
    space, group = ob.spaces.Box(0.0, 1.0, dim=6), ob.groups.BlockPermutation(3, 2)
    settings = {"horizon": 100, "goal": "best", "symmetry": symmetry, "seed": 0}
    agent, other = (ob.agents.OrbitGP(space, group, **settings) for _ in range(2))
    for _ in range(19):  # fewer than a second kernel is tried from
        point = agent.ask()
        agent.tell(point, float(np.sin(5 * point).mean() / 2 + 0.5))
    state, arrays = agent._state()
    short = {"lengths": arrays["lengths"][:-1], "start": arrays["start"][:-1]}
    other._rounds = agent.rounds
    other._restore(state, {**arrays, **short, "covariances": np.eye(19)})
    probes = space.sample(20, 1)
    estimates = [[each.estimate(probe) for probe in probes] for each in (agent, other)]
    np.testing.assert_allclose(*estimates, atol=0.05)
    assert other._model.kernel.n_scales == len(other._model.parameters.lengths)


SAVED = Path(__file__).parent / "saved"


@pytest.mark.parametrize("name", sorted(path.stem for path in SAVED.glob("*.npz")))
def test_files_of_0_1_0_still_load(name):
    """Saved before agents scaled coordinates; `known.json` has what version 0.1.0 knew when it saved them.

    The kernel of two exchangeable units is another one since, fitted to the same rewards.
    """
    agent = ob.agents.Agent.load(SAVED / f"{name}.npz")
    known = json.loads((SAVED / "known.json").read_text())[name]
    # which went no further than the points played, at 0.1.0
    if isinstance(agent, ob.agents.OrbitGP):
        assert agent.estimate(agent.recommend()) >= agent.estimate(known["recommended"]) - 1e-3
    else:
        np.testing.assert_allclose(agent.recommend(), known["recommended"], rtol=1e-6)
    close = 0.025 if isinstance(agent, ob.agents.OrbitGP) else 1e-6
    np.testing.assert_allclose([agent.estimate(point) for point in known["points"]], known["estimates"], atol=close)
    agent.tell(agent.ask(), 0.5)
    assert agent.rounds == 13
