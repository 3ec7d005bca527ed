import { crc32 } from "node:zlib";
import type { Inspection, SnapshotLook } from "../core/ports/snapshot_file.ts";
import { scanSnapshot } from "./snapshot_scan.ts";
import {
  isZip,
  readZipEntry,
  ZIP_HEADER_BYTES,
  ZIP_TAIL_BYTES,
  zipContentAt,
  type ZipEntry,
} from "./zip_entry.ts";

/** A file whose bytes can be read anywhere. What it throws goes through. */
export interface ByteSource {
  readonly size: number;
  /** Up to `length` bytes at `position`, fewer at the end of the file; in `into` where it is given. */
  read(position: number, length: number, into?: Uint8Array): Promise<Uint8Array>;
}

/** Thrown where the caller's signal ends a look. */
export class Stopped extends Error {
  constructor() {
    super("ended early, because whoever asked for it no longer waits");
  }
}

const CHUNK = 256 * 1024;

/** Looks at a file; what a zip holds goes to `sink` too, where there is one. */
export async function inspectSnapshot(
  source: ByteSource,
  look: SnapshotLook,
  sink?: (bytes: Uint8Array) => Promise<void>,
): Promise<Inspection> {
  const { size } = source;
  if (size === 0) return { whole: false, why: "it is empty" };
  if (size > look.maxBytes) return tooLarge(size, look.maxBytes);
  const zipped = isZip(await source.read(0, 4));
  if (!zipped) {
    if (sink !== undefined) return { whole: false, why: "it is no zip file" };
    const scan = scanSnapshot(look.texts);
    const into = new Uint8Array(CHUNK);
    for await (const bytes of ranged(source, 0, size, look, into)) scan.feed(bytes);
    return scan.end();
  }
  const tail = await source.read(Math.max(0, size - ZIP_TAIL_BYTES), ZIP_TAIL_BYTES);
  const entry = readZipEntry(tail, size);
  if (!entry.ok) return { whole: false, why: entry.error };
  if (entry.value.size > look.maxBytes) return tooLarge(entry.value.size, look.maxBytes);
  const header = await source.read(entry.value.headerAt, ZIP_HEADER_BYTES);
  const contentAt = zipContentAt(header, entry.value);
  if (contentAt === null) return { whole: false, why: "the header of its content is damaged" };
  return await inspectContent(source, { entry: entry.value, contentAt }, look, sink);
}

async function inspectContent(
  source: ByteSource,
  { entry, contentAt }: { readonly entry: ZipEntry; readonly contentAt: number },
  look: SnapshotLook,
  sink?: (bytes: Uint8Array) => Promise<void>,
): Promise<Inspection> {
  const scan = scanSnapshot(look.texts);
  let crc = 0;
  const packed = ranged(source, contentAt, entry.packedSize, look);
  const content = entry.method === "store" ? packed : inflated(packed);
  try {
    for await (const bytes of content) {
      // Whatever the directory says: a small file must not become a full disk.
      if (scan.size() + bytes.length > entry.size) {
        return { whole: false, why: `its content is longer than the ${entry.size} bytes it says` };
      }
      crc = crc32(bytes, crc);
      scan.feed(bytes);
      await sink?.(bytes);
    }
  } catch (cause) {
    if (!(cause instanceof Damaged)) throw cause;
    return { whole: false, why: "its compressed content is damaged" };
  }
  if (scan.size() !== entry.size) {
    return { whole: false, why: `its content has ${scan.size()} bytes instead of ${entry.size}` };
  }
  if (crc !== entry.crc) {
    return { whole: false, why: "its content is damaged: the zip file's CRC-32 does not match" };
  }
  const end = scan.end();
  if (!end.whole || sink !== undefined) return end;
  return { whole: true, facts: { ...end.facts, kind: "zip", size: source.size } };
}

/** @param into memory for every piece, where each is done with before the next one is asked for */
async function* ranged(
  source: ByteSource,
  from: number,
  length: number,
  { signal, onProgress }: Pick<SnapshotLook, "signal" | "onProgress">,
  into?: Uint8Array,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  let done = 0;
  while (done < length) {
    if (signal?.aborted === true) throw new Stopped();
    const bytes = await source.read(from + done, Math.min(CHUNK, length - done), into);
    if (bytes.length === 0) return;
    done += bytes.length;
    yield bytes as Uint8Array<ArrayBuffer>;
    onProgress?.(done, length);
  }
}

/** Compressed bytes that are none. */
class Damaged extends Error {}

/** The content of compressed bytes; throws {@link Damaged} where they are damaged. */
async function* inflated(
  packed: AsyncGenerator<Uint8Array<ArrayBuffer>>,
): AsyncGenerator<Uint8Array> {
  let failure: unknown;
  const source = new ReadableStream<Uint8Array<ArrayBuffer>>({
    async pull(controller) {
      try {
        const { done, value } = await packed.next();
        if (done === true) controller.close();
        else controller.enqueue(value);
      } catch (cause) {
        failure = cause;
        controller.error(cause);
      }
    },
  }, { highWaterMark: 0 });
  try {
    for await (const bytes of source.pipeThrough(new DecompressionStream("deflate-raw"))) {
      yield bytes;
    }
  } catch (cause) {
    throw failure ?? new Damaged("", { cause });
  }
}

function tooLarge(size: number, maxBytes: number): Inspection {
  return { whole: false, why: `its content has ${size} bytes; at most ${maxBytes} are taken` };
}
