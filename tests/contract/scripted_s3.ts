import assert from "node:assert/strict";
import { createNodeClock } from "../../adapters/node/clock.ts";
import { createNodeS3 } from "../../adapters/node/s3.ts";
import type { Bucket, S3, S3Error, S3Object } from "../../core/ports/s3.ts";
import type { Result } from "../../core/result.ts";
import { Secret } from "../../core/secret.ts";

/** How much faster the client's time runs: 30 s of silence are 300 ms. */
const PACE = 100;

/** What the scripted server does with a request. */
export type Answering = (request: Request) => Response | Promise<Response>;

/** The real client and a bucket at a scripted server. */
export interface ScriptedS3 {
  readonly s3: S3;
  readonly bucket: Bucket;
  /** Every request: method, path and query, and the Range asked for. */
  readonly asked: readonly string[];
}

/** The object of the scripted bucket, as a listing has it. */
export const OBJECT: S3Object = { key: "k", size: 10, etag: '"e"', modifiedAt: 0 };
/** Where a test server listens. */
export const QUIET = { hostname: "127.0.0.1", port: 0, onListen() {} };

/** The real client at a server that answers as told. */
export async function withServer(
  answer: Answering,
  run: (world: ScriptedS3) => Promise<void>,
): Promise<void> {
  const asked: string[] = [];
  const server = Deno.serve(
    { ...QUIET, onError: () => new Response(null, { status: 500 }) },
    (r) => {
      const { pathname, search } = new URL(r.url);
      asked.push([r.method, pathname + search, r.headers.get("range") ?? ""].join(" ").trim());
      return answer(r);
    },
  );
  const clock = createNodeClock();
  const s3 = createNodeS3({
    version: "1.2.3",
    environment: {},
    clock: {
      ...clock,
      monotonic: () => clock.monotonic() * PACE,
      sleep: (ms, signal) => clock.sleep(ms / PACE, signal),
    },
  });
  const bucket = bucketAt(`http://127.0.0.1:${server.addr.port}`);
  try {
    await run({ s3, bucket, asked });
  } finally {
    await server.shutdown();
  }
}

/** The scripted bucket at some endpoint. What is secret about it begins with HIDDEN. */
export function bucketAt(endpoint: string): Bucket {
  return {
    endpoint,
    bucket: "snapshots",
    region: "eu-1",
    accessKey: new Secret("HIDDENACCESS"),
    secretKey: new Secret("HIDDENSECRET"),
  };
}

/** An error as S3 writes it, with a message that may not be passed on. */
export function s3Error(code: string, more = ""): string {
  return `<?xml version="1.0"?><Error><Code>${code}</Code><Message>HIDDENMESSAGE</Message>${more}</Error>`;
}

/** The error, which may hold nothing that is hidden. */
export function bad(result: Result<unknown, S3Error>): S3Error {
  assert.ok(!result.ok, "an error was expected");
  assert.doesNotMatch(result.error.message, /HIDDEN/);
  return result.error;
}
