// What each chart shows: the lines of one flow, taken from its figures, and how a value reads.
"use strict";
window.penstockCharts = (() => {
  const missing = (value) => value === null || value === undefined;
  const scaled = (value, limits) => {
    const size = Math.abs(value);
    for (const [limit, unit] of limits) if (size >= limit) return `${+(value / limit).toFixed(1)}${unit}`;
    return `${+value.toFixed(size < 10 ? 1 : 0)}`;
  };
  const short = (value) => (missing(value) ? "–" : scaled(value, [[1e9, "B"], [1e6, "M"], [1e3, "k"]]));
  const bytes = (value) => (missing(value) ? "–" : `${scaled(value, [[1e9, " GB"], [1e6, " MB"], [1e3, " kB"]])}${Math.abs(value) < 1e3 ? " B" : ""}`);
  const rate = (value) => (missing(value) ? "–" : `${short(value)}/s`);
  const seconds = (value) => {
    if (missing(value)) return "–";
    if (value < 0) return `−${seconds(-value)}`;
    if (value < 1) return `${Math.round(value * 1000)} ms`;
    if (value < 120) return `${+value.toFixed(value < 10 ? 1 : 0)} s`;
    if (value < 7200) return `${+(value / 60).toFixed(1)} min`;
    return value < 172800 ? `${+(value / 3600).toFixed(1)} h` : `${+(value / 86400).toFixed(1)} d`;
  };
  const inSeconds = (list) => list.map((value) => (missing(value) ? null : value / 1000));
  const phases = [
    ["latestOffset_ms", "latest offset"], ["getBatch_ms", "get batch"], ["queryPlanning_ms", "query planning"], ["walCommit_ms", "WAL commit"],
    ["addBatch_ms", "add batch"], ["commitOffsets_ms", "commit offsets"],
  ];
  // Each line is the sum of the parts up to it, so that the areas lie on each other; the uppermost is the whole.
  const stacked = (figures) => {
    let sums = figures.batch_duration_ms.map(() => 0);
    const lines = phases.map(([name]) => {
      sums = sums.map((sum, at) => sum + (figures[name][at] ?? 0));
      return inSeconds(sums);
    });
    return [...lines, inSeconds(figures.batch_duration_ms.map((whole, at) => (missing(whole) ? null : Math.max(whole, sums[at]))))].reverse();
  };
  const unitOf = (figures) => ["backlog_rows", "backlog_files", "backlog_bytes"].find((name) => figures[name].some((value) => !missing(value))) ?? "backlog_bytes";

  return {
    short, rate, seconds,
    kinds: {
      rates: {
        format: rate,
        lines: [{ label: "Input rate", dash: [6, 4] }, { label: "Processed rate" }],
        data: (figures) => [figures.input_rows_per_second, figures.processed_rows_per_second],
      },
      durations: { format: seconds, lines: [{ label: "Batch duration", fill: true }], data: (figures) => [inSeconds(figures.batch_duration_ms)] },
      phases: {
        format: seconds, areas: true,
        lines: ["everything else", ...phases.map(([, words]) => words).reverse()].map((label) => ({ label, fill: true })),
        data: stacked,
        // the legend tells each part, not the sum that is drawn
        part: (values, at) => (missing(values[at]) ? null : values[at] - (values[at + 1] ?? 0)),
      },
      rows: {
        format: short,
        lines: [{ label: "Written" }, { label: "Dropped" }, { label: "Quarantined" }, { label: "Late" }],
        data: (figures) => [figures.output_rows, figures.dropped_rows, figures.quarantined_rows, figures.late_rows],
      },
      backlog: {
        format: (value, figures) => (figures && unitOf(figures) === "backlog_bytes" ? bytes(value) : short(value)),
        lines: [{ label: "Waiting", fill: true }],
        data: (figures) => [figures[unitOf(figures)]],
      },
      watermark: { format: seconds, lines: [{ label: "Behind", fill: true }], data: (figures) => [figures.watermark_behind_s] },
      state: { format: short, lines: [{ label: "Rows in state", fill: true }], data: (figures) => [figures.state_rows] },
      memory: { format: bytes, lines: [{ label: "Memory", fill: true }], data: (figures) => [figures.state_bytes] },
    },
  };
})();
