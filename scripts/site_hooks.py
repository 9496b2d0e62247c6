"""What mkdocs does not do by itself for the site of mkdocs.yml.

Links to files outside of docs/ work in a checkout. The site has these files, too: Markdown as a
page, code as a page with a listing, a folder as a page of its code, and anything else as it is.
Names of public classes and functions, set as code, become links to the reference. Pictures open in
full size. The page of the command shows what `orbandit COMMAND --help` prints.
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
PICTURE = re.compile(r'<a\b.*?</a>|<img\b[^>]*\bsrc="(?P<source>[^":]+)"[^>]*>', re.DOTALL)
LANGUAGES = {".py": "python", ".toml": "toml"}
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
    """Add linked files and folders outside of docs/, and learn the names of the reference."""
    _origins.clear()
    _names.clear()
    texts = {f"docs/{page.src_uri}": page.content_string for page in files.documentation_pages()}
    waiting = {"CHANGELOG.md"}.union(*(_outside(path, text) for path, text in texts.items()))
    while waiting:
        path = waiting.pop()
        place, origin, text = _page(path), _origin(path), _text(path)
        _origins[place] = origin
        if text is None:
            files.append(File.generated(config, place, abs_src_path=os.fspath(ROOT / path)))
        else:
            files.append(File.generated(config, place, content=text))
            if origin.endswith(".md"):
                waiting |= {found for found in _outside(origin, text) if _page(found) not in _origins}
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
        if not (ROOT / path).exists():
            return link[0]  # mkdocs says so
        place = path.removeprefix("docs/") if path.startswith("docs/") else _page(path)
        return posixpath.relpath(place, posixpath.dirname(here) or ".")

    return HELP.sub(lambda asked: _help(asked[1]), LINK.sub(target, markdown))


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Link names that are set as code to the reference, and pictures to their files."""

    def linked(found: re.Match[str]) -> str:
        place = _names.get(found["name"] or "")
        return f'<autoref identifier="{place}" optional>{found[0]}</autoref>' if place else found[0]

    def opened(found: re.Match[str]) -> str:
        source = found["source"]
        return f'<a href="{source}">{found[0]}</a>' if source else found[0]

    return PICTURE.sub(opened, CODE.sub(linked, html))


def _page(path: str) -> str:
    """Return where the site has a file or folder outside of docs/: Markdown of the root at its root."""
    if path.endswith(".md"):
        return path.lower() if "/" not in path else f"files/{path}"
    if (ROOT / path).is_dir():
        return f"files/{path}/index.md"
    return f"files/{path}.md" if Path(path).suffix in LANGUAGES else f"files/{path}"


def _origin(path: str) -> str:
    """Return what links on the page of a file or folder are relative to."""
    return f"{path}/index.md" if (ROOT / path).is_dir() else path


def _text(path: str) -> str | None:
    """Return the page of a file or folder outside of docs/; None for a file that is no page."""
    source, language = ROOT / path, LANGUAGES.get(Path(path).suffix)
    if source.is_dir():
        names = sorted(one.name for one in source.iterdir() if one.suffix in LANGUAGES)
        return "\n".join([f"# {path}/", "", *(f"- [{name}]({name})" for name in names), ""])
    if language is not None:
        return LISTING.format(path=path, language=language, text=source.read_text(encoding="utf-8"))
    return source.read_text(encoding="utf-8") if path.endswith(".md") else None


def _outside(path: str, text: str) -> set[str]:
    """Return the files and folders outside of docs/ that a page links to."""
    folder = posixpath.dirname(path)
    found = {posixpath.normpath(posixpath.join(folder, link)) for link in LINK.findall(text)}
    return {one for one in found if not one.startswith(("docs", "..")) and (ROOT / one).exists()}


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
