import * as fs from "node:fs/promises";
import type { DiskError } from "../../core/ports/disk.ts";
import type {
  Inspection,
  SnapshotFile,
  SnapshotFileError,
  SnapshotLook,
} from "../../core/ports/snapshot_file.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { type ByteSource, inspectSnapshot, Stopped } from "../snapshot_inspect.ts";
import { scanSnapshot } from "../snapshot_scan.ts";
import { isZip } from "../zip_entry.ts";
import { diskError } from "./disk_error.ts";
import { createRoot } from "./root.ts";

/** Snapshots hold every secret of a cluster. */
const MODE = 0o600;

/** Files of snapshots on this machine; `root` (`--root DIR`) is put before every path. */
export function createNodeSnapshotFile(options: { readonly root?: string } = {}): SnapshotFile {
  const at = createRoot(options.root);

  async function attempt<T>(
    action: string,
    path: string,
    work: () => Promise<T>,
  ): Promise<Result<T, DiskError>> {
    try {
      return ok(await work());
    } catch (cause) {
      return fail(diskError(action, path, cause));
    }
  }

  async function looking(
    action: string,
    path: string,
    work: () => Promise<Inspection>,
  ): Promise<Result<Inspection, SnapshotFileError>> {
    try {
      return ok(await work());
    } catch (cause) {
      if (cause instanceof Stopped) return fail({ code: "stopped", message: cause.message });
      return fail(diskError(action, path, cause));
    }
  }

  async function unpack(from: string, to: string, look: SnapshotLook) {
    const source = await fs.open(at(from), "r");
    try {
      const target = await create(at(to));
      let whole = false;
      try {
        const end = await inspectSnapshot(
          await sourceOf(source),
          look,
          (bytes) => writeAll(target, bytes),
        );
        await target.sync();
        whole = end.whole;
        return end;
      } finally {
        await target.close();
        if (!whole) await fs.rm(at(to), { force: true });
      }
    } finally {
      await source.close();
    }
  }

  return {
    inspect: (path, look) =>
      looking("read", path, async () => {
        const file = await fs.open(at(path), "r");
        try {
          return await inspectSnapshot(await sourceOf(file), look);
        } finally {
          await file.close();
        }
      }),
    unpack: (from, to, look) => looking(`unzip ${from} to`, to, () => unpack(from, to, look)),
    async receive(path, { texts, maxBytes }) {
      const opened = await attempt("write", path, () => create(at(path)));
      if (!opened.ok) return opened;
      const file = opened.value;
      const scan = scanSnapshot(texts);
      let head = new Uint8Array();
      return ok({
        write: (bytes) =>
          attempt("write", path, async () => {
            if (scan.size() + bytes.length > maxBytes) {
              throw new RangeError(`more than the ${maxBytes} bytes that were announced`);
            }
            if (head.length < 4) head = Uint8Array.of(...head, ...bytes.subarray(0, 4));
            await writeAll(file, bytes);
            scan.feed(bytes);
          }),
        finish: () =>
          attempt("write", path, async () => {
            await file.sync();
            await file.close();
            return isZip(head) ? null : scan.end();
          }),
        async discard() {
          await file.close().catch(() => {});
          await fs.rm(at(path), { force: true }).catch(() => {});
        },
      });
    },
  };
}

async function create(path: string): Promise<fs.FileHandle> {
  await fs.rm(path, { force: true });
  const file = await fs.open(path, "wx", MODE);
  // The umask may have narrowed the mode.
  await file.chmod(MODE);
  return file;
}

async function sourceOf(file: fs.FileHandle): Promise<ByteSource> {
  const stat = await file.stat();
  if (!stat.isFile()) throw new Error("that is no file");
  return {
    size: stat.size,
    async read(position, length, into) {
      const bytes = into?.subarray(0, length) ?? new Uint8Array(length);
      let read = 0;
      while (read < length) {
        const { bytesRead } = await file.read(bytes, read, length - read, position + read);
        if (bytesRead === 0) break;
        read += bytesRead;
      }
      return bytes.subarray(0, read);
    },
  };
}

async function writeAll(file: fs.FileHandle, bytes: Uint8Array): Promise<void> {
  let offset = 0;
  while (offset < bytes.length) {
    offset += (await file.write(bytes, offset, bytes.length - offset, null)).bytesWritten;
  }
}
