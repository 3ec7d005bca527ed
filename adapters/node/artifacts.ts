import * as fs from "node:fs/promises";
import type {
  ArtifactError,
  ArtifactFile,
  ArtifactOptions,
  Artifacts,
} from "../../core/ports/artifact.ts";
import type { Clock } from "../../core/ports/clock.ts";
import { retryAfterMs } from "../../core/protocol/retry_after.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { artifactError, checkArtifact, Wrong } from "../artifact_check.ts";
import { diskError } from "./disk_error.ts";
import { createHttpClients, proxyEnvironment } from "./http_clients.ts";
import { openPartialFile, type PartialFile } from "./partial_file.ts";
import { type Environment, proxyFor } from "./proxy.ts";
import { type Outcome, resume } from "./resume.ts";
import { createRoot } from "./root.ts";
import { type Answer, exchange, type Sending } from "./s3/exchange.ts";

/** How long no byte may come, milliseconds. */
const SILENCE_MS = 30_000;
/** Pauses before another connection when the ones before brought next to nothing, milliseconds. */
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

  /** One attempt at all of it, which goes on from what is there only if `keep` says so. */
  async function attempt(
    artifact: ArtifactFile,
    path: string,
    { mode, signal, onProgress, resume }: ArtifactOptions,
    keep: boolean,
  ): Promise<{ readonly kept: number; readonly got: Result<void, ArtifactError> }> {
    const wrong = (code: ArtifactError["code"], what: string) =>
      artifactError(artifact, code, what);
    const route = proxyFor(new URL(artifact.url), environment);
    if (route.kind === "invalid") {
      return { kept: 0, got: fail(wrong("cut", `${route.variable} holds no proxy URL`)) };
    }
    let file: PartialFile;
    try {
      file = await openPartialFile(at(path), mode, keep ? artifact.size : 0);
    } catch (cause) {
      return { kept: 0, got: fail(onDisk(path, cause)) };
    }
    const { kept } = file;
    const clients = createHttpClients(options.caPem);
    let replays = true;
    const check = checkArtifact(
      artifact,
      (bytes) => replays ? Promise.resolve() : file.write(bytes),
    );
    let stays = false;
    try {
      await file.replay(check.take);
      replays = false;
      const got = await download(artifact, {
        clock,
        version,
        kept,
        client: clients.for(route.kind === "proxy" ? route.url : null, "fresh"),
        take: check.take,
        ...(signal === undefined ? {} : { signal }),
        onProgress: (done) => onProgress?.(done, artifact.encoded_size ?? artifact.size),
      });
      if (!got.ok) {
        const mayGoOn = got.error.code === "cut" || got.error.code === "stopped";
        stays = resume === true && artifact.encoding === undefined && mayGoOn;
        return { kept, got };
      }
      await check.end();
      await file.sync();
      stays = true;
      return { kept, got: ok(undefined) };
    } catch (cause) {
      const error = cause instanceof Wrong ? wrong(cause.code, cause.message) : onDisk(path, cause);
      return { kept, got: fail(error) };
    } finally {
      check.abandon();
      clients.close();
      await file.close().catch(() => {});
      if (!stays) await fs.rm(at(path), { force: true }).catch(() => {});
    }
  }

  return {
    async fetch(artifact, path, how) {
      const keep = how.resume === true && artifact.encoding === undefined;
      const { kept, got } = await attempt(artifact, path, how, keep);
      // What was kept may have lost bytes with the power, and be what is wrong.
      if (kept === 0 || got.ok || !BY_WHAT_WAS_KEPT.includes(got.error.code)) return got;
      return (await attempt(artifact, path, how, false)).got;
    },
  };
}

/** How a download ends that goes on from bytes of another file. */
const BY_WHAT_WAS_KEPT: readonly ArtifactError["code"][] = ["wrong_hash", "wrong_size", "refused"];

type Ended = Outcome<ArtifactError>;

interface Downloading extends Pick<Sending, "client" | "clock" | "signal"> {
  readonly version: string;
  /** Bytes of the beginning that need not travel. */
  readonly kept: number;
  take(bytes: Uint8Array): Promise<void>;
  onProgress(done: number): void;
}

/** Hands every byte that travels to `take`, once and in order. Throws what `take` throws. */
async function download(
  artifact: ArtifactFile,
  { clock, client, signal, version, kept, take, onProgress }: Downloading,
): Promise<Result<void, ArtifactError>> {
  const url = new URL(artifact.url);
  const limit = artifact.encoding === undefined ? artifact.size : artifact.encoded_size ?? null;
  // A gzip file of unknown length is never much longer than what is in it.
  const most = limit ?? artifact.size + Math.ceil(artifact.size / 100) + GZIP_FRAME_BYTES;
  let total = kept;
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
    size: most,
    pausesMs: PAUSES_MS,
    longestMs: LONGEST_WAIT_MS,
    async pause(ms) {
      await clock.sleep(ms, signal);
      return signal?.aborted !== true;
    },
    stopped: () => error("stopped", "ended by the agent"),
    tooSlow({ code }, connections) {
      const what = `${connections} connections brought it only to ${total} bytes`;
      return error(code, `${what}; look at the server or the proxy that ends them`);
    },
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
