import type { Artifacts } from "../../core/ports/artifact.ts";
import type { Disk } from "../../core/ports/disk.ts";
import { fail, ok } from "../../core/result.ts";
import { artifactError, checkArtifact, Wrong } from "../artifact_check.ts";

/** What is behind an artifact's URL: bytes, the first of them only, or an answer that is no file. */
export type FakeArtifact =
  | Uint8Array
  | { readonly cutAfter: number; readonly bytes: Uint8Array }
  | { readonly status: number; readonly retryAfterS?: number };

/** Downloads without a network, to a fake disk. */
export interface FakeArtifacts extends Artifacts {
  /** By URL; what is not in it does not answer. */
  readonly files: Map<string, FakeArtifact>;
  /** The URLs that were asked for, in order. */
  readonly asked: readonly string[];
}

/** Downloads to `disk`; nothing is there to be fetched at first. */
export function createFakeArtifacts(disk: Disk): FakeArtifacts {
  const files = new Map<string, FakeArtifact>();
  const asked: string[] = [];
  return {
    files,
    asked,
    async fetch(artifact, path, { mode, signal, onProgress, resume }) {
      const wrong = (code: Parameters<typeof artifactError>[1], what: string) =>
        fail(artifactError(artifact, code, what));
      asked.push(artifact.url);
      if (signal?.aborted) return wrong("stopped", "ended by the agent");
      const file = files.get(artifact.url);
      if (file === undefined) return wrong("cut", "no connection");
      if ("status" in file) {
        const { status, retryAfterS } = file;
        const isBusy = status >= 500 || status === 429;
        const { error } = wrong(isBusy ? "cut" : "refused", `the answer is ${status}`);
        const wait = isBusy && retryAfterS !== undefined ? { waitMs: retryAfterS * 1_000 } : {};
        return fail({ ...error, ...wait });
      }
      const bytes = file instanceof Uint8Array ? file : file.bytes;
      const limit = artifact.encoding === undefined ? artifact.size : artifact.encoded_size;
      if (limit !== undefined && bytes.length !== limit) {
        return wrong("wrong_size", `it has ${bytes.length} bytes, not ${limit}`);
      }
      if (!(file instanceof Uint8Array)) {
        onProgress?.(file.cutAfter, limit ?? artifact.size);
        const stays = resume === true && artifact.encoding === undefined;
        if (stays) await disk.write(path, bytes.slice(0, file.cutAfter), mode);
        else await disk.remove(path);
        return wrong("cut", "it ended in the middle");
      }
      const pieces: Uint8Array[] = [];
      const check = checkArtifact(artifact, (piece) => Promise.resolve(void pieces.push(piece)));
      try {
        await check.take(bytes);
        await check.end();
      } catch (cause) {
        if (cause instanceof Wrong) return wrong(cause.code, cause.message);
        throw cause;
      }
      onProgress?.(bytes.length, limit ?? artifact.size);
      const whole = new Uint8Array(artifact.size);
      let at = 0;
      for (const piece of pieces) {
        whole.set(piece, at);
        at += piece.length;
      }
      const written = await disk.write(path, whole, mode);
      if (written.ok) return ok(undefined);
      const { code, message } = written.error;
      return fail({ code: code === "full" ? "disk_full" : "disk", message });
    },
  };
}
