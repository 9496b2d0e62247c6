"""What a release says of itself: one version, and a citation and a changelog in known forms."""

import datetime
import re
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.version import Version

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
REFERENCE_TYPES = {"article", "conference-paper", "generic", "unpublished"}  # some of the schema's


@pytest.fixture
def citation():
    return yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))


def check_authors(authors):
    """Each is a person or an entity of the schema of CFF 1.2.0."""
    assert authors
    for author in authors:
        person = {"family-names", "given-names", "affiliation"}
        assert set(author) == {"name"} or {"family-names", "given-names"} <= set(author) <= person
        assert all(isinstance(value, str) and value for value in author.values())


def test_the_citation_has_what_the_schema_requires(citation):
    assert citation["cff-version"] == "1.2.0"
    assert citation["type"] == "software"
    for key in ("message", "title", "abstract"):
        assert isinstance(citation[key], str)
        assert citation[key]
    assert all(isinstance(word, str) for word in citation["keywords"])
    check_authors(citation["authors"])
    (paper,) = citation["references"]
    assert paper["type"] in REFERENCE_TYPES
    assert paper["title"] == "Invariant Lipschitz Bandits: A Side Observation Approach"
    check_authors(paper["authors"])
    assert [author["family-names"] for author in paper["authors"]] == ["Tran", "Tran-Thanh"]


def test_the_citation_is_of_this_version_or_the_last_one(citation):
    assert citation["title"] == PROJECT["name"]
    assert citation["license"] == PROJECT["license"]
    assert isinstance(citation["date-released"], datetime.date)
    released, present = Version(citation["version"]), Version(PROJECT["version"])
    assert present == released or (present.is_devrelease and present > released)


KINDS = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]


def test_the_changelog_has_the_form_of_keep_a_changelog(citation):
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    unreleased, *releases = re.findall(r"^## (.*)$", text, flags=re.MULTILINE)
    assert unreleased == "[Unreleased]"
    dated = [re.fullmatch(r"\[(\d+\.\d+\.\d+)\] - (\d{4}-\d\d-\d\d)", line) for line in releases]
    assert all(dated)
    versions = [Version(match[1]) for match in dated]
    assert versions == sorted(versions, reverse=True)
    assert versions[0] == Version(citation["version"])
    assert dated[0][2] == citation["date-released"].isoformat()
    for part in text.split("\n## ")[1:]:
        kinds = re.findall(r"^### (.*)$", part, flags=re.MULTILINE)
        assert kinds == [kind for kind in KINDS if kind in kinds]
