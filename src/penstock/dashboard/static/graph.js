// The lineage on the overview: zoom, and a search that marks datasets in the drawing and filters the table.
"use strict";
(() => {
  const search = document.getElementById("search");
  if (!document.getElementById("live")) return;
  let scale = 0; // 0: as wide as the page

  const drawing = () => document.querySelector("#graph svg.lineage");
  const zoom = () => {
    const svg = drawing();
    if (!svg) return;
    const { width, height } = svg.viewBox.baseVal;
    svg.classList.toggle("zoomed", scale > 0);
    svg.setAttribute("width", width * (scale || 1));
    svg.setAttribute("height", height * (scale || 1));
  };
  const fitted = () => { const svg = drawing(); return svg ? svg.getBoundingClientRect().width / svg.viewBox.baseVal.width : 1; };
  const step = (kind) => {
    const graph = document.getElementById("graph");
    const before = scale || fitted();
    const middle = [(graph.scrollLeft + graph.clientWidth / 2) / before, (graph.scrollTop + graph.clientHeight / 2) / before];
    if (kind === "fit") {
      const svg = drawing();
      scale = graph.clientWidth / svg.viewBox.baseVal.width < 1 ? (graph.clientWidth - 20) / svg.viewBox.baseVal.width : 0;
    } else {
      scale = Math.min(3, Math.max(0.05, before * (kind === "in" ? 1.25 : 0.8)));
    }
    zoom();
    graph.scrollTo(middle[0] * scale - graph.clientWidth / 2, middle[1] * scale - graph.clientHeight / 2);
  };

  const find = () => {
    const input = document.getElementById("search");
    if (!input) return;
    const text = input.value.trim().toLowerCase();
    let [count, first] = [0, null];
    for (const node of document.querySelectorAll("#graph .lineage-node")) {
      const hit = text !== "" && node.querySelector("title").textContent.toLowerCase().includes(text);
      node.classList.toggle("found", hit);
      node.classList.toggle("faded", text !== "" && !hit);
      if (hit) { count += 1; first ??= node; }
    }
    for (const row of document.querySelectorAll("#datasets tbody tr")) {
      row.hidden = text !== "" && !row.textContent.toLowerCase().includes(text);
    }
    document.getElementById("found").textContent = text === "" ? "" : `${count} found`;
    return first;
  };
  const show = (node) => {
    if (!node) return;
    if ((scale || fitted()) < 0.6) { scale = 0.8; zoom(); }
    node.scrollIntoView({ block: "nearest", inline: "center" });
  };

  document.addEventListener("input", (event) => { if (event.target.id === "search") show(find()); });
  document.addEventListener("click", (event) => { const kind = event.target.dataset?.zoom; if (kind) step(kind); });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = event.target.closest?.("input, select, textarea");
    const input = document.getElementById("search");
    if (event.key === "/" && !typing && input) { event.preventDefault(); input.focus(); }
    if (event.key === "Enter" && event.target === input) find()?.closest("a")?.focus();
    const kind = { "+": "in", "=": "in", "-": "out", "0": "fit" }[event.key];
    if (kind && event.target.closest?.("#graph")) { event.preventDefault(); step(kind); }
  });
  document.addEventListener("wheel", (event) => {
    if (!event.ctrlKey || !event.target.closest?.("#graph")) return;
    event.preventDefault();
    step(event.deltaY < 0 ? "in" : "out");
  }, { passive: false });
  document.addEventListener("penstock-morphed", () => { zoom(); find(); });
  if (search) find();
})();
