"""The store of an experiment: one SQLite file of finished runs, keyed by a hash of parameters.

A run is committed as soon as it is added. While a store is open for writing the file is in WAL mode
with synchronous=NORMAL: a commit is then with the operating system, so that kill -9 loses nothing.
Only a power failure may lose the last commits, whole ones, and their runs are played again; waiting
for the disk would cost some 50 times as much. Closing turns the file back into a plain one, to copy
or to read from anywhere. Processes that write to one file at the same time must be on one machine.

All rows carry a checksum, since SQLite has none. A row that does not match it counts as missing,
with a warning, and is removed when the file is opened for writing, so that its run can be made
again.
"""

import csv
import hashlib
import importlib
import json
import math
import os
import re
import shutil
import sqlite3
import tempfile
import threading
import warnings
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeAlias, final

import numpy as np

from orbandit._checks import Array, shown
from orbandit._files import in_one_step
from orbandit.errors import InputError, InputTypeError, MissingExtraError, OrbanditWarning, StoreError
from orbandit.experiments.finished import FIELDS, FinishedRun, canonical, is_whole, run_key, seal
from orbandit.experiments.outline import Outline

__all__ = ["FinishedRun", "Store", "export", "load", "run_key"]

APPLICATION = 0x6F72_6264
"""The `application_id` of our files: "orbd"."""

VERSION = 5
"""The format, in `user_version`. Older ones have no limits: 4; nor simple regret: 3; these two are
brought up to this one when they are written to. 2 has no outline either, and is gone on with as it
is, so that 0.1.0 can read it."""

BUSY_SECONDS = 30.0
"""How long to wait for another process to finish its transaction, which takes milliseconds."""

COLUMNS = ("problem", "agent", "horizon", "seed", "round", "regret", "simple_regret", "seconds_per_round", "key")
"""What `load` and `export` give."""

OF_ROWS = re.compile(r"(row(id)? .*|wrong # of entries in|non-unique entry in) index |.* value in runs\.")
"""What SQLite's check says of single rows and of the index, in files whose pages are all as they
should be."""

PathLike: TypeAlias = str | os.PathLike[str]

RUNS = (
    "CREATE TABLE runs (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, problem TEXT NOT NULL, "
    "agent TEXT NOT NULL, horizon INTEGER NOT NULL, seed INTEGER NOT NULL, seconds REAL NOT NULL, "
    "parameters TEXT NOT NULL, checkpoints BLOB NOT NULL, regret BLOB NOT NULL, dim INTEGER NOT NULL, "
    "plays BLOB NOT NULL, seal BLOB NOT NULL)"
)

EXPERIMENT = "CREATE TABLE experiment (spec TEXT NOT NULL, outline TEXT NOT NULL, seal BLOB NOT NULL)"

ADDED = {4: "simple_regret BLOB", 5: "asymptotic TEXT"}
"""Columns that came with later formats, as SQLite adds them to the text of a table."""

SCHEMAS = {
    2: {"experiment": "CREATE TABLE experiment (spec TEXT NOT NULL, seal BLOB NOT NULL)", "runs": RUNS},
    3: {"experiment": EXPERIMENT, "runs": RUNS},
    4: {"experiment": EXPERIMENT, "runs": f"{RUNS[:-1]}, {ADDED[4]})"},
    5: {"experiment": EXPERIMENT, "runs": f"{RUNS[:-1]}, {ADDED[4]}, {ADDED[5]})"},
}
"""The tables of each format."""


@final
class Store:
    """Finished runs, each keyed by a hash of its parameters.

    Made by `Store.create` or `Store.open`; close it, or use it in a `with` block. Threads may share
    it.

    Parameters
    ----------
    path : Path
        The file.
    found : connection and contents
        The open connection and the contents of the file, as `create` and `open` find them.

    Attributes
    ----------
    path : Path
        The file.
    spec : dict
        The experiment's description, as stored.

    Examples
    --------
    >>> import tempfile
    >>> parameters = {"problem": "cone", "agent": "HOO", "horizon": 100, "seed": 0, "version": "0.1.0"}
    >>> run = FinishedRun(run_key(parameters), "cone", "HOO", 100, 0, parameters, [10, 100], [1.5, 7.25], 0.01)
    >>> folder = tempfile.TemporaryDirectory()
    >>> with Store.create(f"{folder.name}/results.db", {"horizons": [100]}) as store:
    ...     store.add(run), store.add(run)
    (True, False)
    >>> with Store.open(f"{folder.name}/results.db", write=False) as store:
    ...     store.done() == {run.key}, next(store.runs()) == run, store.spec
    (True, True, {'horizons': [100]})
    >>> folder.cleanup()
    """

    def __init__(self, path: Path, found: "_Found") -> None:
        self.path, self.spec = path, found.spec
        self._outline, self._is_indexed = found.outline, found.is_indexed
        self._connection: sqlite3.Connection | None = found.connection
        self._write, self._process = False, os.getpid()
        self._lock = threading.RLock()
        self._told: set[int] = set()  # the numbers of damaged rows

    @property
    def outline(self) -> Outline | None:
        """Names of problems and agents, and the number of runs; None without a description."""
        return Outline.of(self.spec) if self._outline is None else self._outline

    @classmethod
    def create(cls, path: PathLike, spec: dict[str, Any], outline: Outline | None = None) -> Self:
        """Make a new file for an experiment, and open it for writing.

        Parameters
        ----------
        path : path
            The file, which must not exist.
        spec : dict
            The description of the experiment, as plain JSON values.
        outline : Outline, optional
            Names of problems and agents, and the number of runs.
        """
        target, texts = Path(path), (canonical(spec, "spec"), "" if outline is None else outline.as_text())
        check_new(target)
        step = _written(target, "open it, or choose another path")
        with step as temporary, _named(target), closing(_connect(temporary, "rwc")) as connection:
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {VERSION}")
            for statement in SCHEMAS[VERSION].values():
                connection.execute(statement)
            connection.execute("INSERT INTO experiment VALUES (?, ?, ?)", (*texts, seal(texts)))
        return cls.open(target)

    @classmethod
    def open(cls, path: PathLike, *, write: bool = True) -> Self:
        """Open a file that `create` made; any other, or one with damaged pages, is refused.

        The whole file is read once to check it. With `write=False` nothing is changed, and another
        process may keep adding runs. Otherwise rows that do not match their checksum are removed,
        with a warning for each.

        Parameters
        ----------
        path : path
            The file.
        write : bool
            Whether to open it for writing.
        """
        target = Path(path)
        if not target.is_file():
            what = "no file" if target.exists() else "missing"
            raise StoreError(f"{target} is {what}; `orbandit run`, or Store.create in Python, makes a new one.")
        with _named(target):
            store = cls(target, _checked(target))
        if write:
            try:
                store.begin_writing()
            except BaseException:
                store.close()
                raise
        return store

    def begin_writing(self) -> None:
        """Continue as if opened for writing, without another check of the file.

        A second call does nothing.
        """
        with self._use() as connection:
            if self._write:
                return
            if not os.access(self.path, os.W_OK):
                raise StoreError(
                    f"{self.path} may not be written to; open it with write=False, or change its permissions."
                )
            self._connection, self._write = _connect(self.path, "rw"), True
            connection.close()
            mode = _set_mode(self._connection, "WAL")
            # Outside WAL mode, a power cut may damage the file unless each commit waits for the
            # disk.
            self._connection.execute(f"PRAGMA synchronous = {'NORMAL' if mode == 'wal' else 'FULL'}")
            if 3 <= _version(self._connection) < VERSION:
                self._upgrade()
            self._mend()

    def done(self) -> set[str]:
        """Return the keys of the finished runs."""
        return {row[0] for _, row in self._rows("id") if row is not None}

    def add(self, run: FinishedRun) -> bool:
        """Commit a finished run; return False, and change nothing, if its key exists already.

        Parameters
        ----------
        run : FinishedRun
            The run.
        """
        return self.add_many([run]) == 1

    def add_many(self, runs: Iterable[FinishedRun]) -> int:
        """Commit finished runs in one transaction, all or none; return how many were new.

        A file that 0.1.0 began keeps neither simple regret nor limits.

        Parameters
        ----------
        runs : iterable of FinishedRun
            The runs.
        """
        given = list(runs)
        for run in given:
            if not isinstance(run, FinishedRun):
                raise InputTypeError(f"`runs` must be of type FinishedRun, but got {shown(run)}.")
        if not self._write:
            raise StoreError(f"{self.path} is open for reading; open it with write=True.")
        with self._transaction() as connection:
            if _version(connection) < VERSION:
                given = [replace(run, simple_regret=None, limit=None) for run in given]
            return sum(_insert(connection, run.row()) for run in given)

    def runs(self) -> Iterator[FinishedRun]:
        """Iterate over the stored runs, ordered by problem, agent, horizon, seed and key."""
        for _, row in self._rows("problem, agent, horizon, seed, key"):
            if row is None:
                continue
            try:
                run = FinishedRun.from_row(row)
            except (ValueError, TypeError, RecursionError) as error:  # whoever wrote it made a checksum for it
                raise StoreError(
                    f"run {row[0]!r} in {self.path} is invalid ({error}); restore the file from a copy, or start "
                    "another."
                ) from error
            yield run

    def digest(self) -> str:
        """Return a SHA-256 of all runs: equal for stores that hold the same.

        The time of a run does not count, nor its limit, which is of the problem, and whose last
        bits are those of a linear program's solver.
        """
        total = hashlib.sha256()
        for run in self.runs():
            key, *_, checkpoints, regret, dim, plays, simple, _, _ = run.row()
            total.update(seal((key, checkpoints, regret, dim, plays, simple)))
        return total.hexdigest()

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        with self._lock, _named(self.path):
            connection, self._connection = self._connection, None
            if connection is None:
                return
            try:
                if self._write:
                    connection.execute("PRAGMA busy_timeout = 0")  # whoever closes last does it
                    _set_mode(connection, "DELETE")
            finally:
                connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _rows(self, order: str) -> Iterator[tuple[int, tuple[Any, ...] | None]]:
        """Yield the number of each row and its values; None for a damaged one, with one warning."""
        with self._use() as connection:  # by the table itself: its index may be damaged
            fields = _fields(_version(connection))
            places = connection.execute(f"SELECT id FROM runs NOT INDEXED ORDER BY {order}").fetchall()
        for (place,) in places:
            with self._use() as connection:
                row = connection.execute(f"SELECT {fields} FROM runs WHERE id = ?", (place,)).fetchone()
            if row is None:  # another process has removed it
                continue
            whole = is_whole(row)
            if not whole and place not in self._told:
                self._told.add(place)
                key, problem, agent, horizon, seed, *_ = row
                warnings.warn(
                    f"{self.path}: the run of {agent} on {problem}, horizon {horizon}, seed {seed} is damaged and "
                    f"counts as missing (key {key}); `orbandit run` plays it again.",
                    OrbanditWarning,
                    stacklevel=3,
                )
            yield place, row if whole else None

    def _upgrade(self) -> None:
        """Bring a file of format 3 or 4 up to date, all or nothing; its runs stay as they are."""
        with self._transaction() as connection:
            found = _version(connection)  # another process may have done it since
            for column in (column for since, column in ADDED.items() if since > found):
                connection.execute(f"ALTER TABLE runs ADD COLUMN {column}")
            connection.execute(f"PRAGMA user_version = {VERSION}")

    def _mend(self) -> None:
        """Remove damaged rows, and make the index anew if it does not fit the rows."""
        damaged = [place for place, row in self._rows("id") if row is None]
        if self._is_indexed and not damaged:
            return
        with self._transaction() as connection:
            # first: a row whose key is another than the index has cannot be removed
            connection.execute("REINDEX runs")
            connection.executemany("DELETE FROM runs WHERE id = ?", [(place,) for place in damaged])

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """Commit all that is done, or nothing."""
        with self._use() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    @contextmanager
    def _use(self) -> Iterator[sqlite3.Connection]:
        with self._lock, _named(self.path):
            if self._connection is None:
                raise StoreError(f"{self.path} is closed; open it again.")
            if self._process != os.getpid():  # two processes on one connection do corrupt a file
                raise StoreError(f"{self.path} was opened before this process was forked; open it again here.")
            yield self._connection


def check_new(target: Path) -> None:
    """Refuse a path without a file, where none can be made."""
    names = [f"{target}{suffix}" for suffix in ("-journal", "-wal", "-shm")]
    remains = [name for name in names if os.path.lexists(name) and not os.path.lexists(target)]
    if remains:  # SQLite would play the old file's last writes into the new one
        raise StoreError(f"{', '.join(remains)} is left of a removed file; remove it too, or choose another path.")
    if not target.parent.is_dir():
        raise StoreError(f"{target.parent} is no folder; make it first.")


@contextmanager
def _written(target: Path, if_there: str | None) -> Iterator[Path]:
    """Yield a temporary path that becomes `target`, a new file unless `if_there`, what to do then, is None."""
    if not target.parent.is_dir():
        raise StoreError(f"{target.parent} is no folder; make it first.")
    try:
        with in_one_step(target, replace=if_there is None) as temporary:
            yield temporary
    except FileExistsError as error:
        raise StoreError(f"{target} exists already; {if_there}.") from error


def load(path: PathLike) -> Any:
    """Return the runs of a file as a pandas.DataFrame: a row for each run and checkpoint.

    Its columns are problem, agent, horizon, seed, round, regret, simple_regret (NaN if not
    recorded), seconds_per_round and key. It needs pandas, which comes with `orbandit[frames]`.

    Parameters
    ----------
    path : path
        A file of results.

    Examples
    --------
    >>> import tempfile
    >>> import orbandit as ob
    >>> cone = {"class": "Cone", "space": {"class": "Ball", "dim": 2}, "peak": [0.3, 0.4]}
    >>> agent = {"class": "OrbitTree"}
    >>> tables = {"horizons": [100], "seeds": 2, "problem": [cone], "agent": [agent]}
    >>> experiment = ob.experiments.restore(tables, ".")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = f"{folder}/disk.db"
    ...     played = ob.experiments.run(experiment, path, jobs=1)
    ...     table = ob.experiments.load(path)
    >>> played, table.seed.nunique(), int(table["round"].max())
    (2, 2, 100)
    """
    pandas = _extra("pandas")
    with Store.open(path, write=False) as store:
        runs = list(store.runs())
    lengths = [len(run.checkpoints) for run in runs]
    once = [(run.problem, run.agent, run.horizon, run.seed, run.seconds / run.horizon, run.key) for run in runs]
    kinds = (object, object, np.int64, np.int64, np.float64, object)
    repeated = [
        np.repeat(np.array([row[place] for row in once], dtype=kind), lengths) for place, kind in enumerate(kinds)
    ]
    rounds = np.concatenate([np.empty(0, np.int64), *(run.checkpoints for run in runs)])
    regret = np.concatenate([np.empty(0), *(run.regret for run in runs)])
    simple = np.concatenate([np.empty(0), *map(_simple_or_nan, runs)])
    return pandas.DataFrame(dict(zip(COLUMNS, [*repeated[:4], rounds, regret, simple, *repeated[4:]], strict=True)))


def _simple_or_nan(run: FinishedRun) -> Array:
    return np.full(len(run.checkpoints), np.nan) if run.simple_regret is None else run.simple_regret


def export(path: PathLike, target: PathLike, *, overwrite: bool = False) -> None:
    """Write the table that `load` returns to a file, atomically.

    Parameters
    ----------
    path : path
        A file of results.
    target : path
        The file to write: .csv, with floats that read back to the last bit, or .parquet, which
        needs `orbandit[frames]`.
    overwrite : bool
        Whether to replace an existing file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import orbandit as ob
    >>> cone = {"class": "Cone", "space": {"class": "Ball", "dim": 2}, "peak": [0.3, 0.4]}
    >>> agent = {"class": "OrbitTree"}
    >>> tables = {"horizons": [100], "seeds": 2, "problem": [cone], "agent": [agent]}
    >>> experiment = ob.experiments.restore(tables, ".")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     played = ob.experiments.run(experiment, f"{folder}/disk.db", jobs=1)
    ...     ob.experiments.export(f"{folder}/disk.db", f"{folder}/disk.csv")
    ...     lines = Path(folder, "disk.csv").read_text().splitlines()
    >>> lines[0]
    'problem,agent,horizon,seed,round,regret,simple_regret,seconds_per_round,key'
    """
    file = Path(target)
    suffix = file.suffix.lower()
    if suffix not in (".csv", ".parquet"):
        raise InputError(f"`target` must end in .csv or .parquet, but got {file.name!r}.")
    if file.is_dir() or file.resolve() == Path(path).resolve():
        raise InputError(f"`target` must be another file than a folder or the results themselves, but got {file}.")
    remedy = None if overwrite else "replace it with --overwrite (in Python overwrite=True), or choose another path"
    with _written(file, remedy) as temporary:
        if suffix == ".parquet":
            _extra("pyarrow")
            load(path).to_parquet(temporary, engine="pyarrow", index=False)
            return
        with Store.open(path, write=False) as store, temporary.open("x", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream, lineterminator="\n")
            writer.writerow(COLUMNS)
            for run in store.runs():
                head = run.problem, run.agent, run.horizon, run.seed
                tail = repr(run.seconds / run.horizon), run.key
                simple = ["" if math.isnan(value) else repr(value) for value in _simple_or_nan(run).tolist()]
                rows = zip(run.checkpoints.tolist(), map(repr, run.regret.tolist()), simple, strict=True)
                writer.writerows((*head, *row, *tail) for row in rows)


def _extra(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise MissingExtraError(
            f"tables need {name}: install orbandit with the extra `frames`; .csv needs nothing."
        ) from error


def _insert(connection: sqlite3.Connection, row: tuple[Any, ...]) -> bool:
    known = "SELECT problem, agent, horizon, seed FROM runs WHERE key = ?"
    there = connection.execute(known, row[:1]).fetchone()
    if there is None:
        given = {name: value for name, value in zip(FIELDS.split(", "), row, strict=True) if value is not None}
        places = ", ".join("?" * len(given))
        connection.execute(f"INSERT INTO runs ({', '.join(given)}) VALUES ({places})", [*given.values()])
    elif there != row[1:5]:
        raise InputError(
            f"runs {there} and {row[1:5]} have the same key {row[0]}; put all that tells them apart into `parameters`."
        )
    return there is None


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    address = f"{path.resolve().as_uri()}?mode={mode}"
    connection = sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    # a checksum finds it, and names the run
    connection.text_factory = lambda data: data.decode(errors="replace")
    connection.execute("PRAGMA trusted_schema = OFF")
    return connection


def _set_mode(connection: sqlite3.Connection, mode: str) -> str:
    """Request a journal mode, which other processes may block, and return the current one."""
    try:
        (current,) = connection.execute(f"PRAGMA journal_mode = {mode}").fetchone()
    except sqlite3.OperationalError:
        (current,) = connection.execute("PRAGMA journal_mode").fetchone()
    return str(current)


class _Found(NamedTuple):
    """A connection to a sound file, its experiment's description and outline, and whether its index fits its rows."""

    connection: sqlite3.Connection
    spec: dict[str, Any]
    outline: Outline | None
    is_indexed: bool


def _checked(path: Path) -> _Found:
    """Return what is found in a sound file; one that is refused is only read."""
    connection = _connect(path, "ro")
    try:
        return _found(connection, path)
    except sqlite3.OperationalError as error:
        connection.close()
        if error.sqlite_errorname != "SQLITE_READONLY_ROLLBACK":
            raise
    except BaseException:
        connection.close()
        raise
    # Killed in the middle of a write outside WAL mode: SQLite must take it back, but only in a file
    # that is ours and sound then, so that it is tried on a copy first. Reading the file behind
    # SQLite's back would end its locks in this process, but in such a state there are none.
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "copy")
        for suffix in ("", "-journal"):
            shutil.copyfile(f"{os.path.realpath(path)}{suffix}", f"{copy}{suffix}")
        with closing(_connect(copy, "rw")) as connection:
            _found(connection, path)
    connection = _connect(path, "rw")
    try:
        return _found(connection, path)
    except BaseException:
        connection.close()
        raise


def _found(connection: sqlite3.Connection, path: Path) -> _Found:
    """Check that a file is one of ours, and sound, and return what it holds besides runs."""
    if connection.execute("PRAGMA application_id").fetchone() != (APPLICATION,):
        raise _foreign(path)
    version = _version(connection)
    if version > VERSION:
        raise StoreError(f"{path} has format {version}, but this orbandit reads up to {VERSION}; upgrade orbandit.")
    if 0 < version < min(SCHEMAS):
        raise StoreError(f"{path} was written by an older orbandit (format {version}); play it again, to another path.")
    verdicts = [verdict for (verdict,) in connection.execute("PRAGMA integrity_check")]
    (page,) = connection.execute("PRAGMA page_size").fetchone()
    journals = (f"{os.path.realpath(path)}{suffix}" for suffix in ("-journal", "-wal"))
    # which SQLite fills up with zeros
    if not any(map(os.path.exists, journals)) and path.stat().st_size % page:
        raise _damaged(path, "its last page is cut off")
    listed = "SELECT name, sql FROM sqlite_master WHERE type IN ('table', 'trigger') AND name NOT LIKE 'sqlite_%'"
    tables = dict(connection.execute(listed))
    if wrong := [verdict for verdict in verdicts if verdict != "ok" and not OF_ROWS.match(verdict)]:
        raise _damaged(path, wrong[0])
    if tables != SCHEMAS.get(version):
        raise _damaged(path, f"format {version}, tables {sorted(tables)}")
    rows = connection.execute("SELECT * FROM experiment").fetchall()
    if len(rows) != 1 or not is_whole(rows[0]):
        raise _damaged(path, "its experiment's description does not match its checksum")
    spec, *outline, _ = rows[0]
    names = Outline.from_text(outline[0]) if any(outline) else None
    return _Found(connection, json.loads(spec), names, verdicts == ["ok"])


def _fields(version: int) -> str:
    """Return the names of the columns of a format, NULL for those that came later."""
    later = {column.split()[0] for since, column in ADDED.items() if since > version}
    return ", ".join("NULL" if name in later else name for name in FIELDS.split(", "))


def _version(connection: sqlite3.Connection) -> int:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version)


def _foreign(path: Path) -> StoreError:
    return StoreError(f"{path} is not a file of orbandit's results; choose another path.")


def _damaged(path: Path, what: object) -> StoreError:
    return StoreError(
        f"{path} is not a complete file of results ({what}); restore it from a copy, or choose another path."
    )


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into ours."""
    try:
        yield
    except UnicodeDecodeError as error:  # of a message about the tables, which quotes them
        raise _damaged(path, error) from error
    except sqlite3.Error as error:
        kind = getattr(error, "sqlite_errorname", "")
        if kind.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")):
            raise _damaged(path, error) from error
        if kind.startswith("SQLITE_BUSY"):
            raise StoreError(f"{path} is locked by another process for {BUSY_SECONDS:g} s; end that one.") from error
        raise StoreError(f"{path} cannot be used ({error}); check its permissions and the free disk space.") from error
