"""Ratings of items by users, from a file, and averaged over groups of users and items."""

import csv
import math
from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike, fspath
from typing import final

import numpy as np
import numpy.typing as npt

from orbandit._checks import Array, as_count, as_finite, frozen, shown
from orbandit.errors import InputError, InputTypeError

COLUMNS = {"user": ("user", "userid"), "item": ("item", "itemid", "movie", "movieid"), "rating": ("rating",)}
"""What the header may call each column, without case, underscores and what follows a colon."""

Ids = npt.NDArray[np.str_]


@final
@dataclass(frozen=True, eq=False)
class Ratings:
    """Single ratings: the user, the item and the value of each.

    Attributes
    ----------
    users, items : (n,) arrays of str
        Who rated what; identifiers of another type are turned into text.
    values : (n,) array
        The ratings, all finite.

    Examples
    --------
    >>> import orbandit as ob
    >>> ob.problems.Ratings(users=["ann", "ann", "bob"], items=[7, 9, 7], values=[4, 2.5, 5])
    <Ratings: 3 from 2.5 to 5, by 2 users of 2 items>
    """

    users: Ids
    items: Ids
    values: Array

    def __post_init__(self) -> None:
        values = frozen(as_finite(self.values, "values"))
        users, items = (np.array(ids, dtype=np.str_) for ids in (self.users, self.items))
        if values.ndim != 1 or not len(values) or not users.shape == items.shape == values.shape:
            raise InputError(
                "`users`, `items` and `values` must be three sequences of one length, at least 1, but got shapes "
                f"{users.shape}, {items.shape} and {values.shape}."
            )
        for name, array in (("users", users), ("items", items), ("values", values)):
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    def __repr__(self) -> str:
        return (
            f"<Ratings: {len(self.values):,} from {self.values.min():g} to {self.values.max():g}, "
            f"by {len(np.unique(self.users)):,} users of {len(np.unique(self.items)):,} items>"
        )


def load_ratings(path: str | PathLike[str]) -> Ratings:
    r"""Read ratings from a file: MovieLens in its `.inter` form, or a CSV.

    The first line names the columns. If it holds a tab, tabs part the fields, otherwise commas.
    There must be one column `user` or `user_id`, one `item` or `item_id` (or `movie`, `movie_id`),
    and one `rating`; case, underscores and a type behind a colon, as in `rating:float`, do not
    matter, nor do other columns and blank lines. A file with one bad row is refused as a whole.

    Parameters
    ----------
    path : str or path
        The file, in UTF-8.

    Raises
    ------
    OSError
        If the file cannot be read.
    InputError
        If columns are missing, there are no ratings, or a row does not parse: the message has its
        number, as editors count lines, and its text.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import orbandit as ob
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "three.inter"
    ...     text = "user_id:token\titem_id:token\trating:float\n1\t7\t4\n1\t9\t2\n2\t7\t5\n"
    ...     _ = path.write_text(text)
    ...     ob.problems.load_ratings(path)
    <Ratings: 3 from 2 to 5, by 2 users of 2 items>

    References
    ----------
    F. M. Harper, J. A. Konstan, The MovieLens datasets: history and context, 2015.
    """
    if not isinstance(path, str | PathLike):
        raise InputTypeError(f"`path` must be the path of a file, but got {shown(path)}.", field="path", value=path)
    name = fspath(path)
    with open(name, encoding="utf-8-sig", newline="") as file:
        try:
            lines = list(file)
        except UnicodeDecodeError as error:
            raise InputError(f"{name!r} must be a text file in UTF-8, but is not: {error}.") from error
    header = lines[0] if lines else ""
    if not header.strip():
        what = "is empty" if not any(line.strip() for line in lines) else "begins with a blank line"
        raise InputError(f"{name!r} {what}; its first line must name the columns user, item and rating.")
    rows = _rows(lines, name)
    _, _, titles = next(rows)
    places = _places(titles, name)
    users, items, values = [], [], []
    for number, text, fields in rows:
        user, item, value = _parsed(fields, places, len(titles), f"row {number} of {name!r}", text)
        users.append(user)
        items.append(item)
        values.append(value)
    if not values:
        raise InputError(f"{name!r} must hold at least one rating, but has a header only.")
    return Ratings(np.array(users), np.array(items), np.array(values))


def _rows(lines: list[str], name: str) -> Iterator[tuple[int, str, list[str]]]:
    """Yield the number, the text and the fields of each row that is not blank, the header first."""
    if "\t" in lines[0]:
        reader = csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
    else:
        reader = csv.reader(lines, strict=True)
    start = 1
    while True:
        try:
            fields = next(reader, None)
        except csv.Error as error:
            raise InputError(
                f"row {start} of {name!r} does not parse: {error}; got {_shown(lines[start - 1])}."
            ) from error
        if fields is None:
            return
        text = "".join(lines[start - 1 : reader.line_num])
        if len(fields) > 1 or text.strip():
            yield start, text, fields
        start = reader.line_num + 1


def _places(titles: list[str], name: str) -> list[int]:
    """Return where user, item and rating stand."""
    plain = [title.partition(":")[0].strip().casefold().replace("_", "") for title in titles]
    found = {column: [i for i, title in enumerate(plain) if title in names] for column, names in COLUMNS.items()}
    missing = [column for column, places in found.items() if not places]
    if missing:
        raise InputError(
            f"{name!r} has no column {', '.join(missing)}; its first line must name user (or user_id), item (or "
            f"item_id) and rating, parted by tabs or commas, but got {_shown(', '.join(titles))}."
        )
    twice = [column for column, places in found.items() if len(places) > 1]
    if twice:
        raise InputError(f"{name!r} has several columns for {', '.join(twice)}: {_shown(', '.join(titles))}; keep one.")
    return [places[0] for places in found.values()]


def _parsed(fields: list[str], places: list[int], width: int, where: str, text: str) -> tuple[str, str, float]:
    """Return the user, the item and the rating of a row."""
    if len(fields) != width:
        raise InputError(f"{where} must have {width} fields, as the header has, but has {len(fields)}: {_shown(text)}.")
    user, item, rating = (fields[i].strip() for i in places)
    if not (user and item):
        raise InputError(f"{where} must name a user and an item, but got {_shown(text)}.")
    try:
        value = float(rating.replace("_", "?"))  # float would take 1_0 for 10
    except ValueError as error:
        raise InputError(
            f"{where} must have a number as its rating, but got {_shown(rating)} in {_shown(text)}."
        ) from error
    if not math.isfinite(value):
        raise InputError(f"{where} must have a finite rating, but got {_shown(rating)} in {_shown(text)}.")
    return user, item, value


def _shown(text: str) -> str:
    text = text.rstrip("\r\n")
    return repr(text if len(text) <= 80 else text[:77] + "...")


@dataclass(frozen=True, eq=False)
class Cells:
    """Ratings by pairs of groups, scaled to [0, 1]; cell a * items + b is that of user group a and item group b.

    Attributes
    ----------
    values : (n,) array
        All ratings, those of a cell side by side.
    starts : (cells,) array of int
        Where each cell begins.
    counts : (cells,) array of int
        How many it has.
    means, variances : (users, items) arrays
        Of the ratings in each cell.
    """

    values: Array
    starts: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int64]
    means: Array
    variances: Array


def group_ratings(ratings: Ratings, users: int, items: int) -> Cells:
    """Cut users and items, sorted by their mean rating, into groups, and scale the ratings to [0, 1].

    Users with equal means are sorted by their identifiers. The cut before group g is where the
    number of ratings ahead of it is nearest to g / groups of all (of two such places, the first),
    and leaves each group one user at least. Items likewise.
    """
    shape = as_count(users, "users"), as_count(items, "items")
    low, high = float(ratings.values.min()), float(ratings.values.max())
    if not low < high:
        raise InputError(
            f"`ratings` must have different values, but all are {low:g}: there is nothing to predict.",
            field="ratings",
            value=ratings,
        )
    if not math.isfinite(high - low):
        raise InputError(
            f"`ratings` must span a finite range, but go from {low:g} to {high:g}; rescale them.",
            field="ratings",
            value=ratings,
        )
    values = (ratings.values - low) / (high - low)
    rows = _group_of_each(ratings.users, values, shape[0], "users")
    columns = _group_of_each(ratings.items, values, shape[1], "items")
    cells = rows * shape[1] + columns
    counts = np.bincount(cells, minlength=shape[0] * shape[1])
    if not counts.all():
        a, b = divmod(int(counts.argmin()), shape[1])
        raise InputError(
            f"every pair of groups must have a rating, but user group {a + 1} of {shape[0]} rated nothing in item "
            f"group {b + 1} of {shape[1]}; ask for fewer groups."
        )
    means = np.bincount(cells, values) / counts
    variances = np.bincount(cells, (values - means[cells]) ** 2) / counts
    order = np.argsort(cells, kind="stable")
    starts = np.cumsum(counts) - counts
    return Cells(frozen(values[order]), starts, counts, frozen(means.reshape(shape)), frozen(variances.reshape(shape)))


def _group_of_each(ids: Ids, values: Array, groups: int, name: str) -> npt.NDArray[np.int64]:
    """Return the group of each rating's user, or item."""
    distinct, which = np.unique(ids, return_inverse=True)
    if len(distinct) < groups:
        raise InputError(
            f"`{name}={groups}` groups need as many {name}, but there are {len(distinct)}; ask for fewer groups."
        )
    counts = np.bincount(which)
    # Sums of equal ratings in another order may round differently: no tie is to be broken by that.
    order = np.argsort((np.bincount(which, values) / counts).round(12), kind="stable")
    ahead = np.concatenate([[0], np.cumsum(counts[order])])
    cuts = [0]
    for g in range(1, groups):
        nearest = int(np.abs(ahead - g * len(ids) / groups).argmin())
        cuts.append(min(max(nearest, cuts[-1] + 1), len(distinct) - groups + g))
    group = np.empty(len(distinct), dtype=np.int64)
    group[order] = np.searchsorted(cuts, np.arange(len(distinct)), side="right") - 1
    return np.asarray(group[which])
