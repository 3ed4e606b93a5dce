// Draws what each schedule costs over how fresh it is, and the frontier through those that no other one beats.
"use strict";
(() => {
  const host = document.getElementById("cost-chart");
  if (!host) return;
  const { seconds } = window.penstockCharts;
  const points = JSON.parse(host.dataset.points);
  const { schedules } = points;
  if (schedules.length === 0) { host.hidden = true; return; }
  const HEIGHT = 380;
  const SPLITS = [1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 18000, 43200, 86400, 172800, 604800];
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const narrow = () => host.clientWidth < 700;
  const column = (chosen) => schedules.map((each) => (chosen(each) ? each.cost : null));
  const data = [
    schedules.map((each) => each.seconds),
    column((each) => each.frontier),
    column((each) => !each.frontier),
    column((each) => each.recommended),
  ];

  // Each point's name beside it; one that would lie on another one's is left to the table.
  const names = (plot) => {
    const { ctx, bbox } = plot;
    const ratio = devicePixelRatio || 1;
    const taken = [];
    ctx.save();
    ctx.font = `${12 * ratio}px system-ui, sans-serif`;
    ctx.fillStyle = colour("--text");
    ctx.textBaseline = "middle";
    ctx.textAlign = "left";
    for (const each of [...schedules].sort((one, other) => Number(other.frontier) - Number(one.frontier))) {
      const text = each.name.replace("AvailableNow every", "every");
      const [x, y, width] = [plot.valToPos(each.seconds, "x", true), plot.valToPos(each.cost, "y", true), ctx.measureText(text).width];
      const right = x + 10 * ratio + width < bbox.left + bbox.width;
      const box = { left: right ? x + 10 * ratio : x - 10 * ratio - width, top: y - 16 * ratio, width, height: 16 * ratio };
      if (taken.some((other) => box.left < other.left + other.width && other.left < box.left + box.width && box.top < other.top + other.height && other.top < box.top + box.height)) continue;
      taken.push(box);
      ctx.fillText(text, box.left, box.top + 6 * ratio);
    }
    if (points.goal) {
      const x = plot.valToPos(points.goal, "x", true);
      if (x >= bbox.left && x <= bbox.left + bbox.width) {
        ctx.strokeStyle = colour("--chart-4");
        ctx.setLineDash([6 * ratio, 4 * ratio]);
        ctx.beginPath();
        ctx.moveTo(x, bbox.top);
        ctx.lineTo(x, bbox.top + bbox.height);
        ctx.stroke();
      }
    }
    ctx.restore();
  };
  const options = () => {
    const axis = { stroke: colour("--soft"), grid: { stroke: colour("--grid"), width: 1 }, ticks: { stroke: colour("--grid"), size: 4 }, font: "11px system-ui, sans-serif" };
    const shown = (plot, value, at, index) => (index === null || value === null || value === undefined ? "–" : `${schedules[index].shown} (${schedules[index].name})`);
    const dots = (label, name, size) => ({ label, stroke: colour(name), paths: () => null, points: { show: true, size, fill: colour(name) }, value: shown });
    return {
      width: Math.max(host.clientWidth - 20, 200),
      height: HEIGHT,
      cursor: { drag: { x: false, y: false } },
      scales: {
        x: { time: false, distr: 3, range: (_, low, high) => [low / 1.6, high * (narrow() ? 4 : 2.2)] },
        y: { range: (_, low, high) => [0, high > 0 ? high * 1.12 : 1] },
      },
      axes: [
        { ...axis, label: "p95 of freshness", labelFont: "12px system-ui, sans-serif", labelSize: 22, splits: (plot) => SPLITS.filter((each, at) => each >= plot.scales.x.min && each <= plot.scales.x.max && (!narrow() || at % 2)), values: (_, values) => values.map(seconds), filter: (_, values) => values },
        { ...axis, label: points.unit, labelFont: "12px system-ui, sans-serif", labelSize: 22, size: 62 },
      ],
      series: [
        { label: "p95 of freshness", value: (_, value) => seconds(value) },
        { label: "Frontier", stroke: colour("--chart-1"), width: 2, spanGaps: true, points: { show: true, size: 8, fill: colour("--chart-1") }, value: shown },
        dots("Beaten by others", "--chart-7", 7),
        dots("Recommended", "--chart-2", 13),
      ],
      hooks: { draw: [names] },
    };
  };
  let plot = null;
  const draw = () => { plot?.destroy(); plot = new uPlot(options(), data, host); };
  draw();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  let width = host.clientWidth;
  new ResizeObserver(() => {
    if (host.clientWidth === width) return;
    width = host.clientWidth;
    plot.setSize({ width: Math.max(width - 20, 200), height: HEIGHT });
  }).observe(host);
})();
