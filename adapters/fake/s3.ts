import type { Clock } from "../../core/ports/clock.ts";
import type {
  Bucket,
  S3,
  S3CallOptions,
  S3Error,
  S3Object,
  S3Page,
  S3Sink,
} from "../../core/ports/s3.ts";
import { fail, ok, type Result } from "../../core/result.ts";

/** What goes wrong, until it is set otherwise. */
export interface S3Faults {
  /** Nobody answers: connections are refused, or nothing ever comes. */
  unreachable?: "refused" | "silent";
  /** Every connection ends after so many bytes of an object. */
  cutAfter?: number;
  /** How long each chunk takes, milliseconds of the clock. */
  chunkDelayMs?: number;
  /** Milliseconds that the server's clock is ahead of the clock given. */
  clockAhead?: number;
  /** What the keys may not do. */
  denied?: readonly ("list" | "read")[];
}

/** What the fake bucket is made of. */
export interface FakeS3Options {
  readonly clock: Clock;
  /** The bucket that exists; every other one does not. */
  readonly bucket: Bucket;
}

/** A bucket in memory. */
export interface FakeS3 extends S3 {
  readonly faults: S3Faults;
  put(key: string, bytes: Uint8Array): void;
  /** An object whose bytes are made when they are read, for sizes that memory should not hold. */
  putLazy(key: string, size: number, bytesAt: (start: number, end: number) => Uint8Array): void;
  remove(key: string): void;
  /** Every call so far: `list pre`, `head key`, `get key`. */
  readonly calls: readonly string[];
}

interface Stored {
  readonly facts: S3Object;
  bytesAt(start: number, end: number): Uint8Array;
}

const CHUNK_BYTES = 65_536;
const SILENCE_MS = 30_000;
/** As far as a clock may be off, milliseconds. */
const MAX_SKEW_MS = 900_000;
/** Pauses between tries that brought nothing new, as in the real client. */
const PAUSES_MS = [1_000, 2_000, 4_000, 8_000] as const;
const PAGE = 1_000;

/** A bucket in memory that refuses as S3 does, with the faults of {@link S3Faults}. */
export function createFakeS3(options: FakeS3Options): FakeS3 {
  const { clock, bucket: real } = options;
  const faults: S3Faults = {};
  const objects = new Map<string, Stored>();
  const calls: string[] = [];
  let versions = 0;

  function putLazy(key: string, size: number, bytesAt: Stored["bytesAt"]): void {
    const etag = `"fake-${++versions}"`;
    objects.set(key, { facts: { key, size, etag, modifiedAt: clock.now() }, bytesAt });
  }

  function error(bucket: Bucket, key: string, code: S3Error["code"], what: string): S3Error {
    const where = key === "" ? "" : `, key ${JSON.stringify(key)}`;
    return { code, message: `bucket ${JSON.stringify(bucket.bucket)}${where}: ${what}` };
  }

  /** Why a request gets no further than the door; null lets it in. */
  async function refusal(
    bucket: Bucket,
    key: string,
    right: "list" | "read",
    signal: AbortSignal | undefined,
  ): Promise<S3Error | null> {
    const no = (code: S3Error["code"], what: string) => error(bucket, key, code, what);
    if (signal?.aborted) return no("stopped", "ended by the agent");
    if (faults.unreachable === "refused" || bucket.endpoint !== real.endpoint) {
      return no("unreachable", "connection refused");
    }
    if (faults.unreachable === "silent") {
      await clock.sleep(SILENCE_MS, signal);
      if (signal?.aborted) return no("stopped", "ended by the agent");
      return no("unreachable", "nothing came for 30 s");
    }
    if (bucket.region !== real.region) {
      return no("wrong_region", `the region is ${real.region}, not ${bucket.region}`);
    }
    if (bucket.accessKey.reveal() !== real.accessKey.reveal()) {
      return no("wrong_keys", "S3 does not know the access key (InvalidAccessKeyId)");
    }
    if (Math.abs(faults.clockAhead ?? 0) > MAX_SKEW_MS) {
      return no("clock_skew", "this node's clock is off (RequestTimeTooSkewed)");
    }
    if (bucket.secretKey.reveal() !== real.secretKey.reveal()) {
      return no("wrong_keys", "the secret key is another one (SignatureDoesNotMatch)");
    }
    if (bucket.bucket !== real.bucket) {
      return no("no_bucket", "there is no such bucket (NoSuchBucket)");
    }
    if (faults.denied?.includes(right)) return no("denied", "not allowed (AccessDenied)");
    return null;
  }

  /** Bytes from `from` on, up to a cut; the new total, or why nobody goes on. */
  async function pour(
    stored: Stored,
    from: number,
    sink: S3Sink,
    signal: AbortSignal | undefined,
  ): Promise<number | "stopped"> {
    const { size } = stored.facts;
    const end = Math.min(size, from + (faults.cutAfter ?? size));
    let total = from;
    while (total < end) {
      if (faults.chunkDelayMs !== undefined) await clock.sleep(faults.chunkDelayMs, signal);
      if (signal?.aborted) return "stopped";
      const chunk = stored.bytesAt(total, Math.min(end, total + CHUNK_BYTES)).slice();
      total += chunk.length;
      const goesOn = await sink(chunk, total);
      // The memory of a chunk is not the sink's: whoever keeps it finds nothing there.
      chunk.fill(0);
      if (!goesOn) return "stopped";
    }
    return total;
  }

  async function list(
    bucket: Bucket,
    prefix: string,
    { after = "", pageSize = PAGE, signal }: Parameters<S3["list"]>[2] = {},
  ): Promise<Result<S3Page, S3Error>> {
    calls.push(`list ${prefix}`);
    const refused = await refusal(bucket, "", "list", signal);
    if (refused !== null) return fail(refused);
    const keys = [...objects.keys()].filter((key) => key.startsWith(prefix) && key > after);
    const page = keys.toSorted(byCodePoint).slice(0, pageSize);
    const found = page.flatMap((key) => objects.get(key)?.facts ?? []);
    return ok({ objects: found, next: keys.length > page.length ? page.at(-1) ?? null : null });
  }

  async function head(
    bucket: Bucket,
    key: string,
    { signal }: S3CallOptions = {},
  ): Promise<Result<S3Object | null, S3Error>> {
    calls.push(`head ${key}`);
    const refused = await refusal(bucket, key, "read", signal);
    return refused === null ? ok(objects.get(key)?.facts ?? null) : fail(refused);
  }

  async function get(
    bucket: Bucket,
    { key, size, etag }: S3Object,
    sink: S3Sink,
    { signal }: S3CallOptions = {},
  ): Promise<Result<number, S3Error>> {
    calls.push(`get ${key}`);
    const no = (code: S3Error["code"], what: string) => fail(error(bucket, key, code, what));
    let expected = etag;
    let futile = 0;
    for (let total = 0;;) {
      const refused = await refusal(bucket, key, "read", signal);
      if (refused !== null && refused.code !== "unreachable") return fail(refused);
      let why = refused ?? error(bucket, key, "unreachable", "the connection ended in the middle");
      if (refused === null) {
        const stored = objects.get(key);
        if (stored === undefined) return no("no_object", "there is no such object (NoSuchKey)");
        expected ||= stored.facts.etag;
        if (stored.facts.etag !== expected) return no("changed", "the object was replaced");
        if (stored.facts.size !== size) {
          return no("wrong_size", `it has ${stored.facts.size} bytes, listed were ${size}`);
        }
        const reached = await pour(stored, total, sink, signal);
        if (reached === "stopped") return no("stopped", "the bytes are not wanted any longer");
        if (reached === size) return ok(size);
        if (reached > total) futile = -1;
        total = reached;
        why = error(bucket, key, "unreachable", `cut after ${total} bytes`);
      }
      const pause = futile < 0 ? 0 : PAUSES_MS[futile];
      if (pause === undefined) return fail(why);
      futile++;
      await clock.sleep(pause, signal);
    }
  }

  return {
    faults,
    calls,
    put: (key, bytes) => putLazy(key, bytes.length, (start, end) => bytes.slice(start, end)),
    putLazy,
    remove: (key) => void objects.delete(key),
    list,
    head,
    get,
  };
}

/** S3 sorts keys by their bytes in UTF-8, which is the order of code points. */
function byCodePoint(a: string, b: string): number {
  const [left, right] = [[...a], [...b]];
  for (let at = 0; at < Math.min(left.length, right.length); at++) {
    const difference = (left[at]?.codePointAt(0) ?? 0) - (right[at]?.codePointAt(0) ?? 0);
    if (difference !== 0) return difference;
  }
  return left.length - right.length;
}
