// The chart: for each client, seconds relative to the ideal and the share of throttled calls, with
// a dot per server.

const WIDTH = 960;
const TOP = 118;
const ROW = 40;

/** A figure on a horizontal axis. */
const PANELS = [
  {
    head: "seconds, relative to the ideal: less is better", left: 150, right: 520, is: ({ times }) => times,
    at: (is) => Math.log(Math.min(Math.max(is, 0.5), 16) / 0.5) / Math.log(32),
    ticks: [[0.5, "≤ 0.5"], [1, "1"], [2, "2"], [4, "4"], [8, "8"], [16, "≥ 16"]],
  },
  {
    head: "calls throttled: less is better", left: 590, right: 915, is: ({ throttled }) => throttled,
    at: (is) => is, ticks: [[0, "0 %"], [0.25, "25 %"], [0.5, "50 %"], [0.75, "75 %"], [1, "100 %"]],
  },
];

const STYLE = `
svg { --ink: #1f2328; --soft: #59636e; --line: #d8dee4; --page: #ffffff; --lane: #e3f4ec; --own: #0a7f5a; --peer: #a8611c; }
@media (prefers-color-scheme: dark) {
svg { --ink: #e6edf3; --soft: #9198a1; --line: #30363d; --page: #0d1117; --lane: #12291f; --own: #3fd69b; --peer: #dd9a55; }
}
text { font: 13px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; fill: var(--soft); }
.title { font-size: 19px; font-weight: 600; fill: var(--ink); } .head { font-weight: 600; fill: var(--ink); }
.page { fill: var(--page); } .lane { fill: var(--lane); } .grid { stroke: var(--line); }
.own { fill: var(--own); stroke: var(--own); } .peer { fill: var(--peer); stroke: var(--peer); }
text.own { font-weight: 700; font-size: 15px; } text { stroke: none !important; }
.one { fill-opacity: .4; stroke-opacity: 0; } .lost { fill-opacity: 0; stroke-width: 1.5; }
`;

export function picture(rows, rivals) {
  const clients = ["tidegate", ...rivals];
  const bottom = TOP + ROW * clients.length;
  const svg = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${bottom + 40}" width="${WIDTH}" height="${bottom + 40}" role="img" aria-label="Seconds relative to the ideal and calls throttled, for each client">`,
    `<style>${STYLE}</style>`,
    `<rect class="page" width="${WIDTH}" height="${bottom + 40}"/>`,
    `<text class="title" x="18" y="32">300 calls at once, with servers that limit like real providers</text>`,
    `<text x="18" y="54">A dot is a server, and a ring one where calls were lost. octokit supports only GitHub. bottleneck and p-throttle know the limit.</text>`,
    `<rect class="lane" x="8" y="${TOP}" width="${WIDTH - 16}" height="${ROW}" rx="4"/>`,
  ];
  for (const { head, left, right, at, ticks } of PANELS) {
    const x = (is) => (left + (right - left) * at(is)).toFixed(1);
    svg.push(`<text class="head" x="${(left + right) / 2}" y="84" text-anchor="middle">${head}</text>`);
    for (const [is, text] of ticks) {
      svg.push(`<line class="grid" x1="${x(is)}" y1="${TOP}" x2="${x(is)}" y2="${bottom}"/>`);
      for (const y of [TOP - 8, bottom + 20]) svg.push(`<text x="${x(is)}" y="${y}" text-anchor="middle">${text}</text>`);
    }
  }
  for (const [index, client] of clients.entries()) {
    const y = TOP + ROW * (index + 0.5);
    const kind = index ? "peer" : "own";
    svg.push(`<text class="${kind}" x="136" y="${y + 4.5}" text-anchor="end">${client}</text>`);
    const here = rows.filter((row) => row.client === client && row.load === "300 at once" && row.seconds);
    for (const { left, right, is, at } of PANELS) {
      for (const [order, row] of here.entries()) {
        // Rows are offset so that equal dots are visible.
        const shift = ((order % 5) - 2) * 5;
        const cx = (left + (right - left) * at(is(row))).toFixed(1);
        svg.push(`<circle class="${kind} ${row.lost ? "lost" : "one"}" cx="${cx}" cy="${y + shift}" r="4"><title>${row.server}</title></circle>`);
      }
    }
  }
  return [...svg, "</svg>", ""].join("\n");
}
