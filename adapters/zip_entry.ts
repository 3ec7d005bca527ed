import { fail, ok, type Result } from "../core/result.ts";

/** The one entry of a zip file. */
export interface ZipEntry {
  /** `store`: as it is; `deflate`: compressed. */
  readonly method: "store" | "deflate";
  /** CRC-32 of the content. */
  readonly crc: number;
  /** Bytes of the content, and of what stands in the file for it. */
  readonly size: number;
  readonly packedSize: number;
  /** Where the entry's own header is in the file. */
  readonly headerAt: number;
}

/** How much of a zip's end has to be read to find its directory: the end record with its comment. */
export const ZIP_TAIL_BYTES = 65_536 + 22 + 20 + 56 + 4_096;
/** Bytes of an entry's own header without name and extra field. */
export const ZIP_HEADER_BYTES = 30;

const END = 0x06054b50;
const END_64 = 0x06064b50;
const LOCATOR_64 = 0x07064b50;
const DIRECTORY = 0x02014b50;
const LOCAL = 0x04034b50;
const UNKNOWN_32 = 0xffffffff;

/** Whether a file that begins so is a zip. */
export function isZip(head: Uint8Array): boolean {
  return head.length >= 4 && viewOf(head).getUint32(0, true) === LOCAL;
}

/**
 * The one entry of a zip, by the end of its file; the error is a part of a sentence. Names in the archive
 * are not looked at: no path is ever taken from it.
 *
 * @param tail the last bytes of the file, {@link ZIP_TAIL_BYTES} of them or all
 */
export function readZipEntry(tail: Uint8Array, fileSize: number): Result<ZipEntry, string> {
  const view = viewOf(tail);
  const start = fileSize - tail.length;
  let end = tail.length - 22;
  while (end >= 0 && view.getUint32(end, true) !== END) end--;
  if (end < 0) return fail("it ends too early: the directory of the zip file is not there");
  let count = view.getUint16(end + 10, true);
  let at = view.getUint32(end + 16, true);
  if (count === 0xffff || at === UNKNOWN_32) {
    const found = end64(view, end, start);
    if (found === null) return fail("the directory of the zip file is damaged");
    ({ count, at } = found);
  }
  if (count !== 1) return fail(`it holds ${count} files where a snapshot is one`);
  const entry = at - start;
  if (entry < 0 || entry + 46 > end || view.getUint32(entry, true) !== DIRECTORY) {
    return fail("the directory of the zip file is damaged");
  }
  return directoryEntry(view, entry, fileSize);
}

function directoryEntry(view: DataView, at: number, fileSize: number): Result<ZipEntry, string> {
  const flags = view.getUint16(at + 8, true);
  if ((flags & 1) !== 0) return fail("it is encrypted, which k3s never does");
  const method = view.getUint16(at + 10, true);
  if (method !== 0 && method !== 8) {
    return fail(`it is compressed by an unknown method (${method})`);
  }
  let packedSize = view.getUint32(at + 20, true);
  let size = view.getUint32(at + 24, true);
  let headerAt = view.getUint32(at + 42, true);
  const nameBytes = view.getUint16(at + 28, true);
  const extraEnd = at + 46 + nameBytes + view.getUint16(at + 30, true);
  if (extraEnd > view.byteLength) return fail("the directory of the zip file is damaged");
  for (let extra = at + 46 + nameBytes; extra + 4 <= extraEnd;) {
    const next = extra + 4 + view.getUint16(extra + 2, true);
    if (view.getUint16(extra, true) === 1 && next <= extraEnd) {
      let field = extra + 4;
      const wide = (value: number): number => {
        if (value !== UNKNOWN_32 || field + 8 > next) return value;
        field += 8;
        return Number(view.getBigUint64(field - 8, true));
      };
      size = wide(size);
      packedSize = wide(packedSize);
      headerAt = wide(headerAt);
    }
    extra = next;
  }
  if (headerAt + ZIP_HEADER_BYTES + packedSize > fileSize) {
    return fail("it ends too early: its content is longer than the file");
  }
  const crc = view.getUint32(at + 16, true);
  return ok({ method: method === 0 ? "store" : "deflate", crc, size, packedSize, headerAt });
}

/**
 * Where an entry's bytes begin in the file, by its own header; null where that is none.
 *
 * @param header the {@link ZIP_HEADER_BYTES} at `entry.headerAt`
 */
export function zipContentAt(header: Uint8Array, entry: ZipEntry): number | null {
  if (header.length < ZIP_HEADER_BYTES || !isZip(header)) return null;
  const view = viewOf(header);
  const rest = view.getUint16(26, true) + view.getUint16(28, true);
  return entry.headerAt + ZIP_HEADER_BYTES + rest;
}

function end64(view: DataView, end: number, start: number): { count: number; at: number } | null {
  const locator = end - 20;
  if (locator < 0 || view.getUint32(locator, true) !== LOCATOR_64) return null;
  const record = Number(view.getBigUint64(locator + 8, true)) - start;
  if (record < 0 || record + 56 > locator || view.getUint32(record, true) !== END_64) return null;
  return {
    count: Number(view.getBigUint64(record + 32, true)),
    at: Number(view.getBigUint64(record + 48, true)),
  };
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
}
