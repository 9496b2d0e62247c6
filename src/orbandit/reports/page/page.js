"use strict";
// Draws the charts that the page carries, in the page's colours, and keeps the charts of a problem in step.
(() => {
  const charts = JSON.parse(document.getElementById("charts").textContent);
  const config = (layout) => ({
    responsive: true,
    displaylogo: false,
    toImageButtonOptions: { format: "svg" },
    modeBarButtons: [
      layout.scene
        ? ["toImage", "tableRotation", "resetCameraDefault3d"]
        : ["toImage", "zoom2d", "pan2d", "resetScale2d"],
    ],
  });
  // On a touch screen a finger that moves over a chart scrolls the page, until the reader chooses
  // to zoom, to pan or to turn.
  const isTouched = matchMedia("(pointer: coarse)").matches;
  const still = (layout) =>
    layout.scene ? { ...layout, scene: { ...layout.scene, dragmode: false } } : { ...layout, dragmode: false };

  const colors = () => {
    const style = getComputedStyle(document.documentElement);
    const value = (name) => style.getPropertyValue(name).trim();
    return { ink: value("--ink"), rule: value("--rule"), soft: value("--soft"), link: value("--link") };
  };

  // The parts of a layout that follow the page, whatever axes the chart has.
  const themed = (layout) => {
    const { ink, rule, soft, link } = colors();
    const clear = "rgba(0,0,0,0)";
    const changes = { "font.color": ink, paper_bgcolor: clear, plot_bgcolor: clear, "modebar.bgcolor": clear };
    Object.assign(changes, { "modebar.color": soft, "modebar.activecolor": link });
    const axis = (name) => {
      for (const part of ["gridcolor", "linecolor", "zerolinecolor"]) changes[`${name}.${part}`] = rule;
    };
    for (const key of Object.keys(layout)) {
      if (/^[xy]axis\d*$/.test(key)) axis(key);
      if (key === "scene") ["xaxis", "yaxis", "zaxis"].forEach((name) => axis(`scene.${name}`));
    }
    return changes;
  };

  const problemOf = (id) => id.slice(0, id.lastIndexOf("-"));
  const retheme = () => Object.keys(charts).map((id) => Plotly.relayout(id, themed(charts[id].layout)));

  // Every part of a problem's charts has one switch; a trace is shown if all of its are on.
  const switches = [...document.querySelectorAll("button[data-part]")];
  const isShown = (problem) => {
    const off = new Set(
      switches
        .filter(({ dataset, ariaPressed }) => dataset.problem === problem && ariaPressed !== "true")
        .map(({ dataset }) => dataset.part),
    );
    return ({ meta = [] }) => !meta.some((part) => off.has(part));
  };
  const update = (problem) =>
    Object.keys(charts)
      .filter((id) => problemOf(id) === problem)
      .map((id) => Plotly.restyle(id, { visible: charts[id].data.map(isShown(problem)) }));
  switches.forEach((button) =>
    button.addEventListener("click", () => {
      button.ariaPressed = String(button.ariaPressed !== "true");
      update(button.dataset.problem);
    }),
  );

  const drawn = Object.entries(charts).map(async ([id, { data, layout }]) => {
    const shown = isShown(problemOf(id));
    const traces = data.map((trace) => ({ ...trace, visible: shown(trace) }));
    const chart = await Plotly.newPlot(id, traces, isTouched ? still(layout) : layout, config(layout));
    if (isTouched && layout.scene) {
      chart.classList.add("still");
      chart.on("plotly_relayout", (change) => {
        if (change["scene.dragmode"]) chart.classList.remove("still");
      });
    }
    await Plotly.relayout(id, themed(layout));
  });

  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", retheme);
  addEventListener("beforeprint", () => {
    document.querySelectorAll("details").forEach((part) => (part.open = true));
  });
  // Paper has its own colours and width.
  matchMedia("print").addEventListener("change", () => {
    retheme();
    Object.keys(charts).forEach((id) => Plotly.Plots.resize(id));
  });
  Promise.all(drawn).then(() => (document.documentElement.dataset.drawn = "yes"));
})();
