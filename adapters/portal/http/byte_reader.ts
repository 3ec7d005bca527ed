import { Buffer } from "node:buffer";

/** Reads a connection in lines and blocks. Null: the connection ended first. */
export interface ByteReader {
  /**
   * The lines up to the next empty one, which is passed over; null also where they do not fit `limit`
   * bytes. Lines end with CR LF, or LF alone.
   */
  head(limit: number): Promise<readonly string[] | null>;
  /** Up to and without the next line's end; null also where none comes within `limit` bytes. */
  line(limit: number): Promise<string | null>;
  /** Exactly `length` bytes, which are the caller's own. */
  block(length: number): Promise<Uint8Array | null>;
  /** Reads `length` bytes and forgets them; false where the connection ended first. */
  skip(length: number): Promise<boolean>;
}

/** Most requests fit; a connection holds no more than that while it waits. */
const SMALL = 4 * 1024;
/** For lines and bodies that are longer, as long as they are read. */
const LARGE = 64 * 1024;
const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;

/** A reader on `source`, which gives null at its end as `Deno.Conn.read` does. */
export function createByteReader(
  source: { read(into: Uint8Array): Promise<number | null> },
): ByteReader {
  // One for the whole connection: a new one for every read is most of what a server throws away.
  const small = new Uint8Array(SMALL);
  let buffer = small;
  /** What was read and not yet taken lies between these. */
  let at = 0;
  let end = 0;

  /** Reads more behind what is there. */
  async function fill(): Promise<boolean> {
    if (at === end) {
      buffer = small;
      at = end = 0;
    } else if (end === buffer.length) {
      makeRoom();
    }
    const count = await source.read(buffer.subarray(end));
    if (count === null) return false;
    end += count;
    return true;
  }

  function makeRoom(): void {
    const left = buffer.subarray(at, end);
    // Moved to the front where that makes room, else into a larger one.
    if (left.length > buffer.length / 2) buffer = new Uint8Array(Math.max(LARGE, 2 * left.length));
    buffer.set(left);
    end = left.length;
    at = 0;
  }

  /** Where the empty line ends that ends the head, or -1 where it is not there yet. */
  function endOfHead(): number {
    for (let start = at;;) {
      const feed = buffer.indexOf(LINE_FEED, start);
      if (feed < 0 || feed >= end) return -1;
      const length = feed - start;
      if (length === 0 || (length === 1 && buffer[start] === CARRIAGE_RETURN)) return feed + 1;
      start = feed + 1;
    }
  }

  function take(length: number): Uint8Array<ArrayBuffer> {
    at += length;
    return buffer.subarray(at - length, at);
  }

  return {
    async head(limit) {
      for (;;) {
        const to = endOfHead();
        if ((to < 0 ? end : to) - at > limit) return null;
        if (to >= 0) {
          const lines = latin1(take(to - at)).split("\n").map(withoutReturn);
          // Behind the last line feed stands nothing, and before it the empty line.
          return lines.slice(0, -2);
        }
        if (!await fill()) return null;
      }
    },
    async line(limit) {
      for (;;) {
        const found = buffer.indexOf(LINE_FEED, at);
        const isThere = found >= 0 && found < end;
        if ((isThere ? found : end) - at > limit) return null;
        if (isThere) {
          const line = latin1(take(found - at));
          at += 1;
          return withoutReturn(line);
        }
        if (!await fill()) return null;
      }
    },
    async block(length) {
      const block = new Uint8Array(length);
      const there = take(Math.min(end - at, length));
      block.set(there);
      for (let filled = there.length; filled < length;) {
        const count = await source.read(block.subarray(filled));
        if (count === null) return null;
        filled += count;
      }
      return block;
    },
    async skip(length) {
      let left = length;
      while (left > 0) {
        if (at === end && !await fill()) return false;
        left -= take(Math.min(end - at, left)).length;
      }
      return true;
    },
  };
}

function withoutReturn(line: string): string {
  return line.endsWith("\r") ? line.slice(0, -1) : line;
}

function latin1({ buffer, byteOffset, length }: Uint8Array<ArrayBuffer>): string {
  return Buffer.from(buffer, byteOffset, length).toString("latin1");
}
