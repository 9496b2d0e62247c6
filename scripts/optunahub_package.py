"""Write the sampler as a package of the OptunaHub registry: `python scripts/optunahub_package.py FOLDER`.

FOLDER/package/samplers/orbit_sampler/ then has the modules of `orbandit.integrations.optuna` with
imports among them made relative, and a README, an example and the licence. The modules are those of
the orbandit that is installed, from a wheel perhaps. The agents and groups are orbandit's, which
the package requires in this version or a later one.

The form is that of `template/` in the repository optuna/optunahub-registry. Its formatters are run
there: `pre-commit run --files package/samplers/orbit_sampler/*`.
"""

import argparse
import inspect
import json
import re
import shutil
import textwrap
from importlib.metadata import version
from pathlib import Path

from orbandit.integrations.optuna import OrbitSampler

ROOT = Path(__file__).parents[1]
SOURCE = "orbandit.integrations.optuna"
PLACE = Path("package") / "samplers" / "orbit_sampler"

EXAMPLE = '''"""Three machines that are alike: any two may be swapped, and the sampler need not learn that."""

import optuna
import optunahub


def objective(trial: optuna.Trial) -> float:
    """Return a cost that does not depend on which machine is which."""
    loads = sorted(trial.suggest_float(name, 0.0, 1.0) for name in ("load_1", "load_2", "load_3"))
    return sum((load - ideal) ** 2 for load, ideal in zip(loads, (0.2, 0.5, 0.9)))


if __name__ == "__main__":
    module = optunahub.load_module("samplers/orbit_sampler")
    sampler = module.OrbitSampler(exchangeable=["load_1", "load_2", "load_3"], seed=0)
    study = optuna.create_study(sampler=sampler)
    study.optimize(objective, n_trials=60)
    print(study.best_value, sampler.recommend(study))
'''

README = """---
author: The orbandit developers
title: OrbitSampler, for parameters that may be swapped, mirrored or shifted round
description: {summary}
tags: [sampler, symmetry, exchangeable parameters, noisy optimization]
optuna_versions: [{versions}]
license: MIT License
---

## Abstract

Swapping two identical units gives the same value, and a sampler that does not know this explores both. `OrbitSampler`
is told which parameters may be exchanged, mirrored or shifted round, and searches one of all equivalent points. Values
may be noisy and of any range. All that it knows is in the study's storage, so that many workers can share a study, and
any of them may be killed.

## APIs

{signature}

{parameters}

`recommend(study)` returns the parameters that are best by all trials together, not the luckiest trial's.

## Installation

In a clone of orbandit:

```shell
$ pip install '.[optuna]'
```

## Example

```python
{example}
```

## Others

### Notes

{notes}

### Reference

Nam Phuong Tran and Long Tran-Thanh. Invariant Lipschitz Bandits: A Side Observation Approach.
"""


def sections(docstring: str) -> dict[str, str]:
    """Return the sections of a numpydoc docstring by their titles, the first line as "Summary"."""
    text = inspect.cleandoc(docstring)
    parts = re.split(r"^(\w+)\n-+\n", text, flags=re.MULTILINE)
    return {"Summary": parts[0].strip(), **dict(zip(parts[1::2], map(str.strip, parts[2::2]), strict=True))}


def listed(parameters: str) -> str:
    """Return a section of parameters as a list."""
    entries = re.split(r"^(\S.*)$", parameters, flags=re.MULTILINE)[1:]
    lines = []
    for head, body in zip(entries[::2], entries[1::2], strict=True):
        name, _, kind = head.partition(" : ")
        lines.append(f"- `{name}`: {kind}. {' '.join(textwrap.dedent(body).split())}")
    return "\n".join(lines)


def tested_versions() -> str:
    """Return the versions of Optuna that the tests run with, oldest first."""
    files = [ROOT / "constraints-oldest.txt", ROOT / "constraints.txt"]
    return ", ".join(re.findall(r"^optuna==(\S+)$", "\n".join(file.read_text() for file in files), re.MULTILINE))


def write(folder: Path) -> Path:
    """Write the package below a folder, and return where it is."""
    place = folder / PLACE
    place.mkdir(parents=True, exist_ok=True)
    for module in sorted(Path(inspect.getfile(OrbitSampler)).parent.glob("[!_]*.py")):
        code = module.read_text(encoding="utf-8").replace(f"from {SOURCE}.", "from .")
        (place / module.name).write_text(code, encoding="utf-8")
    (place / "__init__.py").write_text('from .sampler import OrbitSampler\n\n__all__ = ["OrbitSampler"]\n')
    parts = sections(OrbitSampler.__doc__ or "")
    signature = ", ".join(str(item) for item in list(inspect.signature(OrbitSampler.__init__).parameters)[1:])
    readme = README.format(
        summary=json.dumps(parts["Summary"].rstrip("."), ensure_ascii=False),
        versions=tested_versions(),
        signature=f"`OrbitSampler(*, {signature})`",
        parameters=listed(parts["Parameters"]),
        example=EXAMPLE.split("\n\n", 1)[1].strip(),
        notes=parts["Notes"],
    )
    (place / "README.md").write_text(readme, encoding="utf-8")
    (place / "example.py").write_text(EXAMPLE, encoding="utf-8")
    requirement = f"orbandit[optuna]>={version('orbandit')}\n"
    (place / "requirements.txt").write_text(requirement, encoding="utf-8")
    shutil.copyfile(ROOT / "LICENSE", place / "LICENSE")
    return place


def main() -> None:
    """Write the package where the command says."""
    parser = argparse.ArgumentParser(description="Write the sampler as a package of the OptunaHub registry.")
    parser.add_argument("folder", type=Path, help="the registry, or any folder; files there are overwritten")
    print(f"written: {write(parser.parse_args().folder)}")


if __name__ == "__main__":
    main()
