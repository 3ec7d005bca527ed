import { gzipSync } from "fflate";
import type { JsonObject } from "../../json.ts";

/** One log of a bundle: the newest lines, oldest first, already redacted. */
export interface BundleLog {
  readonly name: string;
  readonly lines: readonly string[];
}

/** Largest bundle, bytes of its gzip: in base64, and sealed, it fits a request beside everything else. */
const MAX_BYTES = 90_000;

/**
 * Diagnostics as gzip of JSON, shortened from the oldest lines until they fit. Each log says how many of
 * its lines were left out.
 */
export function makeBundle(facts: JsonObject, logs: readonly BundleLog[]): Uint8Array {
  let share = 1;
  while (true) {
    const bytes = gzip(facts, logs, share);
    if (bytes.length <= MAX_BYTES || share < 0.001) return bytes;
    // A little more than in proportion: the newest lines may be the ones that compress badly.
    share *= Math.min(0.9, 0.95 * MAX_BYTES / bytes.length);
  }
}

function gzip(facts: JsonObject, logs: readonly BundleLog[], share: number): Uint8Array {
  const shown = logs.map(({ name, lines }) => {
    const kept = Math.floor(lines.length * share);
    return [name, { left_out: lines.length - kept, lines: lines.slice(lines.length - kept) }];
  });
  const json = JSON.stringify({ ...facts, logs: Object.fromEntries(shown) });
  // Without a time, so that the same diagnostics give the same bytes.
  return gzipSync(new TextEncoder().encode(json), { mtime: 0 });
}
