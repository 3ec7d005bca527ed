/** A whole number with a comma between thousands. */
export function count(value: number): string {
  return String(Math.round(value)).replace(/\B(?=([0-9]{3})+$)/g, ",");
}

/** A number with about three digits: `1,234`, `56.7`, `8.90`, `0.012`, and no more than a whole one has. */
export function number(value: number): string {
  if (Number.isInteger(value)) return count(value);
  const size = Math.abs(value);
  if (size >= 100) return count(value);
  return size >= 10 ? value.toFixed(1) : size >= 1 ? value.toFixed(2) : value.toPrecision(2);
}

/** Milliseconds with their unit: `0.45 ms`, `123 ms`, `4.56 s`. */
export function milliseconds(value: number): string {
  if (value < 1_000) return `${number(value)} ms`;
  return value < 120_000 ? `${number(value / 1_000)} s` : duration(value);
}

/** A length of time in words: `45 s`, `10 min`, `2 h 5 min`, `1 d 3 h`. */
export function duration(ms: number): string {
  const seconds = Math.round(ms / 1_000);
  if (seconds < 120) return `${number(ms / 1_000)} s`;
  const parts = [
    [Math.floor(seconds / 86_400), "d"],
    [Math.floor(seconds / 3_600) % 24, "h"],
    [Math.floor(seconds / 60) % 60, "min"],
    [seconds % 60, "s"],
  ] as const;
  const first = parts.findIndex(([amount]) => amount > 0);
  return parts.slice(first, first + 2).filter(([amount]) => amount > 0)
    .map(([amount, unit]) => `${amount} ${unit}`).join(" ");
}

/** A share of 1 as percent, fine enough to tell a little from nothing: `0.0123 %`, `12.3 %`. */
export function percent(share: number): string {
  const value = share * 100;
  if (value === 0 || value === 100) return `${value} %`;
  // Nearly all is not all.
  if (value > 99.9) return `${Math.floor(value * 10_000) / 10_000} %`;
  return `${value >= 10 ? value.toFixed(1) : value.toPrecision(2)} %`;
}

/** Bytes: `123 MiB`. */
export function bytes(value: number): string {
  return value < 2 ** 30 ? `${count(value / 2 ** 20)} MiB` : `${number(value / 2 ** 30)} GiB`;
}

/** A moment since the run began: `0:30`, `12:00`, `3:04:00`. */
export function elapsed(ms: number): string {
  const seconds = Math.round(ms / 1_000);
  const two = (value: number) => String(value).padStart(2, "0");
  const [hours, minutes] = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60];
  const rest = two(seconds % 60);
  return hours === 0 ? `${minutes}:${rest}` : `${hours}:${two(minutes)}:${rest}`;
}
