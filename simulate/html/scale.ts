/** An axis: where a value stands, 0 at its start and 1 at its end, and the values with a line. */
export interface Scale {
  readonly ticks: readonly number[];
  place(value: number): number;
}

/** From 0 to at least `largest`, with about four lines at round values. */
export function linearScale(largest: number): Scale {
  const step = roundStep((largest > 0 ? largest : 1) / 4);
  const count = Math.max(1, Math.ceil((largest > 0 ? largest : 1) / step - 1e-9));
  return {
    ticks: Array.from({ length: count + 1 }, (_tick, index) => tidy(index * step)),
    place: (value) => value / (step * count),
  };
}

/** From below `least` to above `largest`, both above 0, with lines at powers of ten and between. */
export function logScale(least: number, largest: number): Scale {
  const from = Math.floor(Math.log10(least));
  const to = Math.max(from + 1, Math.ceil(Math.log10(largest)));
  const between = to - from <= 2 ? [1, 2, 5] : [1];
  const powers = Array.from({ length: to - from + 1 }, (_power, index) => 10 ** (from + index));
  const ticks = powers.flatMap((power) => between.map((factor) => tidy(factor * power)));
  return {
    ticks: ticks.filter((tick) => tick <= 10 ** to),
    place: (value) => (Math.log10(Math.max(value, 10 ** from)) - from) / (to - from),
  };
}

/** Values far apart are told apart only by their logarithms. */
export function scaleFor(least: number, largest: number): Scale {
  return least > 0 && largest / least > 60 ? logScale(least, largest) : linearScale(largest);
}

const TIME_STEPS_S: readonly number[] = [
  ...[1, 2, 5, 10, 15, 30],
  ...[60, 120, 300, 600, 900, 1_800],
  ...[3_600, 7_200, 10_800, 21_600, 43_200, 86_400, 172_800, 604_800],
];

/** Time from 0 to `endMs`, milliseconds, with at most seven lines at round times. */
export function timeScale(endMs: number): Scale {
  const end = Math.max(endMs, 1_000);
  const seconds = TIME_STEPS_S.find((step) => end / (step * 1_000) <= 7) ?? end / 7_000;
  const step = seconds * 1_000;
  return {
    ticks: Array.from({ length: Math.floor(end / step) + 1 }, (_tick, index) => index * step),
    place: (value) => value / end,
  };
}

function roundStep(rough: number): number {
  const power = 10 ** Math.floor(Math.log10(rough));
  const factor = [1, 2, 2.5, 5, 10].find((each) => each * power >= rough * (1 - 1e-9)) ?? 10;
  return factor * power;
}

/** Without the dust of binary fractions. */
function tidy(value: number): number {
  return Number(value.toPrecision(12));
}
