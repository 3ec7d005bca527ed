import type { Random } from "../../core/ports/random.ts";

/** Bytes that one call of the system's source gives at most. */
const MOST_AT_ONCE = 65_536;

/** The operating system's random source. */
export function createNodeRandom(): Random {
  return {
    bytes(length) {
      const bytes = new Uint8Array(length);
      for (let offset = 0; offset < length; offset += MOST_AT_ONCE) {
        crypto.getRandomValues(bytes.subarray(offset, offset + MOST_AT_ONCE));
      }
      return bytes;
    },
    fraction() {
      const [high = 0, low = 0] = crypto.getRandomValues(new Uint32Array(2));
      // 26 and 27 bits: all that a number in [0, 1) holds.
      return ((high >>> 6) * 2 ** 27 + (low >>> 5)) / 2 ** 53;
    },
  };
}
