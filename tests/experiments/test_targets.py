"""Where the results of an experiment go: files that others make meanwhile, and what is refused, by plans too."""

import pytest

from orbandit.errors import InputError
from orbandit.experiments.run import missing, run
from orbandit.experiments.spec import read
from orbandit.experiments.store import Store

FILE = """
horizons = [50]
seeds = 4
[[problem]]
class = "Cone"
space = { class = "Ball", dim = 2 }
group = { class = "Dihedral", m = 5 }
peak = [0.3, 0.4]
[[agent]]
class = "OrbitTree"
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "disk.toml"
    path.write_text(FILE)
    return path


def test_a_file_that_another_process_makes_meanwhile_is_shared(file, tmp_path, monkeypatch):
    experiment, create = read(file), Store.create

    def late(path, description):
        create(path, made).close()
        return create(path, description)

    monkeypatch.setattr(Store, "create", late)
    made = experiment.description
    assert run(experiment, tmp_path / "results.db", jobs=1) == 4
    assert missing(experiment, tmp_path / "results.db") == []
    made = {"horizons": [1]}
    with pytest.raises(InputError, match="another experiment"):
        run(experiment, tmp_path / "other.db", jobs=1)
    with Store.open(tmp_path / "other.db", write=False) as store:
        assert store.done() == set()
