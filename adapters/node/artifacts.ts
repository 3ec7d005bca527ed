import * as fs from "node:fs/promises";
import type { ArtifactError, ArtifactFile, Artifacts } from "../../core/ports/artifact.ts";
import type { Clock } from "../../core/ports/clock.ts";
import { retryAfterMs } from "../../core/protocol/retry_after.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { artifactError, checkArtifact, Wrong } from "../artifact_check.ts";
import { diskError } from "./disk_error.ts";
import { createHttpClients, proxyEnvironment } from "./http_clients.ts";
import { type Environment, proxyFor } from "./proxy.ts";
import { type Outcome, resume } from "./resume.ts";
import { createRoot } from "./root.ts";
import { type Answer, exchange, type Sending } from "./s3/exchange.ts";

/** How long no byte may come, milliseconds. */
const SILENCE_MS = 30_000;
/** Pauses before another connection when the one before brought nothing new, milliseconds. */
const PAUSES_MS = [1_000, 2_000] as const;
/** A server that is busy is waited for so long at most; beyond it the caller has to. */
const LONGEST_WAIT_MS = 30_000;
/** Room for what gzip puts around its content. */
const GZIP_FRAME_BYTES = 64 * 1024;

/** What the downloads are made of. */
export interface NodeArtifactsOptions {
  /** The agent's version, for `User-Agent`. */
  readonly version: string;
  /** Certificates (PEM) trusted beside the runtime's own. */
  readonly caPem?: string;
  readonly clock: Clock;
  readonly root?: string;
  /** The proxy variables; those of the process where absent. */
  readonly environment?: Environment;
}

/** Downloads to this machine's disk. */
export function createNodeArtifacts(options: NodeArtifactsOptions): Artifacts {
  const { clock, version } = options;
  const at = createRoot(options.root);
  const environment = options.environment ?? proxyEnvironment();

  return {
    async fetch(artifact, path, { mode, signal, onProgress }) {
      const url = new URL(artifact.url);
      const wrong = (code: ArtifactError["code"], what: string) =>
        artifactError(artifact, code, what);
      const route = proxyFor(url, environment);
      if (route.kind === "invalid") {
        return fail(wrong("cut", `${route.variable} holds no proxy URL`));
      }
      let file: fs.FileHandle;
      try {
        await fs.rm(at(path), { force: true });
        file = await fs.open(at(path), "wx", mode);
      } catch (cause) {
        return fail(onDisk(path, cause));
      }
      const clients = createHttpClients(options.caPem);
      const check = checkArtifact(artifact, (bytes) => writeAll(file, bytes));
      let whole = false;
      try {
        // The umask may have narrowed the mode.
        await file.chmod(mode);
        const got = await download(artifact, {
          clock,
          version,
          client: clients.for(route.kind === "proxy" ? route.url : null, "fresh"),
          take: check.take,
          ...(signal === undefined ? {} : { signal }),
          onProgress: (done) => onProgress?.(done, artifact.encoded_size ?? artifact.size),
        });
        if (!got.ok) return got;
        await check.end();
        await file.sync();
        whole = true;
        return ok(undefined);
      } catch (cause) {
        if (cause instanceof Wrong) return fail(wrong(cause.code, cause.message));
        return fail(onDisk(path, cause));
      } finally {
        check.abandon();
        clients.close();
        await file.close().catch(() => {});
        if (!whole) await fs.rm(at(path), { force: true }).catch(() => {});
      }
    },
  };
}

type Ended = Outcome<ArtifactError>;

interface Downloading extends Pick<Sending, "client" | "clock" | "signal"> {
  readonly version: string;
  take(bytes: Uint8Array): Promise<void>;
  onProgress(done: number): void;
}

/** Hands every byte that travels to `take`, once and in order. Throws what `take` throws. */
async function download(
  artifact: ArtifactFile,
  { clock, client, signal, version, take, onProgress }: Downloading,
): Promise<Result<void, ArtifactError>> {
  const url = new URL(artifact.url);
  const limit = artifact.encoding === undefined ? artifact.size : artifact.encoded_size ?? null;
  // A gzip file of unknown length is never much longer than what is in it.
  const most = limit ?? artifact.size + Math.ceil(artifact.size / 100) + GZIP_FRAME_BYTES;
  let total = 0;
  let etag = "";
  const error = (code: ArtifactError["code"], what: string) => artifactError(artifact, code, what);
  const over = (code: ArtifactError["code"], what: string) =>
    ({ kind: "over", error: error(code, what) }) as const;
  const cut = (what: string) => ({ kind: "cut", error: error("cut", what) }) as const;

  async function pour(answer: Answer, skip: number, length: number | null): Promise<Ended> {
    for (let left = skip, seen = 0;;) {
      const read = await answer.read();
      if (!read.ok) {
        const { code, what } = read.error;
        return code === "stopped" ? over("stopped", what) : cut(what);
      }
      if (read.value === null) {
        // Without a length, an end in the middle looks like any other.
        if (limit !== null && total < limit && length === null) {
          return cut(`it ended after ${total} of ${limit} bytes`);
        }
        if (length !== null && seen < length) return cut(`it ended after ${total} bytes`);
        if (limit === null || total === limit) return { kind: "whole" };
        return over("wrong_size", `it has ${total} bytes, not ${limit}`);
      }
      seen += read.value.length;
      const bytes = read.value.subarray(left);
      left -= Math.min(left, read.value.length);
      if (total + bytes.length > most) {
        return over("wrong_size", `it is over ${most} bytes`);
      }
      await take(bytes);
      total += bytes.length;
      if (bytes.length > 0) onProgress(total);
    }
  }

  async function ask(): Promise<Ended> {
    const headers = new Headers({
      "User-Agent": `pbx-agent/${version}`,
      // The bytes as they are stored: sizes are counted.
      "Accept-Encoding": "identity",
    });
    if (total > 0) headers.set("Range", `bytes=${total}-`);
    if (total > 0 && etag !== "") headers.set("If-Range", etag);
    const asked = await exchange(url, {
      method: "GET",
      headers,
      client,
      clock,
      silenceMs: SILENCE_MS,
      ...(signal === undefined ? {} : { signal }),
    });
    if (!asked.ok) {
      const { code, what } = asked.error;
      return code === "stopped" ? over("stopped", what) : cut(what);
    }
    const answer = asked.value;
    try {
      const { status } = answer;
      if (status >= 500 || status === 429) {
        const waitMs = retryAfterMs(Object.fromEntries(answer.headers), clock.now());
        const busy = error("cut", `the answer is ${status}`);
        return waitMs === null
          ? { kind: "cut", error: busy }
          : { kind: "cut", error: { ...busy, waitMs }, waitMs };
      }
      if (status !== 200 && status !== 206) return over("refused", `the answer is ${status}`);
      const start = status === 200 ? 0 : startOf(answer.headers);
      if (start > total) return over("refused", "the answer begins beyond what was asked for");
      const own = strong(answer.headers.get("etag"));
      // Another file than the one whose first bytes are here: all of it anew, in a later attempt.
      if (total > 0 && etag !== "" && own !== etag) return over("cut", "the file was replaced");
      etag = own;
      const length = answer.headers.get("content-length");
      return await pour(answer, total - start, length === null ? null : Number(length));
    } finally {
      answer.close();
    }
  }

  return await resume<ArtifactError>({
    ask,
    total: () => total,
    pausesMs: PAUSES_MS,
    longestMs: LONGEST_WAIT_MS,
    async pause(ms) {
      await clock.sleep(ms, signal);
      return signal?.aborted !== true;
    },
    stopped: () => error("stopped", "ended by the agent"),
  });
}

function startOf(headers: Headers): number {
  const range = /^bytes ([0-9]+)-/.exec(headers.get("content-range") ?? "");
  return Number(range?.[1] ?? Infinity);
}

/** A weak ETag does not vouch for single bytes. */
function strong(etag: string | null): string {
  return etag === null || etag.startsWith("W/") ? "" : etag;
}

function onDisk(path: string, cause: unknown): ArtifactError {
  const { code, message } = diskError("write", path, cause);
  return { code: code === "full" ? "disk_full" : "disk", message };
}

async function writeAll(file: fs.FileHandle, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length;) {
    at += (await file.write(bytes, at, bytes.length - at, null)).bytesWritten;
  }
}
