import type { Clock } from "../../core/ports/clock.ts";
import type { Bucket, S3, S3Error } from "../../core/ports/s3.ts";
import type { Result } from "../../core/result.ts";
import { createHttpClients, proxyEnvironment } from "./http_clients.ts";
import type { Environment } from "./proxy.ts";
import { download } from "./s3/download.ts";
import { findObject } from "./s3/find_object.ts";
import { listPage } from "./s3/list_page.ts";
import { openSession, type Session } from "./s3/session.ts";

/** What the S3 client is made of. */
export interface NodeS3Options {
  /** The agent's version, for `User-Agent`. */
  readonly version: string;
  /** Certificates (PEM) trusted beside the runtime's own; a bucket may add to them. */
  readonly caPem?: string;
  /** Signs with this time, and measures silence with it. */
  readonly clock: Clock;
  /** How long no byte may come, milliseconds; 30,000 unless told. */
  readonly silenceMs?: number;
  /** The proxy variables; those of the process where absent. Read once. */
  readonly environment?: Environment;
}

/** How long no byte may come. */
const SILENCE_MS = 30_000;

/**
 * The S3 client of a node, on `fetch`. Each call opens connections of its own and closes them, so that
 * nothing of a bucket, its keys least of all, outlives the call.
 *
 * Throws when `caPem` holds no certificate.
 */
export function createNodeS3(options: NodeS3Options): S3 {
  createHttpClients(options.caPem).close();
  const { silenceMs = SILENCE_MS, environment = proxyEnvironment() } = options;

  /** Runs a call in a session that is closed whatever comes out of it. */
  async function within<T>(
    bucket: Bucket,
    key: string,
    signal: AbortSignal | undefined,
    call: (session: Session) => Promise<Result<T, S3Error>>,
  ): Promise<Result<T, S3Error>> {
    const settings = { ...options, silenceMs, environment };
    const session = openSession(settings, bucket, key, signal);
    if (!session.ok) return session;
    try {
      return await call(session.value);
    } finally {
      session.value.close();
    }
  }

  return {
    list: (bucket, prefix, { signal, ...page } = {}) =>
      within(bucket, "", signal, (session) => listPage(session, prefix, page)),
    head: (bucket, key, { signal } = {}) => within(bucket, key, signal, findObject),
    get: (bucket, object, sink, { signal } = {}) =>
      within(bucket, object.key, signal, (session) => download(session, object, sink)),
  };
}
