import { Html, jsonForPage, markup, type Part } from "./html.ts";
import type { Scale } from "./scale.ts";

/** What a chart draws under one name. */
export interface Series {
  readonly name: string;
  /** Number of its colour, 0 to 9; the style gives each one for light and for dark. */
  readonly colour: number;
  /** A value a place; null: nothing there. */
  readonly values: readonly (number | null)[];
  readonly dashed?: boolean;
}

/** A chart to draw. */
export interface Chart {
  /** Unique on the page, for links and tests. */
  readonly id: string;
  readonly title: string;
  /** What it shows and how to read it, one or two sentences. */
  readonly caption: string;
  /** `area` and `bars` stand on each other. */
  readonly kind: "lines" | "area" | "bars";
  readonly series: readonly Series[];
  /** Where each value stands on the horizontal axis, and how that is told. */
  readonly places: readonly number[];
  readonly placeNames: readonly string[];
  readonly x: Scale;
  readonly y: Scale;
  readonly xTick: (tick: number) => string;
  readonly yTick: (tick: number) => string;
  /** What the horizontal and the vertical axis are. */
  readonly axes: { readonly x: string; readonly y: string };
  /** A value in the box at the cursor. */
  readonly tell: (value: number) => string;
}

const WIDTH = 800;
const HEIGHT = 280;
/** Where values are drawn; lines and labels of the vertical axis begin further left, at 0. */
const PLOT = { left: 72, right: 796, top: 22, bottom: 250 } as const;

/** The chart as inline SVG with its legend, and the data for the box at the cursor beside it. */
export function drawChart(chart: Chart): Html {
  const { id, title, caption, series, axes } = chart;
  const told = chart.places.map((_place, index) =>
    series.map(({ values }) => tellAt(chart, values[index]))
  );
  const data = {
    x: chart.places.map((place) => round(across(chart.x.place(place)))),
    at: chart.placeNames,
    names: series.map(({ name }) => name),
    told,
  };
  const drawn = chart.kind === "lines" ? lines : chart.kind === "area" ? areas : bars;
  const { top, bottom } = PLOT;
  return markup`<figure class="chart" id="${id}">
<figcaption><h3>${title}</h3><p>${caption}</p></figcaption>
<div class="plot">
<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${title}">
${gridLines(chart)}${drawn(chart)}${ticks(chart)}
<line class="cursor" x1="0" x2="0" y1="${top}" y2="${bottom}" visibility="hidden"></line>
</svg>
<div class="box" hidden></div>
</div>
<p class="axes"><span>${axes.y}</span><span>${axes.x}</span></p>
<ul class="legend">${series.map(legendEntry)}</ul>
<script type="application/json">${jsonForPage(data)}</script>
</figure>
`;
}

function legendEntry({ name, colour, dashed }: Series): Html {
  return markup`<li><i class="swatch c${colour}${
    dashed === true ? " dashed" : ""
  }"></i>${name}</li>`;
}

function tellAt(chart: Chart, value: number | null | undefined): string | null {
  return value === null || value === undefined ? null : chart.tell(value);
}

function across(share: number): number {
  return PLOT.left + share * (PLOT.right - PLOT.left);
}

function up(share: number): number {
  return PLOT.bottom - Math.min(Math.max(share, 0), 1) * (PLOT.bottom - PLOT.top);
}

/** Tenths of a unit are finer than any screen. */
function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function gridLines({ y }: Chart): Part {
  return y.ticks.map((tick) => {
    const at = round(up(y.place(tick)));
    return markup`<line class="grid" x1="0" x2="${PLOT.right}" y1="${at}" y2="${at}"></line>
`;
  });
}

/** Above what is drawn: the labels of the vertical axis stand in the plot, so that none is cut off. */
function ticks({ x, y, xTick, yTick }: Chart): Part {
  const rows = y.ticks.map((tick) => {
    const at = round(up(y.place(tick))) - 4;
    return markup`<text class="tick" x="0" y="${at}">${yTick(tick)}</text>`;
  });
  const columns = x.ticks.map((tick, index) => {
    const share = x.place(tick);
    const anchor = share > 0.96 ? "end" : "middle";
    const second = index % 2 === 1 ? " second" : "";
    const [at, below] = [round(across(share)), PLOT.bottom + 20];
    return markup`<text class="tick${second}" x="${at}" y="${below}" text-anchor="${anchor}">${
      xTick(tick)
    }</text>
`;
  });
  return [rows, columns];
}

function lines({ series, places, x, y }: Chart): Part {
  // The first name is the one that matters most: it is drawn last, over the others.
  return series.toReversed().map(({ colour, values, dashed }) => {
    let path = "";
    let isOpen = false;
    for (const [index, place] of places.entries()) {
      const value = values[index] ?? null;
      if (value !== null) {
        const point = `${round(across(x.place(place)))} ${round(up(y.place(value)))}`;
        // A lone point is seen as a dot: the line's ends are round.
        path += isOpen ? `L${point}` : `M${point}h.1`;
      }
      isOpen = value !== null;
    }
    return markup`<path class="line s${colour}${
      dashed === true ? " dashed" : ""
    }" d="${path}"></path>`;
  });
}

/** What each series stands on, and where it reaches, by place. */
function stacked(series: readonly Series[], places: readonly number[]) {
  const height = places.map(() => 0);
  return series.map(({ colour, values }) => {
    const low = height.slice();
    for (const index of places.keys()) height[index] = (height[index] ?? 0) + (values[index] ?? 0);
    return { colour, low, high: height.slice() };
  });
}

function areas({ series, places, x, y }: Chart): Part {
  return stacked(series, places).map(({ colour, low, high }) => {
    const point = (values: readonly number[]) => (place: number, index: number) =>
      `${round(across(x.place(place)))} ${round(up(y.place(values[index] ?? 0)))}`;
    const there = places.map(point(high));
    const back = places.map(point(low)).reverse();
    const path = `M${[...there, ...back].join("L")}Z`;
    return markup`<path class="area f${colour}" d="${path}"></path>`;
  });
}

function bars({ series, places, x, y }: Chart): Part {
  const gap = places.length > 1 ? Math.abs((places[1] ?? 0) - (places[0] ?? 0)) : Infinity;
  const width = Math.min(24, Math.max(1.5, (across(x.place(gap)) - across(0)) * 0.8));
  return stacked(series, places).map(({ colour, low, high }) => {
    const path = places.map((place, index) => {
      const [from, to] = [up(y.place(low[index] ?? 0)), up(y.place(high[index] ?? 0))];
      if (from - to < 0.05) return "";
      const left = round(across(x.place(place)) - width / 2);
      return `M${left} ${round(from)}V${round(to)}h${round(width)}V${round(from)}Z`;
    });
    return markup`<path class="area f${colour}" d="${path.join("")}"></path>`;
  });
}
