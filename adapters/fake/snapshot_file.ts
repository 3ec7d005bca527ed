import type { Disk, DiskError } from "../../core/ports/disk.ts";
import type { SnapshotFile, SnapshotFileError } from "../../core/ports/snapshot_file.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { inspectSnapshot, Stopped } from "../snapshot_inspect.ts";
import { scanSnapshot } from "../snapshot_scan.ts";
import { isZip } from "../zip_entry.ts";

const MODE = 0o600;
/** Files of a fake disk are small. */
const MAX_BYTES = 64 * 1024 * 1024;

/** Files of snapshots on a fake disk, which breaks and is cut as its tests want it. */
export function createFakeSnapshotFile(disk: Disk): SnapshotFile {
  async function bytesOf(path: string): Promise<Result<Uint8Array, DiskError>> {
    const read = await disk.read(path, MAX_BYTES);
    if (!read.ok) return read;
    if (read.value !== null) return ok(read.value);
    return fail({ code: "missing", path, message: `cannot read ${path}: it does not exist` });
  }

  const sourceOf = (bytes: Uint8Array) => ({
    size: bytes.length,
    read: (position: number, length: number) =>
      Promise.resolve(bytes.slice(position, position + length)),
  });

  function stopped(cause: unknown): { readonly ok: false; readonly error: SnapshotFileError } {
    if (!(cause instanceof Stopped)) throw cause;
    return fail({ code: "stopped", message: cause.message });
  }

  return {
    async inspect(path, look) {
      const bytes = await bytesOf(path);
      if (!bytes.ok) return bytes;
      return await inspectSnapshot(sourceOf(bytes.value), look).then(ok, stopped);
    },
    async unpack(from, to, look) {
      const bytes = await bytesOf(from);
      if (!bytes.ok) return bytes;
      const pieces: Uint8Array[] = [];
      const take = (piece: Uint8Array) => Promise.resolve(void pieces.push(piece));
      const end = await inspectSnapshot(sourceOf(bytes.value), look, take).then(ok, stopped);
      if (!end.ok) return end;
      if (!end.value.whole) {
        await disk.remove(to);
        return end;
      }
      const written = await disk.write(to, joined(pieces), MODE);
      return written.ok ? end : written;
    },
    async receive(path, { texts, maxBytes }) {
      const begun = await disk.write(path, new Uint8Array(), MODE);
      if (!begun.ok) return begun;
      const scan = scanSnapshot(texts);
      const pieces: Uint8Array[] = [];
      return ok({
        async write(bytes) {
          if (scan.size() + bytes.length > maxBytes) {
            const message = `cannot write ${path}: more than ${maxBytes} bytes`;
            return fail({ code: "io" as const, path, message });
          }
          const appended = await disk.append(path, bytes, MODE);
          if (!appended.ok) return appended;
          pieces.push(bytes.slice());
          scan.feed(bytes);
          return ok(undefined);
        },
        async finish() {
          // Written as a whole once more, because only that syncs on a fake disk.
          const written = await disk.write(path, joined(pieces), MODE);
          if (!written.ok) return written;
          return ok(isZip(joined(pieces)) ? null : scan.end());
        },
        async discard() {
          await disk.remove(path);
        },
      });
    },
  };
}

function joined(pieces: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let offset = 0;
  for (const piece of pieces) {
    all.set(piece, offset);
    offset += piece.length;
  }
  return all;
}
