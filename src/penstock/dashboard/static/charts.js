// The charts of a dataset's page: input against processed rate, and how long batches take.
"use strict";
(() => {
  const host = document.getElementById("charts");
  if (!host) return;
  const columns = ["timestamps", "updates", "batch_ids", "input_rows_per_second", "processed_rows_per_second", "batch_duration_ms", "output_rows"];
  const flows = new Map(); // flow name -> columns, in the order of the log
  let charts = [];
  let after = -1;
  let epoch = null;

  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const short = (value) => {
    if (value === null || value === undefined) return "–";
    const size = Math.abs(value);
    if (size >= 1e6) return `${+(value / 1e6).toFixed(1)}M`;
    if (size >= 1e3) return `${+(value / 1e3).toFixed(1)}k`;
    return `${+value.toFixed(size < 10 ? 1 : 0)}`;
  };
  const seconds = (value) => {
    if (value === null || value === undefined) return "–";
    return value < 1 ? `${Math.round(value * 1000)} ms` : `${+value.toFixed(value < 10 ? 1 : 0)} s`;
  };
  const latest = (list) => { for (let at = list.length - 1; at >= 0; at -= 1) if (list[at] !== null && list[at] !== undefined) return list[at]; return null; };
  const names = () => [...flows.keys()];
  const titled = (text, flow) => (flows.size > 1 ? `${text}, ${flow}` : text);
  const tones = ["--chart-1", "--chart-2", "--chart-3", "--chart-4"];

  const rates = {
    element: document.getElementById("chart-rates"),
    format: (value) => (value === null || value === undefined ? "–" : `${short(value)}/s`),
    series: () => names().flatMap((flow, index) => [
      { label: titled("Input rate", flow), tone: tones[(2 * index) % 4], dash: [6, 4] },
      { label: titled("Processed rate", flow), tone: tones[(2 * index + 1) % 4] },
    ]),
    data: () => names().map((flow) => {
      const own = flows.get(flow);
      return rowsOf(own, [own.input_rows_per_second, own.processed_rows_per_second]);
    }),
  };
  const durations = {
    element: document.getElementById("chart-durations"),
    format: seconds,
    series: () => names().map((flow, index) => ({ label: titled("Batch duration", flow), tone: tones[(index + 2) % 4], fill: true })),
    data: () => names().map((flow) => {
      const own = flows.get(flow);
      return rowsOf(own, [own.batch_duration_ms.map((value) => (value === null ? null : value / 1000))]);
    }),
  };

  // The newest update alone reads best while it runs; one with few batches is shown among the others.
  const period = document.getElementById("period");
  const newest = () => {
    let [latest, update, count] = [-1, null, 0];
    for (const own of flows.values()) {
      const last = own.timestamps.length - 1;
      if (last >= 0 && own.timestamps[last] > latest) [latest, update] = [own.timestamps[last], own.updates[last]];
    }
    for (const own of flows.values()) count = Math.max(count, own.updates.filter((each) => each === update).length);
    return { update, count };
  };
  const chosen = () => {
    const { update, count } = newest();
    return period.value === "newest" || (period.value === "" && count > 2) ? update : null;
  };
  // One flow's rows for the chart: only the chosen update, and a gap in the line between two updates.
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
  const joined = (tables) => (tables.length > 1 ? uPlot.join(tables) : tables[0]);
  const options = (chart) => {
    const axis = { stroke: colour("--soft"), grid: { stroke: colour("--grid"), width: 1 }, ticks: { stroke: colour("--grid"), size: 4 }, font: "11px system-ui, sans-serif" };
    return {
      width: Math.max(chart.element.clientWidth - 20, 200),
      height: 210,
      cursor: { points: { size: 7 }, drag: { x: true, y: false } },
      legend: { live: true },
      scales: { x: { time: true, range: (_, low, high) => (low === null ? [0, 1] : high - low < 10 ? [low - 5, high + 5] : [low, high]) }, y: { range: (_, low, high) => [0, Math.max(high || 0, 1e-9) * 1.15 || 1] } },
      axes: [axis, { ...axis, size: 58, values: (_, values) => values.map(chart.format) }],
      series: [
        { label: "Time", value: (plot, value) => { const shown = value ?? latest(plot.data[0]); return shown === null ? "–" : new Date(shown * 1000).toLocaleTimeString(); } },
        ...chart.series().map((one) => ({
          label: one.label, stroke: colour(one.tone), width: 2, dash: one.dash, spanGaps: flows.size > 1,
          fill: one.fill ? `${colour(one.tone)}22` : undefined,
          points: { size: 5, fill: colour(one.tone) },
          value: (plot, value, column, index) => chart.format(index === null || index === undefined ? latest(plot.data[column]) : value),
        })),
      ],
    };
  };
  const draw = () => {
    charts.forEach(({ plot }) => plot.destroy());
    charts = [];
    const any = names().some((flow) => flows.get(flow).timestamps.length > 0);
    host.hidden = !any;
    document.getElementById("charts-empty").hidden = any;
    if (!any) return;
    charts = [rates, durations].map((chart) => ({ chart, plot: new uPlot(options(chart), joined(chart.data()), chart.element) }));
  };
  const describe = () => {
    const last = (list) => list[list.length - 1];
    const said = names().map((flow) => {
      const own = flows.get(flow);
      return own.timestamps.length === 0 ? "" : `${flow}: input ${short(last(own.input_rows_per_second))} rows per second, processed ${short(last(own.processed_rows_per_second))} rows per second, last batch took ${seconds((last(own.batch_duration_ms) ?? null) === null ? null : last(own.batch_duration_ms) / 1000)}`;
    }).filter(Boolean).join("; ");
    rates.element.setAttribute("aria-label", `Chart of input and processed rate. ${said}`);
    durations.element.setAttribute("aria-label", `Chart of batch duration. ${said}`);
    const body = document.getElementById("figures");
    const rows = names().flatMap((flow) => {
      const own = flows.get(flow);
      return own.timestamps.map((moment, index) => [moment, flow, own.batch_ids[index], short(own.input_rows_per_second[index]), short(own.processed_rows_per_second[index]), own.batch_duration_ms[index] === null ? "–" : seconds(own.batch_duration_ms[index] / 1000), own.output_rows[index] === null ? "–" : own.output_rows[index].toLocaleString()]);
    }).sort((one, other) => other[0] - one[0]).slice(0, 50);
    body.replaceChildren(...rows.map((row) => {
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
    for (const flow of answer.flows) {
      if (!flows.has(flow.flow)) { flows.set(flow.flow, Object.fromEntries(columns.map((name) => [name, []]))); rebuild = true; }
      const own = flows.get(flow.flow);
      if (own.timestamps.length === 0 && flow.timestamps.length > 0) rebuild = true;
      for (const name of columns) {
        own[name].push(...flow[name]);
        if (own[name].length > answer.capacity) own[name].splice(0, own[name].length - answer.capacity);
      }
    }
    after = answer.last;
    if (rebuild) draw(); else charts.forEach(({ chart, plot }) => plot.setData(joined(chart.data())));
    describe();
  };
  let busy = false;
  let again = false;
  const fetchNew = async () => {
    if (busy) { again = true; return; }
    busy = true;
    try {
      const query = new URLSearchParams({ dataset: host.dataset.dataset, after: String(after), epoch: String(epoch ?? "") });
      const answer = await fetch(`/series?${query}`);
      if (answer.ok) take(await answer.json());
    } catch {
      // The dashboard is gone for the moment; the live connection says so and asks again when it is back.
    } finally {
      busy = false;
    }
    if (again) { again = false; fetchNew(); }
  };

  period.addEventListener("change", draw);
  document.addEventListener("penstock-changed", fetchNew);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  let width = 0;
  new ResizeObserver(() => {
    if (host.clientWidth === width) return;
    width = host.clientWidth;
    charts.forEach(({ chart, plot }) => plot.setSize({ width: Math.max(chart.element.clientWidth - 20, 200), height: 210 }));
  }).observe(host);
  fetchNew();
})();
