/** Reads a connection in lines and blocks. Null: the connection ended first. */
export interface ByteReader {
  /** Up to and without the next CR LF; null also where none comes within `limit` bytes. */
  line(limit: number): Promise<string | null>;
  /** Exactly `length` bytes. */
  block(length: number): Promise<Uint8Array | null>;
  /** Reads `length` bytes and forgets them; false where the connection ended first. */
  skip(length: number): Promise<boolean>;
}

/** Most requests fit into one chunk; a connection that waits holds no more than that. */
const CHUNK = 4 * 1024;
/** For bodies that are longer. */
const LARGE_CHUNK = 64 * 1024;
const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;

/** A reader on `source`, which gives null at its end as `Deno.Conn.read` does. */
export function createByteReader(
  source: { read(into: Uint8Array): Promise<number | null> },
): ByteReader {
  let buffer = new Uint8Array(0);
  let at = 0;

  /** Reads more behind what is there; `wanted` is how much is still missing. */
  async function fill(wanted: number): Promise<boolean> {
    const chunk = new Uint8Array(wanted > CHUNK ? LARGE_CHUNK : CHUNK);
    const count = await source.read(chunk);
    if (count === null) return false;
    const read = chunk.subarray(0, count);
    if (at === buffer.length) {
      buffer = read;
    } else {
      const joined = new Uint8Array(buffer.length - at + count);
      joined.set(buffer.subarray(at));
      joined.set(read, buffer.length - at);
      buffer = joined;
    }
    at = 0;
    return true;
  }

  function take(length: number): Uint8Array {
    at += length;
    return buffer.subarray(at - length, at);
  }

  return {
    async line(limit) {
      for (;;) {
        const end = buffer.indexOf(LINE_FEED, at);
        const length = (end < 0 ? buffer.length : end) - at;
        if (length > limit) return null;
        if (end >= 0) {
          const ended = buffer[end - 1] === CARRIAGE_RETURN && length > 0 ? length - 1 : length;
          const text = latin1(buffer, at, at + ended);
          at = end + 1;
          return text;
        }
        if (!await fill(0)) return null;
      }
    },
    async block(length) {
      const block = new Uint8Array(length);
      let filled = 0;
      while (filled < length) {
        if (at === buffer.length && !await fill(length - filled)) return null;
        const part = take(Math.min(buffer.length - at, length - filled));
        block.set(part, filled);
        filled += part.length;
      }
      return block;
    },
    async skip(length) {
      let left = length;
      while (left > 0) {
        if (at === buffer.length && !await fill(left)) return false;
        left -= take(Math.min(buffer.length - at, left)).length;
      }
      return true;
    },
  };
}

function latin1(bytes: Uint8Array, from: number, to: number): string {
  let text = "";
  for (let at = from; at < to; at++) text += String.fromCharCode(bytes[at] ?? 0);
  return text;
}
