"""Every refusal names the value and the remedy, and is of a type a caller can catch."""

import numpy as np
import pytest

import orbandit as ob
from cases import FINITE, INFINITE, LARGE, G
from orbandit.errors import GroupTooLargeError, InputError, InputTypeError

GROUPS = {**FINITE, **INFINITE, **LARGE}


@pytest.mark.parametrize("name", GROUPS)
def test_points_are_checked(name):
    group = GROUPS[name]()
    good = np.zeros(group.dim)
    wrong = np.zeros(group.dim + 1)
    for call in (
        group.fold,
        group.orbit,
        group.stabilizer,
        group.centered,
        lambda x: group.distance(x, good),
    ):
        with pytest.raises(InputError, match=rf"\({group.dim},\)"):
            call(wrong)
    for bad in (np.nan, np.inf, -np.inf):
        broken = good.copy()
        broken[-1] = bad
        with pytest.raises(InputError, match=f"finite, but got {bad} at index"):
            group.fold([good, broken])
        with pytest.raises(InputError, match="`b` must be finite"):
            group.distance(good, broken)
        with pytest.raises(InputError, match="finite"):
            group.act(np.eye(group.dim), broken)
    with pytest.raises(InputTypeError, match="must be real numbers"):
        group.fold(["a"] * group.dim)


def test_infinities_that_cancel_are_found():
    with pytest.raises(InputError, match=r"got inf at index \(0, 0\)"):
        G.Symmetric(2).fold([[np.inf, -np.inf]])
    huge = np.full((2, 2), 1e308)  # their sum overflows, but each is finite
    np.testing.assert_array_equal(G.Symmetric(2).fold(huge), huge)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: G.Symmetric(0), "`dim >= 1` must hold, but got dim=0"),
        (lambda: G.Symmetric(-2), "dim=-2"),
        (lambda: G.Cyclic(0), "`m >= 1`"),
        (lambda: G.Dihedral(0), "`m >= 1`"),
        (lambda: G.BlockPermutation(0, 2), "`blocks >= 1`"),
        (lambda: G.SignedBlockPermutation(2, 0), "`size >= 1`"),
        (lambda: G.Orthogonal(1, 3), "use SignedBlockPermutation"),
        (lambda: G.Diagonal(G.Dihedral(3), 0), "`copies >= 1`"),
        (lambda: G.Matrix([[1.0, 0.1], [0.0, 1.0]]), "generator 0 has g g"),
        (lambda: G.Matrix(2 * np.eye(2)), "orthogonal"),
        (lambda: G.Matrix(np.eye(3)[:2]), r"shape \(1, 2, 3\)"),
        (lambda: G.Matrix(np.empty((0, 2, 2))), "Trivial"),
        (lambda: G.Matrix([[np.nan, 0], [0, 1]]), "finite"),
        (lambda: G.Permutation([0, 0, 1]), r"generator 0 is \[0.0, 0.0, 1.0\]"),
        (lambda: G.Permutation([1, 2, 3]), "each of 0, ..., 2 once"),
        (lambda: G.Permutation([]), "shape"),
        (lambda: G.Product(), "at least one group"),
        (lambda: G.Joint(G.Symmetric(3), G.Cyclic(3)), "one dimension"),
        (lambda: G.Joint(G.Symmetric(2), G.Cyclic(3)), "must normalise"),
        (lambda: G.Joint(G.Cyclic(3), G.Symmetric(2).centered([1.0, 0.0])), "share a fixed point"),
        (lambda: G.Joint(G.SignFlips(4), G.Orthogonal(2, 2)), "`b` must be finite"),
        (lambda: G.Symmetric(3).act(np.eye(2), np.zeros(3)), "elements"),
        (lambda: G.Symmetric(3).elements(limit=0), "`limit >= 1`"),
        (lambda: G.Symmetric(3).random(-1, 0), "`size >= 0`"),
        (lambda: G.Symmetric(2).domain().contains([0.0, 1.0], tol=-1), "`tol >= 0`"),
        (lambda: G.Symmetric(2).domain().excludes([0.0, 1.0], [0.0, 0.5]), "`low <= high`"),
        (lambda: G.Symmetric(2).domain().excludes([0.0, 1.0], [[1.0, 1.5]] * 2), "one shape"),
        (lambda: G.Symmetric(2).random(10**10, 0), "of more than 536,870,912 numbers"),
        (lambda: G.Symmetric(50_000).generators, "the swaps of neighbours would be an array of shape"),
        (lambda: G.SignFlips(50_000).generators, "a matrix would be an array of shape"),
        (
            lambda: G.Product(G.CyclicShift(3), *[G.Cyclic(3)] * 20_000).generators,
            "of the product would be an array of shape",
        ),
        (lambda: G.Diagonal(G.Cyclic(3), 50_000).generators, "would be an array of shape"),
        (lambda: G.Orthogonal(2, 50_000).generators, "would be an array of shape"),
    ],
)
def test_values_are_refused(make, message):
    with pytest.raises(InputError, match=message) as caught:
        make()
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, ob.errors.OrbanditError)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: G.Symmetric(2.5), "`dim` must be an integer, but got 2.5"),
        (lambda: G.Symmetric("3"), "got '3'"),
        (lambda: G.Symmetric(True), "got True"),
        (lambda: G.Symmetric(2).fold(np.array([1 + 2j, 0])), "must be real numbers"),
        (lambda: G.Product(G.Symmetric(2), 3), "made of groups, but got 3"),
        (lambda: G.Joint(G.Symmetric(2), None), "must be groups, but got None"),
        (lambda: G.Diagonal("D3", 2), "must be a group, but got 'D3'"),
        (lambda: G.Symmetric(3).random(1, None), "`rng` must be a seed"),
        (lambda: G.Symmetric(3).random(1, "seed"), "`rng` must be a seed"),
    ],
)
def test_types_are_refused(make, message):
    with pytest.raises(InputTypeError, match=message) as caught:
        make()
    assert isinstance(caught.value, TypeError)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("e8", "mean 'E8'?"),
        ("b3", "mean 'B3'?"),
        ("C3", "mean 'B3'?"),
        ("I2[7]", "mean 'I2(7)'?"),
        ("E9", "'E8'"),
        ("H5", "'H4'"),
        ("F3", "'F4'"),
        ("I2", "'I2(m)'"),
        (8, "Known"),
    ],
)
def test_unknown_coxeter_names_get_a_hint(name, hint):
    with pytest.raises(InputError) as caught:
        G.Coxeter(name)
    assert hint in str(caught.value)
    assert "Known: An, Bn, Dn, E6" in str(caught.value)
    if name != 8:
        assert "Did you mean" in str(caught.value)


@pytest.mark.parametrize("name", ["A0", "B0", "D1", "I2(1)"])
def test_coxeter_ranks_are_checked(name):
    with pytest.raises(InputError, match=r"needs [nm] >= "):
        G.Coxeter(name)


def test_a_part_too_large_to_list_is_refused():
    with pytest.raises(GroupTooLargeError, match="it has closed forms for Symmetric"):
        G.Diagonal(G.Coxeter("E8"), 2)
    with pytest.raises(GroupTooLargeError, match="swap the groups"):
        G.Joint(G.SignFlips(12), G.Symmetric(12))


def test_a_point_with_a_stabilizer_has_no_domain():
    with pytest.raises(InputError, match=r"1 others fix \[1.0, 1.0, 2.0\]; move it off the walls"):
        G.Symmetric(3).domain([1.0, 1.0, 2.0])


def test_huge_orders_are_printed():
    with pytest.raises(GroupTooLargeError, match=r"about 10\^374.9 elements"):
        G.Symmetric(200).elements()
    assert G.Product(G.Symmetric(200), G.Orthogonal(2, 2)).order == float("inf")
    assert G.Coxeter("A300").dim == 300


def test_groups_without_generators_join():
    assert G.Joint(G.Trivial(2), G.Trivial(2)).order == 1
    assert G.Joint(G.Symmetric(1), G.CyclicShift(1)).order == 1


def test_copies_of_copies_keep_the_closed_form():
    group = G.Diagonal(G.Diagonal(G.Symmetric(20), 2), 2)
    assert group.dim == 80
    x = np.random.default_rng(0).standard_normal(80)
    assert group.distance(x, group.act(group.random(1, 1)[0], x)) < 1e-12


def test_representations_show_how_to_make_the_group():
    assert repr(G.Coxeter("H3")) == "Coxeter('H3')"
    assert repr(G.Symmetric(3).centered([1, 2, 3])) == "Symmetric(3).centered([1.0, 2.0, 3.0])"
    assert repr(LARGE["eight turbines"]()) == "Joint(BlockPermutation(8, 2), Diagonal(Dihedral(16), 8))"
    assert repr(FINITE["Klein"]()) == "Permutation([[1, 0, 3, 2], [2, 3, 0, 1]])"
    for make in GROUPS.values():
        assert make()._name() in repr(make())


HUGE = {
    "Trivial": (G.Trivial, "dim <= 100,000"),
    "Symmetric": (G.Symmetric, "dim <= 100,000"),
    "SignedPermutation": (G.SignedPermutation, "dim <= 100,000"),
    "SignFlips": (G.SignFlips, "dim <= 100,000"),
    "CyclicShift": (G.CyclicShift, "dim <= 10,000"),
    "Cyclic": (G.Cyclic, "m <= 1,000,000,000,000"),
    "Dihedral": (G.Dihedral, "m <= 1,000,000,000,000"),
    "many blocks": (lambda n: G.BlockPermutation(n, 2), "blocks <= 100,000"),
    "many signed blocks": (lambda n: G.SignedBlockPermutation(n, 2), "blocks <= 100,000"),
    "large blocks": (lambda n: G.BlockPermutation(2, n), "size <= 100,000"),
    "Orthogonal": (lambda n: G.Orthogonal(n, 2), "blocks <= 100,000"),
    "many columns": (lambda n: G.Orthogonal(2, n), "size <= 100,000"),
    "Diagonal": (lambda n: G.Diagonal(G.Dihedral(3), n), "copies <= 100,000"),
    "a limit": (lambda n: G.Symmetric(3).elements(limit=n), "limit <= 9,223,372,036,854,775,807"),
}


@pytest.mark.parametrize("digits", [20, 400, 5000])
@pytest.mark.parametrize("name", HUGE)
def test_huge_counts_are_refused_with_the_limit(name, digits):
    make, rule = HUGE[name]
    with pytest.raises(InputError, match=f"`{rule}` must hold, but got") as caught:
        make(10**digits)
    assert len(str(caught.value)) < 200


def test_blocks_of_too_many_coordinates_are_refused():
    for make in (G.BlockPermutation, G.SignedBlockPermutation, G.Orthogonal):
        with pytest.raises(InputError, match=r"`blocks [*] size <= 100,000` must hold, but got .*=10000000000"):
            make(100_000, 100_000)
    with pytest.raises(InputError, match=r"`copies [*] group.dim <= 100,000`"):
        G.Diagonal(G.Dihedral(3), 100_000)


@pytest.mark.parametrize("digits", ["1" + "0" * 20, "9" * 5001], ids=len)
def test_huge_names_of_coxeter_groups_are_refused(digits):
    for name in ("A", "B", "D"):
        with pytest.raises(InputError, match=f"`{name}n` needs n <= 1,000, but got"):
            G.Coxeter(name + digits)
    with pytest.raises(InputError, match=r"`I2\(m\)` needs m <= 1,000,000,000,000"):
        G.Coxeter(f"I2({digits})")
    assert G.Coxeter("I2(" + "0" * 5000 + "7)").order == 14


def test_huge_orders_are_named_in_messages():
    # which has more digits than Python writes
    with pytest.raises(GroupTooLargeError, match=r"has about 10\^5735"):
        G.Symmetric(2000).elements()


def test_parts_with_large_lists_are_refused_before_they_are_made():
    with pytest.raises(GroupTooLargeError, match="Diagonal must list the elements"):
        G.Diagonal(G.CyclicShift(300), 2)
    with pytest.raises(GroupTooLargeError, match="Joint must list the elements"):
        G.Joint(G.Trivial(200), G.Diagonal(G.Dihedral(300), 100))
    with pytest.raises(GroupTooLargeError, match="generators of `a` and `b`"):
        G.Joint(G.Symmetric(300), G.Trivial(300))


def test_cosets_that_take_too_long_are_refused():
    with pytest.raises(GroupTooLargeError, match="4,999,800,002 orbit distances would be measured"):
        G.Joint(G.Cyclic(2), G.Cyclic(99_998))
    nested = G.Joint(G.Cyclic(4999), G.Cyclic(4993))
    with pytest.raises(GroupTooLargeError, match="of 4,993 images each"):
        G.Joint(nested, G.Cyclic(49_991))
