import type { Clock } from "../../core/ports/clock.ts";
import type { Random } from "../../core/ports/random.ts";
import type { S3, S3Error, S3Object } from "../../core/ports/s3.ts";
import { fail, ok } from "../../core/result.ts";
import { type StepTimes, within } from "./times.ts";

/** The bucket of one simulated cluster. It takes whatever keys it is shown: they come from the portal. */
export interface Bucket {
  readonly s3: S3;
  /** Nobody answers while true. */
  isAway: boolean;
  /** The folder that was asked for last, with its slash; null while nobody has asked. */
  folder(): string | null;
  put(key: string, bytes: Uint8Array, now: number): void;
  /** Whether there is an object whose key ends so. */
  has(file: string): boolean;
  /** The file that came last of those that are there; null where none is. */
  newest(): string | null;
  /** Forgets the objects whose keys end so. */
  drop(file: string): void;
}

/** An empty bucket. */
export function createBucket(
  { clock, random, times }: {
    readonly clock: Clock;
    readonly random: Random;
    readonly times: StepTimes;
  },
): Bucket {
  const objects = new Map<string, { readonly facts: S3Object; readonly bytes: Uint8Array }>();
  let folder: string | null = null;

  async function answers(signal: AbortSignal | undefined): Promise<S3Error | null> {
    await clock.sleep(within(times.bucket, random), signal);
    if (signal?.aborted) return { code: "stopped", message: "ended by the agent" };
    return bucket.isAway ? { code: "unreachable", message: "the bucket does not answer" } : null;
  }

  const bucket: Bucket = {
    isAway: false,
    folder: () => folder,
    put(key, bytes, now) {
      const facts = { key, size: bytes.length, etag: `"${key}"`, modifiedAt: now };
      objects.set(key, { facts, bytes });
    },
    has: (file) => [...objects.keys()].some((key) => key.endsWith(`/${file}`)),
    newest() {
      const key = [...objects.keys()].at(-1);
      return key === undefined ? null : key.slice(key.lastIndexOf("/") + 1);
    },
    drop(file) {
      for (const key of objects.keys()) if (key.endsWith(file)) objects.delete(key);
    },
    s3: {
      async list(_bucket, prefix, { signal } = {}) {
        const why = await answers(signal);
        if (why !== null) return fail(why);
        folder = prefix.slice(0, prefix.lastIndexOf("/") + 1);
        const keys = [...objects.keys()].filter((key) => key.startsWith(prefix)).sort();
        const found = keys.flatMap((key) => objects.get(key)?.facts ?? []);
        return ok({ objects: found, next: null });
      },
      async head(_bucket, key, { signal } = {}) {
        const why = await answers(signal);
        return why === null ? ok(objects.get(key)?.facts ?? null) : fail(why);
      },
      async get(_bucket, { key, size }, sink, { signal } = {}) {
        const why = await answers(signal);
        if (why !== null) return fail(why);
        const found = objects.get(key);
        if (found === undefined) return fail({ code: "no_object", message: `no object ${key}` });
        const goesOn = await sink(found.bytes.slice(), size);
        return goesOn ? ok(size) : fail({ code: "stopped", message: "not wanted any longer" });
      },
    },
  };
  return bucket;
}
