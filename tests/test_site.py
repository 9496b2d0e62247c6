"""The documentation site: built without a warning, whole by itself, with all that is public."""

import html
import inspect
import json
import os
import re
import subprocess
import sys
import zlib
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = (
    "orbandit",
    "orbandit.agents",
    "orbandit.errors",
    "orbandit.experiments",
    "orbandit.groups",
    "orbandit.integrations.nevergrad",
    "orbandit.integrations.optuna",
    "orbandit.meshes",
    "orbandit.optimize",
    "orbandit.problems",
    "orbandit.reports",
    "orbandit.spaces",
    "orbandit.symmetry",
    "orbandit.theory",
)


def named(place):
    package, _, name = place.rpartition(".")
    return getattr(import_module(package), name)


def home(place):
    """Return where a thing is defined, which is the same by whatever name it is reached."""
    return f"{named(place).__module__}.{named(place).__qualname__}"


def public():
    """Return the homes of public classes and functions, with the places they are exported at."""
    places = {}
    for package in PACKAGES:
        for name in import_module(package).__all__:
            thing = named(f"{package}.{name}")
            if inspect.isclass(thing) or inspect.isfunction(thing):
                places.setdefault(home(f"{package}.{name}"), []).append(f"{package}.{name}")
    return places


class Page(HTMLParser):
    """What a page loads, where it leads, and which anchors it has."""

    def __init__(self, path):
        super().__init__()
        self.loaded, self.links, self.anchors = [], [], {""}
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.anchors |= {given[key] for key in ("id", "name") if given.get(key)}
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        elif tag != "a":
            self.loaded += [given[key] for key in ("src", "href", "data", "poster") if given.get(key)]
        self.loaded += re.findall(r"url\(([^)]*)\)|@import", given.get("style") or "")


def words(path):
    """Return the text of a page, with single spaces."""
    text = html.unescape(re.sub("<[^>]*>", "", path.read_text(encoding="utf-8")))
    return " ".join(text.split())


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The site, built once, with warnings as errors."""
    pytest.importorskip("mkdocstrings", reason="the site needs mkdocs: install orbandit with the extra `docs`")
    place = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", os.fspath(place)]
    quiet = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run(command, cwd=ROOT, env=quiet, capture_output=True, text=True, check=False)
    assert (built.returncode, built.stderr) == (0, "")
    return place


@pytest.fixture(scope="session")
def pages(site):
    return {path: Page(path) for path in sorted(site.rglob("*.html"))}


def test_every_public_name_has_one_entry_of_the_reference():
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "docs" / "reference").glob("*.md")]
    entries = [place for text in texts for place in re.findall(r"^::: (\S+)", text, re.MULTILINE)]
    homes = [home(place) for place in entries]
    assert ["orbandit.maximize", "orbandit.optimize.maximize"] in public().values()
    assert [places for where, places in public().items() if homes.count(where) != 1] == []
    assert set(homes) == set(public())


def test_every_public_name_has_an_example():
    """Examples are doctests of their modules, so that they run."""
    lacking = []
    for places in public().values():
        _, _, examples = inspect.getdoc(named(places[0])).partition("\nExamples\n--------\n")
        if not re.search(r"^>>> ", examples, re.MULTILINE) or "+SKIP" in examples:
            lacking += places
    assert lacking == []


def test_the_reference_shows_each_entry_with_its_example(site, pages):
    for path, page in pages.items():
        source = ROOT / "docs" / path.relative_to(site).with_suffix(".md")
        for place in re.findall(r"^::: (\S+)", source.read_text() if source.exists() else "", re.MULTILINE):
            assert place in page.anchors
    assert "ob.groups.Dihedral(5)" in words(site / "reference" / "groups.html")
    agents = words(site / "reference" / "agents.html")
    assert "horizon (int, default: None )" in agents
    assert 'acquisition ("ucb" or "thompson"\N{ZERO WIDTH SPACE}, default:' in agents


def test_the_reference_is_of_classes_and_functions(site):
    """A module with the name of a function would be shown in its place, with all that is in it."""
    _, _, packed = (site / "objects.inv").read_bytes().partition(b"zlib.\n")
    objects = [line.split()[:2] for line in zlib.decompress(packed).decode().splitlines()]
    assert ["orbandit.problems.check.check", "py:function"] in objects
    assert [name for name, role in objects if role == "py:module"] == []
    members = {name.rpartition(".")[2] for name, _ in objects}
    assert "recommend" in members
    assert not members & {"settle", "rounds_left", "count_rounds", "play_rounds", "turns", "player"}


def test_pages_load_nothing_from_another_host(pages):
    assert len(pages) > 40
    for path, page in pages.items():
        outside = [link for link in page.loaded if urlsplit(link).scheme not in ("", "data") or urlsplit(link).netloc]
        assert (path, outside) == (path, [])


def test_what_pages_load_and_link_to_is_there(site, pages):
    for path, page in pages.items():
        for link in page.loaded + page.links:
            parts = urlsplit(link)
            if parts.scheme or path.name == "404.html":  # that page is for the root of a server
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            assert target.is_file(), (path, link)
            if target in pages and parts.fragment:
                assert unquote(parts.fragment) in pages[target].anchors, (path, link)


def test_files_beside_the_guide_are_pages(site):
    changelog = (site / "changelog.html").read_text(encoding="utf-8")
    assert 'href="moving.html"' in changelog
    assert ">[0.1.0]" in changelog
    guide = (site / "howto" / "experiments.html").read_text(encoding="utf-8")
    assert 'href="../files/examples/cone.toml.html"' in guide
    source = (ROOT / "examples" / "cone.toml").read_text(encoding="utf-8")
    assert " ".join(source.split()) in words(site / "files" / "examples" / "cone.toml.html")
    assert 'href="files/examples/index.html"' in (site / "index.html").read_text(encoding="utf-8")
    assert "four_workers.py" in words(site / "files" / "examples" / "index.html")
    assert "usage: orbandit run" in words(site / "reference" / "command.html")


def test_names_in_guides_lead_to_the_reference(site):
    guide = (site / "concepts" / "agents.html").read_text(encoding="utf-8")
    assert re.search(r'href="\.\./reference/agents\.html#orbandit\.agents\.OrbitTree"><code>OrbitTree</code>', guide)


def test_pictures_open_in_full_size(site):
    guide = (site / "howto" / "constraints.html").read_text(encoding="utf-8")
    assert re.search(r'<a href="\.\./images/iea37\.png"><img [^>]*src="\.\./images/iea37\.png"', guide)


def test_search_finds_guides_and_reference(site):
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    places = {entry["location"] for entry in index["docs"]}
    assert {"howto/constraints.html", "reference/groups.html#orbandit.groups.Dihedral"} <= places
    assert (site / "search" / "search_index.js").is_file()  # for pages opened from files


@pytest.mark.parametrize("width", [390, 1280])
def test_a_browser_reads_pages_opened_from_files(site, chromium, width):
    context = chromium.new_context(viewport={"width": width, "height": 900})
    context.set_default_timeout(600_000)
    tab = context.new_page()
    requests, troubles = [], []
    tab.on("request", lambda request: requests.append(request.url))
    tab.on("pageerror", lambda error: troubles.append(str(error)))
    tab.on("console", lambda message: troubles.append(message.text) if message.type == "error" else None)
    for name in ("index", "changelog", "concepts/orbit_gp", "howto/constraints", "reference/agents"):
        tab.goto((site / f"{name}.html").as_uri())
        assert tab.evaluate("document.documentElement.scrollWidth") == width
    if width < 1000:
        tab.locator("label.md-header__button[for=__search]").click()
    tab.locator(".md-search__input").click()
    tab.keyboard.type("dihedral")
    tab.wait_for_selector(".md-search-result__item a[href$='#orbandit.groups.Dihedral']", state="attached")
    assert {urlsplit(url).scheme for url in requests} <= {"file", "data"}
    assert troubles == []
    context.close()
