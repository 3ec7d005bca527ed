/** Colours 0 to 9, told apart by people who see colours differently; for light and for dark. */
const LIGHT = [
  "#0072b2",
  "#56b4e9",
  "#d97a00",
  "#c8321a",
  "#e0a800",
  "#a8468c",
  "#00916b",
  "#6b7280",
  "#8b5e34",
  "#b8bec9",
] as const;
const DARK = [
  "#4aa8e0",
  "#8fd0f5",
  "#f5a445",
  "#f0705a",
  "#f0cf5b",
  "#d88cc4",
  "#35c79c",
  "#9aa3b2",
  "#c79a6b",
  "#5b6472",
] as const;

/** The page's style. Nothing in it is loaded from anywhere. */
export const STYLE = `
:root { color-scheme: light dark; --ink: #1b2430; --soft: #5a6675; --paper: #ffffff; --panel: #f6f7f9;
  --line: #dfe3e8; --good: #00704f; --bad: #b3261e; --good-paper: #e6f5ef; --bad-paper: #fdecea;
  ${variables(LIGHT)} }
@media (prefers-color-scheme: dark) { :root { --ink: #e8ebf0; --soft: #a3adba; --paper: #14181e;
  --panel: #1c222a; --line: #333b46; --good: #4fd6a8; --bad: #ff8f82; --good-paper: #12291f;
  --bad-paper: #331a18; ${variables(DARK)} } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; }
main { max-width: 62rem; margin: 0 auto; padding: 2rem 1.25rem 4rem; }
h1 { font-size: 2rem; line-height: 1.2; margin: 0 0 .75rem; }
h2 { font-size: 1.3rem; margin: 2.5rem 0 .25rem; }
h3 { font-size: 1.05rem; margin: 0; }
p { margin: 0 0 .75rem; }
.kind { color: var(--soft); margin: 0; }
.lead { max-width: 46rem; }
.lead strong { overflow-wrap: anywhere; }
section > p, figcaption p { color: var(--soft); max-width: 46rem; }
.verdict { border: 1px solid var(--line); border-left-width: 6px; background: var(--panel);
  padding: .75rem 1rem; border-radius: 6px; margin: 1.25rem 0; }
.verdict.good { border-color: var(--good); background: var(--good-paper); }
.verdict.bad { border-color: var(--bad); background: var(--bad-paper); }
.good { color: var(--good); } .bad { color: var(--bad); }
.verdict.good, .verdict.bad { color: var(--ink); }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.2rem, 1fr)); gap: .75rem; }
.tile { background: var(--panel); border: 1px solid var(--line); border-radius: 8px;
  padding: .75rem .9rem; }
.tile p { margin: 0; color: var(--soft); font-size: .85rem; max-width: none; }
.tile b { font-size: 1.5rem; line-height: 1.3; color: var(--ink); font-variant-numeric: tabular-nums; }
.tile.good b { color: var(--good); }
.chart { margin: 2.5rem 0 0; }
.plot { position: relative; height: 15rem; margin: .4rem 0 0 4rem; }
svg { display: block; width: 100%; height: 100%; overflow: visible; }
svg path { vector-effect: non-scaling-stroke; }
.grid { stroke: var(--line); stroke-width: 1; }
.line { fill: none; stroke-width: 2; stroke-linecap: round; stroke-linejoin: round; }
.line.dashed { stroke-dasharray: 2 5; }
.tick { position: absolute; color: var(--soft); font-size: .78rem; line-height: 1; white-space: nowrap; }
.tick.y { right: calc(100% + .5rem); top: calc(var(--at) * 100%); transform: translateY(-50%); }
.tick.x { left: calc(var(--at) * 100%); top: calc(100% + .6rem); transform: translateX(-50%); }
.tick.x.last { transform: translateX(-100%); }
.cursor { position: absolute; top: 0; bottom: 0; width: 1px; background: var(--ink); opacity: .6;
  pointer-events: none; }
.axis { color: var(--soft); font-size: .78rem; margin: .5rem 0 0; }
.axis.x { margin: 1.5rem 0 .4rem; text-align: right; }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: .2rem 1.1rem; margin: 0; padding: 0;
  font-size: .9rem; }
.swatch { display: inline-block; width: .8rem; height: .8rem; border-radius: 3px; margin-right: .4rem;
  vertical-align: -.05rem; }
.swatch.dashed { height: 0; background: none !important; border-top: 3px dotted; border-radius: 0;
  vertical-align: .2rem; }
.box { position: absolute; top: 0; pointer-events: none; background: var(--paper); color: var(--ink);
  border: 1px solid var(--line); border-radius: 6px; box-shadow: 0 2px 10px #0003; padding: .45rem .6rem;
  font-size: .85rem; line-height: 1.4; white-space: nowrap; z-index: 1; }
.box table { width: auto; } .box td { padding: 0 0 0 .8rem; border: 0; }
.box td:first-child { padding: 0; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .93rem; font-variant-numeric: tabular-nums; }
th { text-align: left; color: var(--soft); font-weight: 600; font-size: .85rem; }
th, td { padding: .4rem .75rem .4rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
th:last-child, td:last-child { padding-right: 0; }
.figure { text-align: right; white-space: nowrap; }
th.figure { white-space: normal; }
.figure + .text { padding-left: 1rem; }
.name, td code { white-space: nowrap; }
td.text { overflow-wrap: anywhere; min-width: 5.5rem; }
code { font: .92em ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; }
pre { font: .85rem/1.45 ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace;
  margin: .5rem 0; white-space: pre-wrap; overflow-wrap: anywhere; }
summary { cursor: pointer; margin-top: .75rem; }
footer { margin-top: 3rem; color: var(--soft); font-size: .85rem; }
@media (max-width: 40rem) { .tick.second { display: none; } h1 { font-size: 1.6rem; }
  main { padding: 1.25rem 1rem 3rem; } .plot { height: 12rem; margin-left: 3.6rem; } }
@media print { body { font-size: 11pt; } .chart { break-inside: avoid; } }
${
  LIGHT.map((_colour, index) =>
    `.s${index} { stroke: var(--c${index}); } .f${index} { fill: var(--c${index}); } ` +
    `.c${index} { background: var(--c${index}); border-color: var(--c${index}) !important; }`
  ).join("\n")
}
`;

function variables(colours: readonly string[]): string {
  return colours.map((colour, index) => `--c${index}: ${colour};`).join(" ");
}
