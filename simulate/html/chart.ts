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

/** Both sides of the drawing: it is stretched to the room that it has, and its lines are not. */
const SIDE = 1_000;

/** The chart as inline SVG with its legend, and the data for the box at the cursor beside it. */
export function drawChart(chart: Chart): Html {
  const { id, title, caption, series, axes } = chart;
  const told = chart.places.map((_place, index) =>
    series.map(({ values }) => tellAt(chart, values[index]))
  );
  const data = {
    x: chart.places.map((place) => across(chart, place) / SIDE),
    at: chart.placeNames,
    names: series.map(({ name }) => name),
    told,
  };
  const drawn = chart.kind === "lines" ? lines : chart.kind === "area" ? areas : bars;
  return markup`<figure class="chart" id="${id}">
<figcaption><h3>${title}</h3><p>${caption}</p></figcaption>
<p class="axis">${axes.y}</p>
<div class="plot">
<svg viewBox="0 0 ${SIDE} ${SIDE}" preserveAspectRatio="none" role="img" aria-label="${title}">
${gridLines(chart)}${drawn(chart)}
</svg>
${ticks(chart)}
<div class="cursor" hidden></div>
<div class="box" hidden></div>
</div>
<p class="axis x">${axes.x}</p>
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

function across({ x }: Chart, place: number): number {
  return round(x.place(place) * SIDE);
}

function down({ y }: Chart, value: number): number {
  return round((1 - Math.min(Math.max(y.place(value), 0), 1)) * SIDE);
}

/** Tenths of a thousandth are finer than any screen. */
function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function gridLines(chart: Chart): Part {
  return chart.y.ticks.map((tick) =>
    markup`<path class="grid" d="M0 ${down(chart, tick)}H${SIDE}"></path>
`
  );
}

/** The labels of both axes, beside the drawing, so that they keep their size. */
function ticks(chart: Chart): Part {
  const { x, y, xTick, yTick } = chart;
  const rows = y.ticks.map((tick) =>
    markup`<span class="tick y" style="--at:${down(chart, tick) / SIDE}">${yTick(tick)}</span>`
  );
  const columns = x.ticks.map((tick, index) => {
    const at = across(chart, tick) / SIDE;
    const edge = at > 0.95 ? " last" : "";
    const second = index % 2 === 1 ? " second" : "";
    return markup`<span class="tick x${edge}${second}" style="--at:${at}">${xTick(tick)}</span>`;
  });
  return [rows, "\n", columns];
}

function lines(chart: Chart): Part {
  const { series, places } = chart;
  // The first name is the one that matters most: it is drawn last, over the others.
  return series.toReversed().map(({ colour, values, dashed }) => {
    let path = "";
    let isOpen = false;
    for (const [index, place] of places.entries()) {
      const value = values[index] ?? null;
      if (value !== null) {
        const point = `${across(chart, place)} ${down(chart, value)}`;
        // A lone point is seen as a dot: the line's ends are round.
        path += isOpen ? `L${point}` : `M${point}h.1`;
      }
      isOpen = value !== null;
    }
    return markup`<path class="line s${colour}${
      dashed === true ? " dashed" : ""
    }" d="${path}"></path>
`;
  });
}

/** What each series stands on, and where it reaches, by place. */
function stacked({ series, places }: Chart) {
  const height = places.map(() => 0);
  return series.map(({ colour, values }) => {
    const low = height.slice();
    for (const index of places.keys()) height[index] = (height[index] ?? 0) + (values[index] ?? 0);
    return { colour, low, high: height.slice() };
  });
}

function areas(chart: Chart): Part {
  return stacked(chart).map(({ colour, low, high }) => {
    const point = (values: readonly number[]) => (place: number, index: number) =>
      `${across(chart, place)} ${down(chart, values[index] ?? 0)}`;
    const there = chart.places.map(point(high));
    const back = chart.places.map(point(low)).reverse();
    return markup`<path class="f${colour}" d="M${[...there, ...back].join("L")}Z"></path>
`;
  });
}

const WIDEST_BAR = 30;

function bars(chart: Chart): Part {
  const { places } = chart;
  const [first = 0, second = Infinity] = places;
  const width = Math.min(WIDEST_BAR, round(chart.x.place(second - first) * SIDE * 0.8));
  return stacked(chart).map(({ colour, low, high }) => {
    const path = places.map((place, index) => {
      const [from, to] = [down(chart, low[index] ?? 0), down(chart, high[index] ?? 0)];
      if (from === to) return "";
      return `M${round(across(chart, place) - width / 2)} ${from}V${to}h${width}V${from}Z`;
    });
    return markup`<path class="f${colour}" d="${path.join("")}"></path>
`;
  });
}
