import * as fs from "node:fs/promises";

/** A file that is being received, and how much of it was there already. */
export interface PartialFile {
  /** Bytes that an earlier attempt left. */
  readonly kept: number;
  /** Hands on what was kept, in order. */
  replay(take: (bytes: Uint8Array) => Promise<void>): Promise<void>;
  /** Writes the next bytes. */
  write(bytes: Uint8Array): Promise<void>;
  sync(): Promise<void>;
  close(): Promise<void>;
}

const CHUNK_BYTES = 256 * 1024;

/**
 * Opens a file to receive into, with `mode` whatever the umask.
 *
 * @param keepBelow what an earlier attempt left is kept where it is shorter than this; 0: nothing is
 */
export async function openPartialFile(
  path: string,
  mode: number,
  keepBelow: number,
): Promise<PartialFile> {
  const there = keepBelow === 0 ? null : await fs.lstat(path).catch(() => null);
  const kept = there?.isFile() === true && there.size < keepBelow ? there.size : 0;
  if (kept === 0) await fs.rm(path, { force: true });
  const file = await fs.open(path, kept === 0 ? "wx" : "r+", mode);
  try {
    // The umask may have narrowed the mode.
    await file.chmod(mode);
  } catch (cause) {
    await file.close();
    throw cause;
  }
  let end = kept;
  return {
    kept,
    async replay(take) {
      const chunk = new Uint8Array(Math.min(CHUNK_BYTES, kept));
      for (let at = 0; at < kept;) {
        const { bytesRead } = await file.read(chunk, 0, Math.min(chunk.length, kept - at), at);
        if (bytesRead === 0) throw new Error(`${path} became shorter`);
        await take(chunk.slice(0, bytesRead));
        at += bytesRead;
      }
    },
    async write(bytes) {
      for (let at = 0; at < bytes.length;) {
        const { bytesWritten } = await file.write(bytes, at, bytes.length - at, end);
        at += bytesWritten;
        end += bytesWritten;
      }
    },
    sync: () => file.sync(),
    close: () => file.close(),
  };
}
