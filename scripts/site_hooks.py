"""What mkdocs does not do by itself for the site of mkdocs.yml.

Links to files outside of docs/ work in a checkout. The site has such files as pages, too: Markdown
as it is, code as a listing. Names of public classes and functions, set as code, become links to
the reference. The page of the command shows what `orbandit COMMAND --help` prints.
"""

import io
import os
import posixpath
import re
import shlex
from contextlib import redirect_stdout
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from orbandit.cli import main

ROOT = Path(__file__).resolve().parents[1]
LINK = re.compile(r"(?<=\]\()([^)#\s:]+)(?=[)#])")
DIRECTIVE = re.compile(r"^::: ([\w.]+)", re.MULTILINE)
HELP = re.compile(r"^<!-- (orbandit .*--help) -->$", re.MULTILINE)
CODE = re.compile(
    r"<(?P<kept>a|h[1-6]|pre)\b.*?</(?P=kept)>|<code>(?P<name>[\w.]+)(?P<call>\([^<]*\))?</code>",
    re.DOTALL,
)
LISTING = """---
hide: [toc]
search:
  exclude: true
---
# {path}

````{language}
{text}
````
"""

_origins: dict[str, str] = {}  # pages made of files outside of docs/, and these files
_names: dict[str, str] = {}  # what guides call public things, and their places in the reference


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a page for each linked file outside of docs/, and learn the names of the reference."""
    _origins.clear()
    _names.clear()
    texts = {f"docs/{page.src_uri}": page.content_string for page in files.documentation_pages()}
    waiting = {"CHANGELOG.md"}.union(*(_outside(path, text) for path, text in texts.items()))
    while waiting:
        path = waiting.pop()
        text = (ROOT / path).read_text(encoding="utf-8")
        if path.endswith(".md"):
            waiting |= {found for found in _outside(path, text) if _page(found) not in _origins}
        else:
            language = {".py": "python"}.get(Path(path).suffix, Path(path).suffix[1:])
            text = LISTING.format(path=path, language=language, text=text)
        _origins[_page(path)] = path
        files.append(File.generated(config, _page(path), content=text))
    _names.update(_spelled([name for text in texts.values() for name in DIRECTIVE.findall(text)]))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Lead links out of docs/ to the pages of their files, and insert what the command says."""
    here = page.file.src_uri
    origin = _origins.get(here, f"docs/{here}")
    if not origin.endswith(".md"):
        return markdown

    def target(link: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(posixpath.dirname(origin), link[0]))
        if not (ROOT / path).is_file():
            return link[0]  # mkdocs says so
        place = path.removeprefix("docs/") if path.startswith("docs/") else _page(path)
        return posixpath.relpath(place, posixpath.dirname(here) or ".")

    return HELP.sub(lambda asked: _help(asked[1]), LINK.sub(target, markdown))


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Make names of the reference links to it, where they are set as code and no links yet."""

    def linked(found: re.Match[str]) -> str:
        place = _names.get(found["name"] or "")
        return f'<autoref identifier="{place}" optional>{found[0]}</autoref>' if place else found[0]

    return CODE.sub(linked, html)


def _page(path: str) -> str:
    """Return where the page of a file outside of docs/ is: at the top for Markdown at the top."""
    return path.lower() if path.endswith(".md") and "/" not in path else f"files/{path}.md"


def _outside(path: str, text: str) -> set[str]:
    """Return the files outside of docs/ that a page links to."""
    found = {posixpath.normpath(posixpath.join(posixpath.dirname(path), link)) for link in LINK.findall(text)}
    return {one for one in found if not one.startswith("docs/") and (ROOT / one).is_file()}


def _spelled(places: list[str]) -> dict[str, str]:
    """Return the ways to write each place: `ob.agents.UCB1`, `agents.UCB1`, and `UCB1` if unique.

    Plain words that are also functions, such as `experiments.run`, need their package. A function
    whose module has the same name, such as `problems.check.check`, is written without the module.
    """
    names: dict[str, str] = {}
    ends = [place.rpartition(".")[2] for place in places]
    for place, end in zip(places, ends, strict=True):
        short = re.sub(r"\.(\w+)\.\1$", r".\1", place).removeprefix("orbandit.")
        names |= dict.fromkeys((f"orbandit.{short}", f"ob.{short}"), place)
        if "." in short:
            names[short] = place
        if ends.count(end) == 1 and (short == end or not re.fullmatch("[a-z]+", end)):
            names[end] = place
    return names


def _help(command: str) -> str:
    """Return what a command prints, as a block."""
    printed, width = io.StringIO(), os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = "88"
    try:
        with redirect_stdout(printed):
            main(shlex.split(command)[1:])
    except SystemExit as end:
        if end.code:
            raise
    finally:
        os.environ.pop("COLUMNS")
        if width is not None:
            os.environ["COLUMNS"] = width
    return f"```text\n$ {command}\n{printed.getvalue()}```"
