import type { S3Error, S3Object, S3Sink } from "../../../core/ports/s3.ts";
import { ok, type Result } from "../../../core/result.ts";
import { type Outcome, resume } from "../resume.ts";
import type { Answer } from "./exchange.ts";
import type { Session } from "./session.ts";

/** Pauses before another try when the ones before brought next to nothing, milliseconds. */
const PAUSES_MS = [1_000, 2_000, 4_000, 8_000] as const;

type Ended = Outcome<S3Error>;

/**
 * The bytes of `object` to `sink`, each once and in order, over as many connections as it takes. Ends
 * when five in a row bring nothing new, or many bring next to nothing (resume.ts).
 */
export async function download(
  session: Session,
  object: S3Object,
  sink: S3Sink,
): Promise<Result<number, S3Error>> {
  let total = 0;
  let etag = object.etag;

  /** Hands on what comes after the first `skip` bytes of the answer. */
  async function pour(answer: Answer, skip: number): Promise<Ended> {
    for (let left = skip; total < object.size;) {
      const read = await answer.read();
      if (!read.ok) {
        const error = session.interrupted(read.error);
        return { kind: read.error.code === "stopped" ? "over" : "cut", error };
      }
      if (read.value === null) {
        const what = `it ended after ${total} of ${object.size} bytes`;
        return { kind: "cut", error: session.error("wrong_size", what) };
      }
      const chunk = read.value.subarray(left);
      left -= Math.min(left, read.value.length);
      if (chunk.length === 0) continue;
      if (total + chunk.length > object.size) return tooLong();
      total += chunk.length;
      if (!await sink(chunk, total)) {
        return { kind: "over", error: session.error("stopped", "the bytes are not wanted") };
      }
    }
    const rest = await answer.read();
    return rest.ok && rest.value !== null ? tooLong() : { kind: "whole" };
  }

  function tooLong(): Ended {
    const what = `it is longer than the ${object.size} bytes that were listed`;
    return { kind: "over", error: session.error("wrong_size", what) };
  }

  async function ask(): Promise<Ended> {
    const asked = await session.ask({
      method: "GET",
      headers: {
        ...(total === 0 ? {} : { "Range": `bytes=${total}-` }),
        ...(etag === "" ? {} : { "If-Match": `"${bare(etag)}"` }),
      },
    });
    if (!asked.ok) return { kind: retriable(asked.error), error: asked.error };
    const answer = asked.value;
    try {
      if (answer.status !== 200 && answer.status !== 206) {
        const error = await session.refusal(answer);
        return { kind: retriable(error), error };
      }
      const part = partOf(answer);
      const own = answer.headers.get("etag") ?? "";
      if (etag !== "" && own !== "" && bare(own) !== bare(etag)) {
        return { kind: "over", error: changed() };
      }
      if (part.size !== null && part.size !== object.size) {
        const what = `it has ${part.size} bytes, listed were ${object.size}`;
        return { kind: "over", error: session.error("wrong_size", what) };
      }
      // The whole object again from a server without ranges is skipped up to where we are.
      if (part.start > total) return { kind: "over", error: changed() };
      etag = own === "" ? etag : own;
      return await pour(answer, total - part.start);
    } finally {
      answer.close();
    }
  }

  function changed(): S3Error {
    return session.error("changed", "the object was replaced meanwhile");
  }

  const ended = await resume<S3Error>({
    ask,
    total: () => total,
    size: object.size,
    pausesMs: PAUSES_MS,
    longestMs: Infinity,
    pause: session.pause,
    stopped: () => session.error("stopped", "ended by the agent"),
    tooSlow({ code }, connections) {
      const what = `${connections} connections brought it only to ${total} of ${object.size} bytes`;
      return session.error(code, `${what}; look at the server or the proxy that ends them`);
    },
  });
  return ended.ok ? ok(total) : ended;
}

/** An ETag without its quotes and weakness: servers differ in them between a listing and an answer. */
function bare(etag: string): string {
  return etag.replace(/^(?:W\/)?"(.*)"$/, "$1");
}

function retriable(error: S3Error): "cut" | "over" {
  return error.code === "unreachable" ? "cut" : "over";
}

/** Where an answer begins in the object, and the object's size as far as the answer says it. */
function partOf({ status, headers }: Answer): { start: number; size: number | null } {
  if (status === 200) {
    const length = headers.get("content-length");
    return { start: 0, size: length === null ? null : Number(length) };
  }
  const range = /^bytes ([0-9]+)-[0-9]+\/([0-9]+|\*)$/.exec(headers.get("content-range") ?? "");
  const size = Number(range?.[2] ?? NaN);
  return { start: Number(range?.[1] ?? Infinity), size: Number.isNaN(size) ? null : size };
}
