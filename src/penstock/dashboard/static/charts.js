// The charts of a page: fetches what is new, draws it with uPlot, tells it to screen readers, saves it as PNG.
"use strict";
(() => {
  const host = document.getElementById("charts");
  if (!host) return;
  const { kinds, short, seconds, rate } = window.penstockCharts;
  const flows = new Map(); // flow name -> {timestamps, updates, figures}, in the order of the log
  const period = document.getElementById("period");
  let plots = [];
  let after = -1;
  let epoch = null;
  const HEIGHT = 210;
  const WHOLE = Array.from({ length: 16 }, (_, power) => [1, 2, 5].map((step) => step * 10 ** power)).flat(); // rows and bytes have no halves

  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const tones = ["--chart-1", "--chart-2", "--chart-3", "--chart-4", "--chart-5", "--chart-6", "--chart-7"];
  const latest = (list) => { for (let at = list.length - 1; at >= 0; at -= 1) if (list[at] !== null && list[at] !== undefined) return list[at]; return null; };
  const names = () => [...flows.keys()];
  const widthOf = (element) => Math.max(element.clientWidth - 20, 200);

  // The newest update alone reads best while it runs; one with few batches is shown among the others.
  const chosen = () => {
    let [newest, update, count] = [-1, null, 0];
    for (const own of flows.values()) {
      const last = own.timestamps.length - 1;
      if (last >= 0 && own.timestamps[last] > newest) [newest, update] = [own.timestamps[last], own.updates[last]];
    }
    for (const own of flows.values()) count = Math.max(count, own.updates.filter((each) => each === update).length);
    return period.value === "newest" || (period.value === "" && count > 2) ? update : null;
  };
  // One flow's rows for a chart: only the chosen update, and a gap in the line between two updates.
  const rowsOf = (own, lists) => {
    const only = chosen();
    const rows = [[], ...lists.map(() => [])];
    own.timestamps.forEach((moment, index) => {
      if (only !== null && own.updates[index] !== only) return;
      const before = index > 0 && own.updates[index - 1] !== own.updates[index] && rows[0].length > 0;
      if (before) { rows[0].push(moment - 0.001); lists.forEach((_, column) => rows[column + 1].push(null)); }
      rows[0].push(moment);
      lists.forEach((list, column) => rows[column + 1].push(list[index]));
    });
    return rows;
  };
  const dataOf = (kind) => {
    const tables = names().map((name) => rowsOf(flows.get(name), kind.data(flows.get(name).figures)));
    return tables.length > 1 ? uPlot.join(tables) : tables[0];
  };
  // A value without a neighbour has no line and no area: it gets a point, in a stack a bar, also where points are too dense.
  const alone = (plot, column, shown) => {
    if (shown) return null;
    const known = plot.data[column].map((value) => value !== null && value !== undefined);
    const lonely = plot.series[column].spanGaps ? () => known.filter(Boolean).length === 1 : (at) => !known[at - 1] && !known[at + 1];
    return [...known.keys()].filter((at) => known[at] && lonely(at));
  };
  const bars = (plot, column, first, last, chosen) => {
    const [fill, clip, { left, top, width, height }, half] = [new Path2D(), new Path2D(), plot.bbox, 4 * devicePixelRatio];
    clip.rect(left - half, top, width + 2 * half, height);
    for (const at of chosen) {
      const [middle, end, ground] = [plot.valToPos(plot.data[0][at], "x", true), plot.valToPos(plot.data[column][at], "y", true), plot.valToPos(0, "y", true)];
      fill.rect(middle - half, end, 2 * half, ground - end);
    }
    return { fill, stroke: null, clip };
  };
  const isEmpty = (data) => data.slice(1).every((line) => line.every((value) => value === null || value === undefined));

  const options = (kind, element) => {
    const axis = { stroke: colour("--soft"), grid: { stroke: colour("--grid"), width: 1 }, ticks: { stroke: colour("--grid"), size: 4 }, font: "11px system-ui, sans-serif" };
    const figures = flows.size ? flows.values().next().value.figures : null;
    const told = (value) => kind.format(value, figures);
    const lines = names().flatMap((flow, number) => kind.lines.map((line, at) => ({
      ...line, label: flows.size > 1 ? `${line.label}, ${flow}` : line.label, tone: tones[(number * kind.lines.length + at) % tones.length], at,
    })));
    return {
      width: widthOf(element),
      height: HEIGHT,
      cursor: { points: { size: 7 }, drag: { x: true, y: false } },
      scales: { x: { time: true, range: (_, low, high) => (low === null ? [0, 1] : high - low < 10 ? [low - 5, high + 5] : [low, high]) }, y: { range: (_, low, high) => [Math.min(0, low ?? 0), high > 0 ? high * 1.15 : 1] } },
      axes: [axis, { ...axis, size: 62, values: (_, values) => values.map(told), ...(kind.format === rate || kind.format === seconds ? {} : { incrs: WHOLE }) }],
      series: [
        { label: "Time", value: (plot, value) => { const shown = value ?? latest(plot.data[0]); return shown === null ? "–" : new Date(shown * 1000).toLocaleTimeString(); } },
        ...lines.map((line) => ({
          label: line.label, stroke: colour(line.tone), width: kind.areas ? 1 : 2, dash: line.dash, spanGaps: flows.size > 1,
          fill: line.fill ? (kind.areas ? colour(line.tone) : `${colour(line.tone)}22`) : undefined,
          points: { size: 5, fill: colour(line.tone), filter: alone, ...(kind.areas ? { show: false, paths: bars } : {}) },
          value: (plot, value, column, index) => {
            const at = index ?? plot.data[0].length - 1;
            if (!kind.part) return told(index === null || index === undefined ? latest(plot.data[column]) : value);
            const first = column - line.at; // the lines of this flow, from the uppermost
            return told(kind.part(plot.data.slice(first, first + kind.lines.length).map((list) => list[at]), line.at));
          },
        })),
      ],
    };
  };
  const draw = () => {
    plots.forEach(({ plot }) => plot.destroy());
    plots = [];
    const any = names().some((flow) => flows.get(flow).timestamps.length > 0);
    host.hidden = !any;
    document.getElementById("charts-empty").hidden = any;
    if (!any) return;
    for (const element of host.querySelectorAll("[data-chart]")) {
      const kind = kinds[element.dataset.chart];
      const data = dataOf(kind);
      element.closest("[data-chart-card]").hidden = isEmpty(data);
      if (!isEmpty(data)) plots.push({ kind, element, plot: new uPlot(options(kind, element), data, element) });
    }
  };
  const redraw = () => {
    const shown = new Set(plots.map(({ kind }) => kind));
    const wanted = Object.values(kinds).some((kind) => !shown.has(kind) && host.querySelector(`[data-chart-card][hidden]`) && !isEmpty(dataOf(kind)));
    if (wanted) draw(); else plots.forEach(({ kind, plot }) => plot.setData(dataOf(kind)));
  };
  const describe = () => {
    for (const { kind, element, plot } of plots) {
      const words = plot.series.slice(1).map((line, at) => `${line.label} ${line.value(plot, null, at + 1, null)}`).join(", ");
      element.setAttribute("aria-label", `${element.closest("section").querySelector("h2").textContent}: ${words}`);
    }
    const rows = names().flatMap((flow) => {
      const { timestamps, figures } = flows.get(flow);
      return timestamps.map((moment, at) => [
        moment, flow, figures.batch_id[at], rate(figures.input_rows_per_second[at]), rate(figures.processed_rows_per_second[at]),
        figures.batch_duration_ms[at] === null ? "–" : seconds(figures.batch_duration_ms[at] / 1000), figures.output_rows[at]?.toLocaleString() ?? "–",
      ]);
    }).sort((one, other) => other[0] - one[0]).slice(0, 50);
    document.getElementById("figures").replaceChildren(...rows.map((row) => {
      const line = document.createElement("tr");
      row.forEach((value, index) => {
        const cell = document.createElement("td");
        cell.textContent = index === 0 ? new Date(value * 1000).toLocaleTimeString() : value;
        if (index > 1) cell.className = "number";
        line.append(cell);
      });
      return line;
    }));
  };

  const take = (answer) => {
    let rebuild = answer.epoch !== epoch;
    if (rebuild) { flows.clear(); epoch = answer.epoch; }
    for (const told of answer.flows) {
      if (!flows.has(told.flow)) {
        flows.set(told.flow, { timestamps: [], updates: [], figures: Object.fromEntries(Object.keys(told.figures).map((name) => [name, []])) });
        rebuild = true;
      }
      const own = flows.get(told.flow);
      if (own.timestamps.length === 0 && told.timestamps.length > 0) rebuild = true;
      const columns = [[own.timestamps, told.timestamps], [own.updates, told.updates], ...Object.keys(told.figures).map((name) => [own.figures[name], told.figures[name]])];
      for (const [column, more] of columns) {
        column.push(...more);
        if (column.length > answer.capacity) column.splice(0, column.length - answer.capacity);
      }
    }
    after = answer.last;
    if (rebuild) draw(); else redraw();
    describe();
  };
  let busy = false;
  let again = false;
  const fetchNew = async () => {
    if (busy) { again = true; return; }
    busy = true;
    try {
      const query = new URLSearchParams({ dataset: host.dataset.dataset, flow: host.dataset.flow ?? "", after: String(after), epoch: String(epoch ?? "") });
      const answer = await fetch(`/series?${query}`);
      if (answer.ok) take(await answer.json());
    } catch {
      // The dashboard is gone for the moment; the live connection says so and asks again when it is back.
    } finally {
      busy = false;
    }
    if (again) { again = false; fetchNew(); }
  };

  // A chart as a picture: its canvas on the page's ground, with its heading and the legend's words.
  const save = (name) => {
    const found = plots.find(({ element }) => element.dataset.chart === name);
    if (!found) return;
    const drawn = found.plot.ctx.canvas;
    const ratio = devicePixelRatio || 1;
    const picture = document.createElement("canvas");
    [picture.width, picture.height] = [drawn.width, drawn.height + 54 * ratio];
    const pen = picture.getContext("2d");
    pen.fillStyle = colour("--surface");
    pen.fillRect(0, 0, picture.width, picture.height);
    pen.fillStyle = colour("--text");
    pen.font = `600 ${14 * ratio}px system-ui, sans-serif`;
    pen.fillText(`${host.dataset.flow ?? host.dataset.dataset}: ${found.element.closest("section").querySelector("h2").textContent}`, 12 * ratio, 22 * ratio);
    pen.font = `${11 * ratio}px system-ui, sans-serif`;
    let left = 12 * ratio;
    for (const line of found.plot.series.slice(1)) {
      pen.fillStyle = typeof line.stroke === "function" ? line.stroke(found.plot) : line.stroke;
      pen.fillRect(left, 33 * ratio, 10 * ratio, 10 * ratio);
      pen.fillStyle = colour("--text");
      pen.fillText(line.label, left + 14 * ratio, 42 * ratio);
      left += pen.measureText(line.label).width + 30 * ratio;
    }
    pen.drawImage(drawn, 0, 54 * ratio);
    picture.toBlob((blob) => {
      const link = document.createElement("a");
      link.href = URL.createObjectURL(blob);
      link.download = `${host.dataset.flow ?? host.dataset.dataset}-${name}.png`;
      link.click();
      URL.revokeObjectURL(link.href);
    });
  };

  host.addEventListener("click", (event) => { const name = event.target.dataset?.png; if (name) save(name); });
  period.addEventListener("change", () => { draw(); describe(); });
  document.addEventListener("penstock-changed", fetchNew);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  let width = 0;
  new ResizeObserver(() => {
    if (host.clientWidth === width) return;
    width = host.clientWidth;
    plots.forEach(({ element, plot }) => plot.setSize({ width: widthOf(element), height: HEIGHT }));
  }).observe(host);
  fetchNew();
})();
