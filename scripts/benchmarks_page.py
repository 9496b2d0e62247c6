"""Write docs/benchmarks/results.md from the results that benchmarks keep in files.

Run as `python scripts/benchmarks_page.py`. It measures nothing: each part is what a benchmark
prints with `--table`, as Markdown, under the command that prints it. A test holds the page to that.
"""

import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "benchmarks" / "results.md"
FIGURE = re.compile(r"  (?P<what>\S.*?)\s+(?P<value>[-+.\de]+)(\s+at (most|least) \S+)?\s*")
"""A figure by `report`: what, how much, and what it is held against, which is no matter of the
page."""


HEAD = """# Results

This page is made by `python scripts/benchmarks_page.py` from files of results in `benchmarks/`.
Each command below prints its section. Without `--table` it first measures what is missing. Figures
are means over seeds, with standard errors.
"""


class Part(NamedTuple):
    """A section: its title, what was measured, the command that prints it, and its picture."""

    title: str
    what: str
    command: tuple[str, ...]
    picture: str = ""


PARTS = (
    Part(
        "Does knowing the symmetry pay?",
        """`ob.maximize` with the group and without it, and other searches, on 19 problems of 2 to 40
dimensions. Regret is (optimum - true mean) / (optimum - mean over random points), at least 1e-4, of
the point recommended and of the best point played. All searches have the same seeds and the same
noise. `group` and `plain` are this version, `old-group` and `old-plain` 0.1.0; "without" is the
better of `plain` and `old-plain`. "The best rival" of a problem, in the right panel of the picture
and in the tables, is the best of all searches except `group`, so it may be `plain` or 0.1.0; "the
best of other packages" leaves out all of orbandit. `tpe-folded` and `gpsampler-folded` are told
folded points. Ratios are over the seeds that both sides have. After 100 evaluations `group` and
`plain` have ten seeds; after 300 three, and after 1,000 and 5,000 two (some problems three), so that
single ratios say little there, and without the two farms of eight turbines.""",
        ("benchmarks/units.py", "--table", "--version", "76786a1"),
        "units.png",
    ),
    Part(
        "The same problems, 300 evaluations, ten seeds",
        """An earlier version, with all problems.""",
        ("benchmarks/units.py", "--table", "--version", "bc4820a", "--budgets", "300"),
    ),
    Part(
        "Wind farms of IEA Wind Task 37",
        """Annual energy as a black box, without gradients, with the published rules as constraints
and the same repair for all. `exact` evaluates a year; `noisy` four winds drawn from the rose.
`group` and `plain` are `OrbitGP` with the exchange of turbines and without it, `tree-group` and
`tree-plain` `OrbitTree`. Published results took other numbers of evaluations, some of them with
gradients.""",
        ("benchmarks/iea37.py", "--table"),
        "iea37.png",
    ),
    Part(
        "A symmetry that is wrong",
        """Problems with exchangeable units whose symmetry holds, is broken a little, or is wrong:
no group, the group taken as exact, and `symmetry="approximate"`.""",
        ("benchmarks/doubt.py", "--table", "--version", "bc4820a", "--budgets", "100"),
    ),
    Part(
        "The same, 300 evaluations",
        """Five to ten seeds where the symmetry holds and where it is wrong; where it is broken by 0.001,
six problems with one seed.""",
        ("benchmarks/doubt.py", "--table", "--version", "baea1a2", "--budgets", "300"),
    ),
    Part(
        "Published algorithms on the paper's settings",
        """The experiment `examples/paper.toml`: cumulative and simple regret of each agent with the
group, beside those without it. Ratios to the regret without the group are in bold where their 95 %
interval is below 1. In the first table, ratios above one half are in bold.""",
        ("benchmarks/paper.py", "--table"),
    ),
)


def main() -> None:
    """Write the page."""
    PAGE.write_text(page())


def page() -> str:
    """Return the page, made from the results in the repository."""
    return HEAD + "".join(section(part) for part in PARTS)


def section(part: Part) -> str:
    """Return a section."""
    parts = [f"\n## {part.title}\n", f"{part.what}\n", f"```sh\npython {' '.join(part.command)}\n```\n"]
    if part.picture:
        parts.append(f"![{part.title}](../images/{part.picture})\n")
        parts.append(f"`--picture docs/images/{part.picture}` draws it.\n")
    return "\n".join([*parts, markdown(printed(part.command))])


def printed(command: tuple[str, ...]) -> str:
    """Return what a command prints."""
    return subprocess.run([sys.executable, *command], cwd=ROOT, check=True, text=True, capture_output=True).stdout


def markdown(text: str) -> str:
    """Return printed lines as Markdown: tables as they are, figures as a table, titles in bold."""
    lines: list[str] = []
    kind = ""
    for raw in text.splitlines():
        if not raw.strip():
            continue
        figure = FIGURE.fullmatch(raw)
        before, kind = kind, "figure" if figure else "table" if raw.startswith("|") else "words"
        if kind != before:
            lines += ["", "| figure | value |", "| --- | --- |"] if figure else [""]
        if figure:
            lines.append(f"| {figure['what']} | {figure['value']} |")
        else:
            lines.append(raw if kind == "table" else f"**{raw.strip()}**\n")
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip() + "\n"


if __name__ == "__main__":
    main()
