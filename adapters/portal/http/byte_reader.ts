/** Reads a connection in lines and blocks. Null: the connection ended first. */
export interface ByteReader {
  /** Up to and without the next CR LF; null also where none comes within `limit` bytes. */
  line(limit: number): Promise<string | null>;
  /** Exactly `length` bytes. */
  block(length: number): Promise<Uint8Array | null>;
  /** Reads `length` bytes and forgets them; false where the connection ended first. */
  skip(length: number): Promise<boolean>;
}

const CHUNK = 64 * 1024;
const LINE_FEED = 10;

/** A reader on `source`, which gives null at its end as `Deno.Conn.read` does. */
export function createByteReader(
  source: { read(into: Uint8Array): Promise<number | null> },
): ByteReader {
  let buffer = new Uint8Array(0);
  const fill = async (): Promise<boolean> => {
    const chunk = new Uint8Array(CHUNK);
    const count = await source.read(chunk);
    if (count === null) return false;
    const joined = new Uint8Array(buffer.length + count);
    joined.set(buffer);
    joined.set(chunk.subarray(0, count), buffer.length);
    buffer = joined;
    return true;
  };
  const take = (length: number): Uint8Array => {
    const taken = buffer.subarray(0, length);
    buffer = buffer.slice(length);
    return taken;
  };
  return {
    async line(limit) {
      for (;;) {
        const end = buffer.indexOf(LINE_FEED);
        if (end > limit || (end < 0 && buffer.length > limit)) return null;
        if (end >= 0) {
          const text = new TextDecoder("latin1").decode(take(end + 1));
          return text.replace(/\r?\n$/, "");
        }
        if (!await fill()) return null;
      }
    },
    async block(length) {
      const block = new Uint8Array(length);
      let filled = 0;
      while (filled < length) {
        if (buffer.length === 0 && !await fill()) return null;
        const part = take(Math.min(buffer.length, length - filled));
        block.set(part, filled);
        filled += part.length;
      }
      return block;
    },
    async skip(length) {
      let left = length;
      while (left > 0) {
        if (buffer.length === 0 && !await fill()) return false;
        left -= take(Math.min(buffer.length, left)).length;
      }
      return true;
    },
  };
}
