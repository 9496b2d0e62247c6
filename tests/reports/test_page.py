"""The page and the figures: whole, correct, and readable in a real browser without any network."""

import io
import json
import re
import sys
from contextlib import redirect_stdout
from dataclasses import replace

import numpy as np
import plotly.graph_objects as go
import pytest

import orbandit as ob
from orbandit.cli import main
from orbandit.errors import InputError, MissingExtraError, OrbanditError
from orbandit.experiments.finished import run_key
from orbandit.experiments.running import run
from orbandit.experiments.spec import read
from orbandit.experiments.store import Store
from orbandit.reports.page import page
from orbandit.reports.reporting import report
from orbandit.reports.summary import summarise
from orbandit.reports.words import size


@pytest.fixture(scope="module")
def written(results, tmp_path_factory):
    """Return the page of the results."""
    path = tmp_path_factory.mktemp("page") / "shapes.html"
    report(results, path)
    return path


def charts_of(text):
    return json.loads(re.search(r'<script type="application/json" id="charts">(.*?)</script>', text, re.DOTALL)[1])


def test_the_page_holds_every_number(written, results):
    text = written.read_text(encoding="utf-8")
    summary = summarise(results)
    body = text.partition("<script>")[0]
    assert "two &lt;shapes&gt; &amp; a box" in body
    assert "disk &lt;/script&gt;" in body  # names are words, never part of the page
    assert body.count("<h2") == 5
    for result in summary.problems:
        for horizon in result.horizons:
            for agent in horizon.agents:
                assert f"{agent.final.value:.3g}" in body
                cells = (
                    f"{agent.simple.final.value:.3g}",
                    f"{agent.simple.final.low:.3g} to {agent.simple.final.high:.3g}",
                )
                assert "<td>{}</td><td>{}</td>".format(*cells) in body
    assert body.count('<th scope="col">simple regret</th>') == 3 * 2
    assert "No simple regret" not in body
    assert "0 to 3" in body  # the seeds
    assert f"orbandit {ob.__version__}" in body
    assert "(d + 1) / (d + 2) = 0.833" in body
    assert text == page(summary)  # the same results give the same page


def test_every_chart_is_one_that_plotly_knows(written, results):
    charts = charts_of(written.read_text(encoding="utf-8"))
    kinds = {"linear", "log", "simple", "horizons"}
    assert set(charts) == {f"problem-{i}-{kind}" for i in (1, 2, 3) for kind in kinds} | {
        "problem-1-scene",
        "problem-2-scene",
    }
    for chart in charts.values():
        go.Figure(chart)  # which refuses unknown names and values
    (first,) = (r for r in summarise(results).problems if r.name == "icosahedron")
    curves = {
        trace["name"]: trace for trace in charts["problem-2-linear"]["data"] if "line" in trace and "fill" not in trace
    }
    for agent in first.longest.agents:
        np.testing.assert_allclose(curves[agent.label]["y"], agent.mean, rtol=1e-5)
        assert curves[agent.label]["line"]["dash"] == ("solid" if agent.uses_group else "dash")
    simple = {
        trace["name"]: trace for trace in charts["problem-2-simple"]["data"] if "line" in trace and "fill" not in trace
    }
    assert charts["problem-2-simple"]["layout"]["yaxis"]["title"]["text"] == "simple regret"
    for agent in first.longest.agents:
        kept = agent.simple.mean > 1e-9
        assert simple[agent.label]["x"] == agent.checkpoints[kept].tolist()
        np.testing.assert_allclose(simple[agent.label]["y"], agent.simple.mean[kept], rtol=1e-5)
        assert simple[agent.label]["line"] == curves[agent.label]["line"]
    bands = {trace["name"] for trace in charts["problem-2-linear"]["data"] if "bands" in trace.get("meta", ())}
    assert bands == set(curves)
    zooming = next(agent for agent in first.longest.agents if agent.label == "Zooming")
    (around,) = (t for t in charts["problem-2-linear"]["data"] if t.get("fill") == "toself" and t["name"] == "Zooming")
    np.testing.assert_allclose(around["y"], np.concatenate([zooming.high, zooming.low[::-1]]), rtol=1e-5)
    colors = {label: curve["line"]["color"] for label, curve in curves.items()}
    assert colors["OrbitTree"] == colors["OrbitTree without group"] != colors["Zooming"]


def test_runs_without_simple_regret_are_told(results, tmp_path):
    with Store.open(results, write=False) as store:
        runs = [run for run in store.runs() if run.problem == "box of four"]
        spec = {**store.spec, "problem": [one for one in store.spec["problem"] if one["name"] == "box of four"]}
    for name, is_old in (("all", lambda run: True), ("some", lambda run: run.agent == "Zooming" and run.seed == 1)):
        path = tmp_path / f"{name}.db"
        with Store.create(path, spec) as store:
            store.add_many(replace(run, simple_regret=None) if is_old(run) else run for run in runs)
        report(path, figures=tmp_path / name)
        text = path.with_suffix(".html").read_text(encoding="utf-8")
        body, charts = text.partition("<script>")[0], charts_of(text)
        shown = {trace["name"] for trace in charts.get("problem-1-simple", {"data": []})["data"]}
        assert shown == (set() if name == "all" else {"OrbitTree", "OrbitTree without group"})
        told = [agent.label for agent in summarise(path).problems[0].longest.agents if agent.label not in shown]
        assert f"No simple regret of {', '.join(told)}: some runs have none" in body
        assert any("simple-regret" in figure.name for figure in (tmp_path / name).iterdir()) == bool(shown)
        assert body.count('<th scope="col">simple regret</th>') == (2 if shown else 0)
        for agent in summarise(path).problems[0].longest.agents:
            assert (agent.simple is None) == (agent.label in told)


LIMITED = """
horizons = [50, 200]
seeds = 2
[[problem]]
name = "disk"
class = "Cone"
space = { class = "Ball", dim = 2 }
group = { class = "Dihedral", m = 5 }
peak = [0.3, 0.5]
"""


def test_limits_are_those_of_the_meshes_played_and_of_no_other_agent(tmp_path):
    file, path = tmp_path / "disk.toml", tmp_path / "disk.db"
    classes = ("UniformMesh", "UniformMeshN", "HOO", "OrbitTree", "Zooming")
    tables = [f'[[agent]]\nclass = "{name}"\ngroup = [true, false]\n' for name in classes]
    file.write_text(LIMITED + "".join(tables))
    run(read(file), path, jobs=1)
    text = page(summarise(path))
    body, charts = text.partition("<script>")[0], charts_of(text)
    space, group = ob.spaces.Ball(2), ob.groups.Dihedral(5)
    cone = ob.problems.Cone(space, group, peak=[0.3, 0.5])
    lines = {trace["name"]: trace for trace in charts["problem-1-log"]["data"] if "limit" in trace["meta"]}
    assert not any("limit" in trace["meta"] for trace in charts["problem-1-linear"]["data"])
    expected = set()
    for name in classes[:2]:
        for told in (group, None):
            agent = getattr(ob.agents, name)(space, told, horizon=200)
            label = name if told else f"{name} without group"
            limit = ob.theory.instance_limit(cone, ob.meshes.Mesh(agent.mesh.points, agent.delta, group=told))
            below = 0.95 - cone.mean(agent.mesh.points).max()
            row = re.search(rf"</span>{label}</th>\s*<td>{agent.n_arms}</td>(.*?)</tr>", body, re.DOTALL)[1]
            cells = re.findall("<td>(.*?)</td>", row)
            assert cells[:2] == [size(below), size(limit)]
            images = np.concatenate([group.orbit(point) for point in agent.mesh.points])
            every = ob.theory.instance_limit(cone, ob.meshes.Mesh(images, agent.delta))
            assert cells[2:] == ([size(every), size(every / limit)] if told else ["-", "-"])
            line = lines[f"limit of {label}"]
            x = np.array(line["x"])
            np.testing.assert_allclose(line["y"], x * below + limit * np.log(x), rtol=1e-5)
            expected.add(f"limit of {label}")
    assert set(lines) == expected
    assert "Others have no such limit" in body
    assert 'data-part="limit"' in body


def test_without_a_mesh_there_is_no_limit(written):
    body = written.read_text(encoding="utf-8").partition("<script>")[0]
    assert "symptotic limit" not in body
    assert 'data-part="limit"' not in body


def test_nothing_in_the_page_leaves_it(written):
    body = re.sub(r"<script>.*?</script>", "", written.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert not re.search(r"(?:src|href)\s*=\s*[\"'](?!#|data:)", body)
    assert "@import" not in body
    assert "url(" not in body


def test_a_browser_reads_it(written, chromium):
    context = chromium.new_context(viewport={"width": 1200, "height": 900}, color_scheme="light")
    context.set_default_timeout(600_000)
    tab = context.new_page()
    requests, troubles = [], []
    tab.on("request", lambda request: requests.append(request.url))
    tab.on("pageerror", lambda error: troubles.append(str(error)))
    tab.on("console", lambda message: troubles.append(message.text) if message.type == "error" else None)
    tab.goto(written.as_uri())
    tab.wait_for_selector("html[data-drawn=yes]")

    assert tab.locator("#problem-1-simple .scatterlayer .trace path.js-line").count() >= 3
    visible = """name => document.getElementById('problem-1-log').data
        .filter(trace => trace.name === name).map(trace => trace.visible)"""
    drawn = "() => document.querySelectorAll('#problem-1-log .scatterlayer .trace path.js-line').length"
    before = tab.evaluate(drawn)
    assert tab.evaluate(visible, "Zooming") == [True, True]
    button = tab.locator('button[data-problem="problem-1"][data-part="agent Zooming"]')
    button.click()
    assert button.get_attribute("aria-pressed") == "false"
    assert tab.evaluate(visible, "Zooming") == [False, False]
    assert tab.evaluate(visible, "OrbitTree") == [True, True]
    for part, shown in (("untold", [False, False]), ("bands", [False, True])):
        switch = tab.locator(f'button[data-problem="problem-1"][data-part="{part}"]')
        switch.click()
        name = "OrbitTree" if part == "bands" else "OrbitTree without group"
        tab.wait_for_function(f"([name, shown]) => String(({visible})(name)) === String(shown)", arg=[name, shown])
        switch.click()
    assert tab.evaluate(visible, "Zooming") == [False, False]
    tab.wait_for_function(f"count => ({drawn})() < count", arg=before)
    button.click()
    tab.wait_for_function(f"count => ({drawn})() === count", arg=before)

    ink = "() => getComputedStyle(document.querySelector('#problem-1-linear .xtick text')).fill"
    light = tab.evaluate(ink)
    tab.emulate_media(color_scheme="dark")
    tab.wait_for_function(f"old => ({ink})() !== old", arg=light)
    tab.emulate_media(color_scheme="dark", media="print")
    tab.wait_for_function(f"() => ({ink})() === 'rgb(0, 0, 0)'")
    tab.emulate_media(color_scheme="light", media="screen")

    camera = "() => JSON.stringify(document.getElementById('problem-2-scene')._fullLayout.scene._scene.getCamera().eye)"
    eye = tab.evaluate(camera)
    tab.locator("#problem-2-scene").scroll_into_view_if_needed()
    box = tab.locator("#problem-2-scene canvas").bounding_box()
    tab.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    tab.mouse.down()
    tab.mouse.move(box["x"] + box["width"] / 2 + 120, box["y"] + box["height"] / 2 + 40, steps=5)
    tab.mouse.up()
    tab.wait_for_function(f"old => ({camera})() !== old", arg=eye)

    assert requests == [written.as_uri()]
    assert troubles == []
    context.close()


@pytest.fixture(scope="module")
def crowded(results, tmp_path_factory):
    """Return a page of eight agents, with the group and without, on one problem."""
    path = tmp_path_factory.mktemp("crowded") / "crowded.db"
    with Store.open(results, write=False) as store:
        runs = [run for run in store.runs() if run.problem == "icosahedron" and "OrbitTree" in run.agent]
    copies = []
    for one in runs:
        for i in range(8):
            table = {**one.parameters["agent"], "class": f"mine:AgentOfALongName{i}"}
            parameters = {**one.parameters, "agent": table}
            name = one.agent.replace("OrbitTree", f"AgentOfALongName{i}")
            changed = {"parameters": parameters, "key": run_key(parameters), "agent": name}
            copies.append(replace(one, **changed, regret=(8 - i) * one.regret))
    agents = [{"class": f"mine:AgentOfALongName{i}", "group": [True, False]} for i in range(8)]
    problem = runs[0].parameters["problem"] | {"name": runs[0].problem}
    spec = {"name": "a crowd", "horizons": [100, 400], "seeds": 4, "problem": [problem], "agent": agents}
    with Store.create(path, spec) as store:
        store.add_many(copies)
    report(path)
    return path.with_suffix(".html")


def test_many_agents_have_one_key_each_and_a_panel(crowded):
    body = crowded.read_text(encoding="utf-8").partition("<script>")[0]
    names = [f"AgentOfALongName{i}" for i in range(7, -1, -1)]  # the best first
    keys = re.findall(r'aria-pressed="(true|false)" data-problem="problem-1" data-part="agent (.*?)"', body)
    assert keys == [("true" if i < 6 else "false", name) for i, name in enumerate(names)]
    found = re.findall(r'data-part="agent .*?data-mark="(.*?)" style="--look: (.*?)"', body)
    assert [mark for mark, _ in found] == [""] * 6 + ["■"] * 2  # the best have colours of their own
    assert len({color for _, color in found[:6]}) == 6
    assert re.findall(r'<div class="panel"><h4>.*?</span>(.*?)</h4>', body) == names
    panels = re.findall(r'<div class="panel">.*?</div>', body, re.DOTALL)
    (result,) = summarise(crowded.with_suffix(".db")).problems
    top = max(agent.mean.max() for agent in result.longest.agents)
    for name, panel in zip(names, panels, strict=True):
        told, untold = result.longest.of_family(name)
        assert (told.uses_group, untold.uses_group) == (True, False)
        lines = re.findall(r'<path d="M0 100(?:L[^"]*)?L(.*?) (.*?)" style="[^"]*"( data-dashed)?/>', panel)
        ends = [(float(y), bool(dashed)) for _, y, dashed in lines]
        assert ends == [
            (pytest.approx(100 * (1 - told.mean[-1] / top), abs=0.01), False),
            (pytest.approx(100 * (1 - untold.mean[-1] / top), abs=0.01), True),
        ]
        assert f"<p>{size(told.final.value)}, {size(untold.final.value)} without</p>" in panel


FAULTS = """() => {
  const faults = [], page = document.documentElement;
  const apart = (a, b) => a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top;
  if (page.scrollWidth > page.clientWidth) faults.push(`the page is ${page.scrollWidth} wide`);
  for (const chart of document.querySelectorAll(".chart")) {
    const box = chart.getBoundingClientRect(), { l, t, w, h } = chart._fullLayout._size;
    const plot = new DOMRect(box.left + l, box.top + t, w, h);
    const bar = chart.querySelector(".modebar").getBoundingClientRect();
    if (!bar.height || !apart(bar, plot)) faults.push(`toolbar of ${chart.id}`);
    if (h < 150 || w < 150) faults.push(`${chart.id} has ${w} by ${h}`);
    if (chart.querySelector("g.legend")) faults.push(`a legend in ${chart.id}`);
    for (const legend of document.querySelectorAll(".keys, .legend"))
      if (!apart(legend.getBoundingClientRect(), plot)) faults.push(`legend over ${chart.id}`);
    for (const title of chart.querySelectorAll(".xtitle, .ytitle"))
      if (!apart(title.getBoundingClientRect(), plot) || !apart(title.getBoundingClientRect(), bar))
        faults.push(`title in ${chart.id}`);
  }
  for (const part of document.querySelectorAll("body :not(script, style)")) {
    const words = [...part.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (words && part.checkVisibility() && parseFloat(getComputedStyle(part).fontSize) < 12)
      faults.push(`small print: ${part.textContent}`);
  }
  for (const button of document.querySelectorAll(".keys button"))
    if (button.getBoundingClientRect().height < 24) faults.push(`${button.textContent} is too small to press`);
  return faults;
}"""


def swipe(tab, selector):
    """Move a finger over the middle of an element, up by 150 pixels."""
    session = tab.context.new_cdp_session(tab)
    box = tab.locator(selector).bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    for step in range(6):
        kind = "touchMove" if step else "touchStart"
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y - 30 * step}]})
        tab.wait_for_timeout(30)
    session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})


def test_it_reads_on_a_phone_a_tablet_and_a_desk(crowded, chromium):
    context = chromium.new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    context.set_default_timeout(600_000)
    tab = context.new_page()
    tab.goto(crowded.as_uri())
    tab.wait_for_selector("html[data-drawn=yes]")
    fits = """() => [...document.querySelectorAll(".chart")].every((chart) =>
        Math.abs(chart.clientWidth - chart._fullLayout.width) < 2 &&
        Math.abs(chart.clientHeight - chart._fullLayout.height) < 2)"""
    for width in (390, 820, 1440):
        tab.set_viewport_size({"width": width, "height": 900})
        tab.wait_for_function(fits)
        assert tab.evaluate(FAULTS) == [], width
        tables = "() => [...document.querySelectorAll('table')].every((one) => one.closest('.scroll'))"
        assert tab.evaluate(tables)
    tab.evaluate("window.scrollTo(0, document.getElementById('problem-1-log').offsetTop)")
    top = tab.locator(".keys").bounding_box()["y"]
    assert 0 <= top <= 1  # the keys stay in sight beside the charts that they are of
    scene = tab.locator("#problem-1-scene")
    for name in ("linear", "scene"):  # a finger scrolls the page
        tab.locator(f"#problem-1-{name}").scroll_into_view_if_needed()
        before = tab.evaluate("scrollY")
        swipe(tab, f"#problem-1-{name}")
        tab.wait_for_function("before => Math.abs(scrollY - before) > 50", arg=before)
    camera = "() => JSON.stringify(document.getElementById('problem-1-scene')._fullLayout.scene._scene.getCamera().eye)"
    eye = tab.evaluate(camera)
    scene.locator("[data-attr='scene.dragmode']").tap()  # and then turns the solid
    tab.wait_for_selector("#problem-1-scene:not(.still)")
    swipe(tab, "#problem-1-scene")
    tab.wait_for_function(f"old => ({camera})() !== old", arg=eye)
    tab.emulate_media(media="print")
    tab.set_viewport_size({"width": 700, "height": 1000})  # about what a sheet has
    tab.wait_for_function(fits)
    boxes = [tab.locator(f"#problem-1-{name}").bounding_box() for name in ("linear", "log")]
    assert boxes[0]["y"] == boxes[1]["y"]
    context.close()


@pytest.fixture(scope="module")
def reported(results, tmp_path_factory):
    """Return what the command prints, and the page and the figures that it writes."""
    folder, printed = tmp_path_factory.mktemp("reported"), io.StringIO()
    out, figures = folder / "here.html", folder / "new" / "figures"
    with redirect_stdout(printed):
        assert main(["report", str(results), "--out", str(out), "--figures", str(figures)]) == 0
    return printed.getvalue(), out, figures


def test_figures_for_a_paper(reported):
    paths = list(reported[2].iterdir())
    names = {path.name for path in paths}
    parts = ("regret", "simple-regret", "horizons")
    expected = {f"{name}-{part}" for name in ("disk-script", "icosahedron", "box-of-four") for part in parts}
    expected |= {"disk-script-scene", "icosahedron-scene"}
    assert names == {f"{name}.{kind}" for name in expected for kind in ("png", "svg")}
    for path in paths:
        start = path.read_bytes()[:8]
        assert start.startswith(b"\x89PNG" if path.suffix == ".png" else b"<?xml")
        assert path.stat().st_size > 5_000


def test_the_command(reported, results, tmp_path, capsys):
    printed, out, _ = reported
    assert f"page: {out}" in printed
    assert out.stat().st_size > 4_000_000
    assert main(["report", str(results)]) == 0
    beside = results.with_suffix(".html")
    assert f"page: {beside}" in capsys.readouterr().out
    assert beside.read_text(encoding="utf-8") == out.read_text(encoding="utf-8")
    assert main(["report", str(tmp_path / "nothing.db")]) == 1
    assert "missing" in capsys.readouterr().err


def test_what_is_refused(results, tmp_path, monkeypatch):
    kept = results.read_bytes()
    with pytest.raises(InputError, match=r"must end in \.html"):
        report(results, tmp_path / "page.txt")
    with pytest.raises(OrbanditError):
        report(results, results)
    assert results.read_bytes() == kept
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(InputError, match="must be a folder"):
        report(results, tmp_path / "page.html", figures=tmp_path / "file")
    monkeypatch.setitem(sys.modules, "plotly.offline", None)
    with pytest.raises(MissingExtraError, match="with the extra `report`"):
        report(results, tmp_path / "other.html")
    assert not (tmp_path / "other.html").exists()
