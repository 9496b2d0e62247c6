"""The store: exact to the last bit, and careful with files of others or damaged ones; and the tables made of it."""

import csv
import os
import shutil
import sqlite3
import struct
import sys
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest

from orbandit.errors import InputError, InputTypeError, MissingExtraError, OrbanditWarning, StoreError
from orbandit.experiments import store as store_module
from orbandit.experiments.finished import FIELDS, Limit, seal
from orbandit.experiments.store import COLUMNS, Store, export, load
from store_cases import SPEC, make_run, raw

PANDAS = "pandas and pyarrow are in the extra orbandit[frames]"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "results #1?.db"  # signs that mean something in an address


@pytest.fixture
def filled(path):
    with Store.create(path, SPEC) as store:
        store.add_many(make_run(seed) for seed in range(12))
    return path


def test_round_trip_to_the_last_bit(path):
    odd = np.array([-0.0, 5e-324, 0.1, 1 / 3, 1.7976931348623157e308])
    places = np.array([[-0.0, 5e-324, 0.1], [1 / 3, 1.7976931348623157e308, -2.0]])
    run = make_run(
        3,
        checkpoints=[1, 2, 50, 99, 100],
        regret=odd,
        simple_regret=odd[::-1],
        seconds=1e-9,
        horizon=2**63 - 1,
        problem="Σ \n'\"",
        plays=places,
    )
    others = [make_run(seed) for seed in range(7) if seed != 3]
    with Store.create(path, SPEC) as store:
        assert store.add_many(others) == 6
        assert store.add(run)
    for write in (False, True):
        with Store.open(path, write=write) as store:
            assert store.spec == SPEC
            back = {found.key: found for found in store.runs()}
            assert back == {each.key: each for each in [run, *others]}
            assert store.done() == set(back)
        again = back[run.key]
        assert again.regret.tobytes() == odd.tobytes()
        assert again.regret.dtype == np.float64
        assert again.checkpoints.dtype == np.int64
        assert again.checkpoints.tolist() == [1, 2, 50, 99, 100]
        assert again.plays.tobytes() == places.tobytes()
        assert again.plays.shape == (2, 3)
        assert again.simple_regret.tobytes() == odd[::-1].tobytes()
        assert (again.parameters, again.seconds, again.problem) == (run.parameters, 1e-9, "Σ \n'\"")
    assert os.listdir(path.parent) == [path.name]  # one plain file is left


def test_adding_again_changes_nothing(path):
    with Store.create(path, SPEC) as store:
        assert store.add(make_run(1))
        digest = store.digest()
        assert not store.add(make_run(1, seconds=99.0))
        assert store.digest() == digest
        assert [run.seconds for run in store.runs()] == [make_run(1).seconds]
        assert store.add_many([make_run(1), make_run(2), make_run(2)]) == 1
        assert store.done() == {make_run(1).key, make_run(2).key}
        with pytest.raises(InputError, match="same key"):  # a key without the seed would lose runs
            store.add_many([make_run(4), make_run(1, seed=7)])
        assert store.done() == {make_run(1).key, make_run(2).key}  # all or none


def test_order_and_digest_do_not_depend_on_the_order_of_adding(tmp_path):
    runs, digests, orders = [make_run(seed) for seed in range(30)], set(), set()
    for name, step in (("a", 1), ("b", -1)):
        with Store.create(tmp_path / name, SPEC) as store:
            for run in runs[::step]:
                store.add(run)
            digests.add(store.digest())
            orders.add(tuple(run.key for run in store.runs()))
    assert len(digests) == len(orders) == 1
    ranked = sorted(runs, key=lambda run: (run.problem, run.agent, run.horizon, run.seed, run.key))
    assert orders == {tuple(run.key for run in ranked)}
    with Store.create(tmp_path / "c", {}) as store:
        store.add_many([make_run(seed, seconds=0.0) for seed in range(29)])
        assert store.digest() not in digests
        store.add(make_run(29, seconds=0.0))
        assert store.digest() in digests  # time does not count
    with Store.create(tmp_path / "limits", {}) as store:
        store.add_many([*runs[:-1], make_run(29, limit=Limit(3, 0.0, 1.0))])
        assert store.digest() in digests  # nor do limits
    with Store.create(tmp_path / "d", {}) as store:
        store.add_many(runs[:-1])
        store.add(make_run(29, regret=np.nextafter(runs[-1].regret, 0)))
        assert store.digest() not in digests
    for name, plays in (("e", np.nextafter(runs[-1].plays, 0)), ("f", runs[-1].plays.reshape(2, 4))):
        with Store.create(tmp_path / name, {}) as store:
            store.add_many([*runs[:-1], make_run(29, plays=plays)])
            assert store.digest() not in digests


def foreign_files(folder):
    """Yield the names, contents and expected words of files that are not whole stores of this version."""
    sound = folder / "sound.db"
    with Store.create(sound, SPEC) as store:
        store.add_many(make_run(seed) for seed in range(40))
    data = sound.read_bytes()
    yield "empty", b"", "not a file of orbandit's"
    yield "text", b"seed,regret\n" * 500, "not a database"
    other = folder / "other.db"
    raw(other, "CREATE TABLE bookmarks (url)", "INSERT INTO bookmarks VALUES ('x')")
    yield "another database", other.read_bytes(), "not a file of orbandit's"
    raw(other, "PRAGMA journal_mode = WAL")
    yield "another database in WAL mode", other.read_bytes(), "not a file of orbandit's"
    for size in (50, 100, 1000, 4096, 3 * 4096, len(data) // 2, len(data) - 4096, len(data) - 1):
        yield f"truncated to {size}", data[:size], "restore it|not a file of orbandit's"
    noise = np.random.default_rng(0).bytes(5000)
    yield "noise inside", data[:9000] + noise + data[14000:], "restore it"
    newer = folder / "newer.db"
    newer.write_bytes(data)
    raw(newer, "PRAGMA user_version = 6", "ALTER TABLE runs ADD COLUMN more")
    yield "newer", newer.read_bytes(), "upgrade orbandit"
    older = folder / "older.db"
    older.write_bytes(data)
    raw(older, "PRAGMA user_version = 1", "ALTER TABLE runs DROP COLUMN plays", "ALTER TABLE runs DROP COLUMN dim")
    yield "older", older.read_bytes(), "older orbandit.*play it again"
    for name, statement in {
        "no version": "PRAGMA user_version = 0",
        "a trigger": "CREATE TRIGGER t AFTER INSERT ON runs BEGIN DELETE FROM runs; END",
        "a table gone": "DROP TABLE runs",
        "another description": "UPDATE experiment SET spec = '{}'",
        "no description": "DELETE FROM experiment",
    }.items():
        changed = folder / "changed.db"
        changed.write_bytes(data)
        raw(changed, statement)
        yield name, changed.read_bytes(), "restore it"


def test_foreign_and_damaged_files_are_refused_and_left_alone(tmp_path):
    count = 0
    for name, data, match in foreign_files(tmp_path):
        target = tmp_path / "refused" / f"{name}.db"
        target.parent.mkdir(exist_ok=True)
        target.write_bytes(data)
        for attempt in (Store.open, lambda path: Store.open(path, write=False), lambda path: export(path, "x.csv")):
            with pytest.raises(StoreError, match=match) as caught:
                attempt(target)
            assert str(target) in str(caught.value)
        with pytest.raises(StoreError, match="exists already"):
            Store.create(target, SPEC)
        assert target.read_bytes() == data, name
        count += 1
    assert count == 20


def test_paths_that_hold_no_store(tmp_path, filled):
    before = filled.read_bytes()
    with pytest.raises(StoreError, match="exists already"):
        Store.create(filled, SPEC)
    assert filled.read_bytes() == before
    with pytest.raises(StoreError, match=r"missing.*create"):
        Store.open(tmp_path / "nothing.db")
    with pytest.raises(StoreError, match="no file"):
        Store.open(tmp_path)
    with pytest.raises(StoreError, match="exists already"):
        Store.create(tmp_path, SPEC)
    with pytest.raises(StoreError, match="no folder"):
        Store.create(tmp_path / "no" / "a.db", SPEC)
    with pytest.raises(InputError, match=r"spec\['a'\]"):
        Store.create(tmp_path / "nan.db", {"a": np.nan})
    (tmp_path / "link.db").symlink_to(tmp_path / "nowhere.db")
    with pytest.raises(StoreError, match="exists already"):
        Store.create(tmp_path / "link.db", SPEC)
    (tmp_path / "old.db-wal").write_bytes(b"of a store that someone removed")
    with pytest.raises(StoreError, match=r"old\.db-wal is left"):
        Store.create(tmp_path / "old.db", SPEC)
    assert sorted(os.listdir(tmp_path)) == ["link.db", "old.db-wal", filled.name]


def test_a_store_without_hard_links(path, monkeypatch):
    def refuse(*_):
        raise PermissionError("no links here")

    monkeypatch.setattr(os, "link", refuse)
    with Store.create(path, SPEC) as store:
        assert store.add(make_run(0))
    with pytest.raises(StoreError, match="exists already"):
        Store.create(path, SPEC)
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.parametrize(
    "change",
    [
        "regret = x'00000000'",
        "regret = substr(regret, 9) || substr(regret, 1, 8)",
        "regret = 'text'",
        "checkpoints = substr(checkpoints, 9)",
        "seed = seed + 1",
        "seed = 'one'",
        "horizon = 1",
        "agent = cast(x'ff' AS TEXT)",
        "problem = x'00'",
        "seconds = -1.0",
        "dim = 1",
        "plays = substr(plays, 9)",
        "plays = ''",
        "simple_regret = NULL",
        "simple_regret = x''",
        "simple_regret = regret",
        "asymptotic = NULL",
        "asymptotic = '{}'",
        "parameters = '{}'",
        "parameters = 'no json'",
        "seal = x''",
    ],
)
def test_a_row_that_was_tampered_with_counts_as_missing(filled, change):
    run = make_run(6)
    others = {make_run(seed).key for seed in range(12)} - {run.key}
    raw(filled, (f"UPDATE runs SET {change} WHERE key = ?", (run.key,)))
    before, told = filled.read_bytes(), f"the run of .* is damaged and counts as missing \\(key {run.key}\\)"
    with Store.open(filled, write=False) as store:
        with pytest.warns(OrbanditWarning, match=told):
            assert {found.key for found in store.runs()} == others
        assert store.done() == others  # without another warning
    with pytest.warns(OrbanditWarning, match=told):
        export(filled, filled.with_name("out.csv"))
    assert {line.split(",")[-1] for line in filled.with_name("out.csv").read_text().split("\n")[1:-1]} == others
    assert filled.read_bytes() == before
    with pytest.warns(OrbanditWarning, match=told):
        store = Store.open(filled)
    with store:
        assert store.done() == others
        assert store.add(run)
        assert run in store.runs()
    with Store.open(filled, write=False) as store:
        assert store.done() == others | {run.key}


def flipped(data, bit):
    changed = bytearray(data)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def test_any_flipped_bit_is_made_good_or_refused(tmp_path):
    path, runs = tmp_path / "results.db", [make_run(seed) for seed in range(6)]
    with Store.create(path, SPEC) as store:
        store.add_many(runs)
        digest = store.digest()
    data, copy, rng = path.read_bytes(), tmp_path / "copy.db", np.random.default_rng(0)
    kinds = {"whole": 0, "mended": 0, "refused": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OrbanditWarning)
        for bit in rng.integers(8 * len(data), size=150).tolist():
            copy.write_bytes(flipped(data, bit))
            try:
                with Store.open(copy, write=False) as store:
                    found = list(store.runs())
                    assert store.done() == {run.key for run in found}
            except StoreError:
                with pytest.raises(StoreError) as caught:
                    Store.open(copy)
                assert str(copy) in str(caught.value)
                assert copy.read_bytes() == flipped(data, bit)
                kinds["refused"] += 1
                continue
            assert copy.read_bytes() == flipped(data, bit)
            assert len(found) >= len(runs) - 1
            assert all(run in runs for run in found)
            with Store.open(copy) as store:
                assert store.add_many(runs) == len(runs) - len(found)
                assert store.digest() == digest
            kinds["whole" if len(found) == len(runs) else "mended"] += 1
    assert min(kinds.values()) > 3  # pages that hold nothing, rows, and the tables of tables


@pytest.mark.parametrize("part", ["the row", "the index"])
def test_a_damaged_key_is_found_wherever_it_stands(filled, part):
    run = make_run(6)
    data = filled.read_bytes()
    rest = run.row()[1].encode()  # the name of the problem follows the key in a row
    places = [at for at in range(len(data)) if data.startswith(run.key.encode(), at)]
    in_row = [data.startswith(rest, at + len(run.key)) for at in places]
    assert sorted(in_row) == [False, True]
    filled.write_bytes(flipped(data, 8 * places[in_row.index(part == "the row")] + 2))
    if part == "the row":
        with pytest.warns(OrbanditWarning, match="horizon 100, seed 6 is damaged"):
            store = Store.open(filled)
    else:
        store = Store.open(filled)
    with store:
        assert (run.key in store.done()) == (part == "the index")
        assert store.add_many(make_run(seed) for seed in range(12)) == (part == "the row")
    connection = sqlite3.connect(filled)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert connection.execute("SELECT count(*), count(DISTINCT key) FROM runs").fetchall() == [(12, 12)]
    connection.close()


@pytest.mark.parametrize("change", ["sql = cast(x'43ff' AS TEXT)", "name = cast(x'72ff' AS TEXT)"])
def test_tables_that_are_not_in_unicode_are_refused(filled, change):
    raw(filled, "PRAGMA writable_schema = ON", f"UPDATE sqlite_master SET {change} WHERE name = 'runs'")
    before = filled.read_bytes()
    for write in (False, True):
        with pytest.raises(StoreError, match="restore it from a copy"):
            Store.open(filled, write=write)
    assert filled.read_bytes() == before


def test_values_are_checked_behind_a_matching_checksum(filled):
    run = make_run(6)
    row, wrong = dict(zip(FIELDS.split(", "), run.row(), strict=True)), struct.pack("<d", np.nan) * len(run.regret)
    mark = seal([*(row | {"regret": wrong}).values()][:-1])
    raw(filled, ("UPDATE runs SET regret = ?, seal = ? WHERE key = ?", (wrong, mark, run.key)))
    with Store.open(filled) as store, pytest.raises(StoreError, match=f"{run.key}.* is invalid .*`regret`"):
        list(store.runs())


def test_reading_only_and_closed(filled, monkeypatch):
    before = filled.read_bytes()
    with Store.open(filled, write=False) as store:
        with pytest.raises(StoreError, match="write=True"):
            store.add(make_run(50))
        assert len(store.done()) == 12
    store.close()
    for use in (store.done, store.digest, lambda: list(store.runs())):
        with pytest.raises(StoreError, match="closed"):
            use()
    assert filled.read_bytes() == before
    with Store.open(filled) as store:
        with pytest.raises(InputTypeError, match="FinishedRun"):
            store.add_many([make_run(50), "run"])
        with Store.open(filled, write=False) as reader:  # a reader sees what is added beside it
            assert store.add(make_run(50))
            assert make_run(50).key in reader.done()
    with Store.open(filled, write=False) as store:
        assert len(store.done()) == 13
        monkeypatch.setattr(os, "getpid", lambda: -1)  # as if in a fork
        with pytest.raises(StoreError, match="open it again here"):
            store.done()


def test_threads_share_a_store(path):
    with Store.create(path, SPEC) as store:
        new = []
        threads = [
            threading.Thread(
                target=lambda start=start: new.append(sum(store.add(make_run(s)) for s in range(start, 60)))
            )
            for start in (0, 10, 20, 30)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sum(new) == len(store.done()) == 60


def test_a_store_that_stays_locked_is_reported(filled, monkeypatch):
    monkeypatch.setattr(store_module, "BUSY_SECONDS", 0.05)
    with Store.open(filled) as store:
        other = sqlite3.connect(filled, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="locked by another process"):
            store.add(make_run(50))
        other.execute("ROLLBACK")
        other.close()
        assert store.add(make_run(50))


def half_written(path, statement):
    """Copy a database, with its journal, while a write outside WAL mode is under way: what a kill would leave."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA cache_size = 1")
    connection.execute("BEGIN")
    connection.execute(statement)
    copy = path.with_name("half.db")
    shutil.copy(path, copy)
    shutil.copy(f"{path}-journal", f"{copy}-journal")
    connection.execute("ROLLBACK")
    connection.close()
    return copy


@pytest.mark.parametrize("write", [False, True])
def test_a_write_cut_off_outside_wal_mode_is_taken_back(filled, write):
    with Store.open(filled) as store:
        digest = store.digest()
    copy = half_written(filled, "UPDATE runs SET seed = seed + 1, regret = x'00'")
    assert copy.read_bytes() != filled.read_bytes()
    with Store.open(copy, write=write) as store:
        assert store.digest() == digest


@pytest.mark.parametrize("write", [False, True])
@pytest.mark.parametrize(
    ("change", "match"),
    [
        ("PRAGMA user_version = 6", "upgrade orbandit"),
        ("PRAGMA user_version = 1", "older orbandit"),
        ("DROP TABLE experiment", "restore it"),
        ("DELETE FROM experiment", "restore it"),
    ],
)
def test_a_write_cut_off_in_a_file_that_is_refused_is_left_alone(filled, change, match, write):
    raw(filled, change)
    copy = half_written(filled, "UPDATE runs SET seed = seed + 1, regret = x'00'")
    before = copy.read_bytes(), Path(f"{copy}-journal").read_bytes()
    with pytest.raises(StoreError, match=match) as caught:
        Store.open(copy, write=write)
    assert str(copy) in str(caught.value)
    assert (copy.read_bytes(), Path(f"{copy}-journal").read_bytes()) == before


def test_a_foreign_write_cut_off_is_left_alone(tmp_path):
    other = tmp_path / "other.db"
    raw(other, "CREATE TABLE a (x)", *[("INSERT INTO a VALUES (?)", (bytes(3000),))] * 20)
    copy = half_written(other, "UPDATE a SET x = randomblob(3000)")
    before = copy.read_bytes(), Path(f"{copy}-journal").read_bytes()
    with pytest.raises(StoreError, match="not a file of orbandit's"):
        Store.open(copy)
    assert (copy.read_bytes(), Path(f"{copy}-journal").read_bytes()) == before


def expected_rows(seeds):
    runs = sorted(map(make_run, seeds), key=lambda run: (run.problem, run.agent, run.horizon, run.seed, run.key))
    for run in runs:
        simple = [None] * len(run.checkpoints) if run.simple_regret is None else run.simple_regret.tolist()
        for at, *both in zip(run.checkpoints.tolist(), run.regret.tolist(), simple, strict=True):
            yield run.problem, run.agent, run.horizon, run.seed, at, *both, run.seconds / run.horizon, run.key


def test_csv_reads_back_to_the_last_bit(filled):
    target = filled.with_name("table.CSV")
    export(filled, target)
    with target.open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    assert tuple(header) == COLUMNS
    kinds = (str, str, int, int, int, float, lambda cell: float(cell) if cell else None, float, str)
    read = [tuple(kind(cell) for kind, cell in zip(kinds, row, strict=True)) for row in rows]
    assert read == list(expected_rows(range(12)))
    assert b"\r" not in target.read_bytes()


def test_export_replaces_only_when_told_to(filled, monkeypatch):
    target = filled.with_name("table.csv")
    target.write_text("precious")
    with pytest.raises(StoreError, match="overwrite=True"):
        export(filled, target)
    assert target.read_text() == "precious"
    monkeypatch.setattr(Store, "runs", lambda _: iter([make_run(0), None]))  # fails half way
    with pytest.raises(AttributeError):
        export(filled, target, overwrite=True)
    assert target.read_text() == "precious"
    monkeypatch.undo()
    export(filled, target, overwrite=True)
    assert target.read_text().startswith("problem,agent")
    for name in ("table.xlsx", "table", "csv"):
        with pytest.raises(InputError, match=r"\.csv or \.parquet"):
            export(filled, filled.with_name(name))
    itself = shutil.copy(filled, filled.with_name("results.csv"))
    before = Path(itself).read_bytes()
    with pytest.raises(InputError, match="the results themselves"):
        export(itself, itself, overwrite=True)
    assert Path(itself).read_bytes() == before
    assert sorted(os.listdir(filled.parent)) == sorted([filled.name, "results.csv", "table.csv"])


def test_tables_without_pandas_name_the_extra(filled, monkeypatch):
    for name in ("pandas", "pyarrow"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtraError, match="with the extra `frames`"):
        load(filled)
    with pytest.raises(MissingExtraError, match="with the extra `frames`"):
        export(filled, filled.with_name("out.parquet"))
    assert os.listdir(filled.parent) == [filled.name]


def test_load_gives_a_row_for_each_run_and_checkpoint(filled, tmp_path):
    pytest.importorskip("pandas", reason=PANDAS)
    frame = load(filled)
    assert tuple(frame.columns) == COLUMNS
    assert frame.simple_regret.isna().sum() == sum(len(make_run(seed).checkpoints) for seed in (1, 5, 9))
    frame["simple_regret"] = frame.simple_regret.astype(object).where(frame.simple_regret.notna(), None)
    assert list(frame.itertuples(index=False, name=None)) == list(expected_rows(range(12)))
    Store.create(tmp_path / "empty.db", SPEC).close()
    empty = load(tmp_path / "empty.db")
    assert tuple(empty.columns) == COLUMNS
    assert empty.shape == (0, len(COLUMNS))
    numbers = ["horizon", "seed", "round", "regret", "seconds_per_round"]
    assert (empty[numbers].dtypes == frame[numbers].dtypes).all()


def test_parquet_is_what_load_gives(filled):
    pandas = pytest.importorskip("pandas", reason=PANDAS)
    pytest.importorskip("pyarrow", reason=PANDAS)
    target = filled.with_name("out.parquet")
    export(filled, target)
    pandas.testing.assert_frame_equal(pandas.read_parquet(target), load(filled), check_exact=True)
