"use strict";
// Draws the charts that the page carries, in the page's colours, and keeps the charts of a problem in step.
(() => {
  const charts = JSON.parse(document.getElementById("charts").textContent);
  const config = { responsive: true, displaylogo: false, toImageButtonOptions: { format: "svg" } };

  const colors = () => {
    const style = getComputedStyle(document.documentElement);
    const value = (name) => style.getPropertyValue(name).trim();
    return { ink: value("--ink"), rule: value("--rule") };
  };

  // The parts of a layout that follow the page, whatever axes the chart has.
  const themed = (layout) => {
    const { ink, rule } = colors();
    const clear = "rgba(0,0,0,0)";
    const changes = { "font.color": ink, paper_bgcolor: clear, plot_bgcolor: clear, "legend.bgcolor": clear };
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

  // Curves of an agent are hidden and shown together in all charts of its problem.
  const show = (problem, agent, visible) =>
    Object.keys(charts)
      .filter((id) => problemOf(id) === problem)
      .map((id) => {
        const data = document.getElementById(id).data;
        const places = data.map((trace, i) => (trace.legendgroup === agent ? i : -1)).filter((i) => i >= 0);
        return places.length ? Plotly.restyle(id, { visible }, places) : Promise.resolve();
      });
  document.querySelectorAll(".legend button").forEach((button) =>
    button.addEventListener("click", () => {
      const pressed = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(pressed));
      show(button.dataset.problem, button.dataset.agent, pressed);
    }),
  );

  const drawn = Object.entries(charts).map(async ([id, { data, layout }]) => {
    await Plotly.newPlot(id, data, layout, config);
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
