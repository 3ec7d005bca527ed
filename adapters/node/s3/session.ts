import type { Clock } from "../../../core/ports/clock.ts";
import type { Bucket, S3Error } from "../../../core/ports/s3.ts";
import { fail, ok, type Result } from "../../../core/result.ts";
import { createHttpClients } from "../http_clients.ts";
import { type Environment, proxyFor } from "../proxy.ts";
import { addressOf } from "./address.ts";
import { type Answer, exchange, type Interruption } from "./exchange.ts";
import { refusalOf } from "./refusal.ts";
import { signedHeaders } from "./sign.ts";

/** What a session takes from its client. */
export interface SessionSettings {
  readonly version: string;
  readonly caPem?: string;
  readonly clock: Clock;
  readonly silenceMs: number;
  readonly environment: Environment;
}

/** One request of a session. */
export interface Asking {
  readonly method: "GET" | "HEAD";
  readonly query?: Readonly<Record<string, string>>;
  /** Beside those that sign; they are not signed. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** One call's way to one bucket or object. */
export interface Session {
  readonly key: string;
  /** Signs and sends. Any answer is one; it has to be closed. */
  ask(asking: Asking): Promise<Result<Answer, S3Error>>;
  /** The error in an answer that is no success; closes it. */
  refusal(answer: Answer): Promise<S3Error>;
  /** An error in words that name bucket and key. */
  error(code: S3Error["code"], what: string): S3Error;
  interrupted(why: Interruption): S3Error;
  /** Waits; false when the signal ended it. */
  pause(ms: number): Promise<boolean>;
  close(): void;
}

/** A session for `key`, or for the bucket itself where that is empty. Nothing is sent yet. */
export function openSession(
  settings: SessionSettings,
  bucket: Bucket,
  key: string,
  signal: AbortSignal | undefined,
): Result<Session, S3Error> {
  const { clock, silenceMs, environment } = settings;
  const where = `bucket ${JSON.stringify(bucket.bucket)}` +
    (key === "" ? "" : `, key ${JSON.stringify(key)}`);
  const error = (code: S3Error["code"], what: string) => ({ code, message: `${where}: ${what}` });
  const interrupted = (why: Interruption) => error(why.code, why.what);

  // A line break in it, say, would be quoted by whatever fails on it.
  if (!/^[!-+\--.0-~]{1,256}$/.test(bucket.accessKey.reveal())) {
    return fail(error("wrong_keys", "the access key has characters that no access key has"));
  }
  const address = addressOf(bucket, key);
  if (!address.ok) return fail(error("refused", address.error));
  const route = proxyFor(address.value, environment);
  if (route.kind === "invalid") {
    return fail(error("unreachable", `${route.variable} holds no proxy URL`));
  }
  const clients = clientsFor(settings.caPem, bucket.endpointCa);
  if (clients === null) return fail(error("refused", "the endpoint's CA holds no certificate"));
  const client = clients.for(route.kind === "proxy" ? route.url : null, "kept");
  const limits = { client, clock, silenceMs, ...(signal === undefined ? {} : { signal }) };

  return ok({
    key,
    error,
    interrupted,
    ask: async ({ method, query = {}, headers: more = {} }) => {
      const url = addressOf(bucket, key, query);
      if (!url.ok) return fail(error("refused", url.error));
      const headers = await signedHeaders(method, url.value, bucket, clock.now());
      headers.set("User-Agent", `pbx-agent/${settings.version}`);
      // The bytes as they are stored: sizes are counted.
      headers.set("Accept-Encoding", "identity");
      for (const [name, value] of Object.entries(more)) headers.set(name, value);
      const answer = await exchange(url.value, { method, headers, ...limits });
      return answer.ok ? answer : fail(interrupted(answer.error));
    },
    refusal: async (answer) => {
      const { code, what } = await refusalOf(answer, bucket.region);
      answer.close();
      return error(code, what);
    },
    pause: async (ms) => {
      await clock.sleep(ms, signal);
      return signal?.aborted !== true;
    },
    close: clients.close,
  });
}

function clientsFor(own: string | undefined, endpoint: string | undefined) {
  const authorities = [own, endpoint].filter((pem) => pem !== undefined);
  try {
    return createHttpClients(authorities.length === 0 ? undefined : authorities.join("\n"));
  } catch {
    return null;
  }
}
