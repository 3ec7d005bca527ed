import { inflateSync } from "node:zlib";

/** A picture, three bytes a pixel: red, green, blue. */
export interface Picture {
  readonly width: number;
  readonly height: number;
  readonly pixels: Uint8Array;
}

/** Decodes a PNG as browsers write screenshots: 8 bits, RGB or RGBA, not interlaced. */
export function decodePng(bytes: Uint8Array): Picture {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const data: Uint8Array[] = [];
  let [width, height, channels] = [0, 0, 0];
  for (let at = 8; at < bytes.length;) {
    const length = view.getUint32(at);
    const type = new TextDecoder().decode(bytes.subarray(at + 4, at + 8));
    if (type === "IHDR") {
      width = view.getUint32(at + 8);
      height = view.getUint32(at + 12);
      channels = view.getUint8(at + 17) === 6 ? 4 : 3;
    }
    if (type === "IDAT") data.push(bytes.subarray(at + 8, at + 8 + length));
    at += length + 12;
  }
  const rows = unfiltered(inflateSync(joined(data)), width * channels, height, channels);
  const pixels = new Uint8Array(width * height * 3);
  for (let pixel = 0; pixel < width * height; pixel++) {
    pixels.set(rows.subarray(pixel * channels, pixel * channels + 3), pixel * 3);
  }
  return { width, height, pixels };
}

/** How many pixels are of about this colour, given as `#rrggbb`. */
export function pixelsOf({ pixels }: Picture, colour: string): number {
  const wanted = [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16));
  let count = 0;
  for (let at = 0; at < pixels.length; at += 3) {
    const isIt = wanted.every((value, index) => Math.abs((pixels[at + index] ?? 0) - value) < 8);
    if (isIt) count++;
  }
  return count;
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** Undoes the filters of the rows (PNG §9.2). */
function unfiltered(raw: Uint8Array, stride: number, height: number, step: number): Uint8Array {
  const rows = new Uint8Array(stride * height);
  for (let row = 0; row < height; row++) {
    const filter = raw[row * (stride + 1)] ?? 0;
    for (let at = 0; at < stride; at++) {
      const here = row * stride + at;
      const left = at < step ? 0 : rows[here - step] ?? 0;
      const up = row === 0 ? 0 : rows[here - stride] ?? 0;
      const corner = row === 0 || at < step ? 0 : rows[here - stride - step] ?? 0;
      rows[here] = (raw[row * (stride + 1) + 1 + at] ?? 0) + guess(filter, left, up, corner);
    }
  }
  return rows;
}

function guess(filter: number, left: number, up: number, corner: number): number {
  if (filter === 1) return left;
  if (filter === 2) return up;
  if (filter === 3) return (left + up) >> 1;
  if (filter !== 4) return 0;
  const [toLeft, toUp, toCorner] = [up - corner, left - corner, left + up - 2 * corner].map(
    Math.abs,
  );
  if ((toLeft ?? 0) <= (toUp ?? 0) && (toLeft ?? 0) <= (toCorner ?? 0)) return left;
  return (toUp ?? 0) <= (toCorner ?? 0) ? up : corner;
}
