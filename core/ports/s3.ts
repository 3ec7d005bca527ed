import type { Result } from "../result.ts";
import type { Secret } from "../secret.ts";

/** A bucket and what it takes to reach it. */
export interface Bucket {
  /** `host[:port]`, or a URL without a path; plain http on loopback only. */
  readonly endpoint: string;
  readonly bucket: string;
  readonly region: string;
  readonly accessKey: Secret;
  readonly secretKey: Secret;
  /** Certificate authorities to trust beside the system's, PEM. */
  readonly endpointCa?: string;
  /**
   * Where the bucket's name goes: into the host (dns) or into the path. `auto` does as k3s does: dns
   * at Amazon, Google and Alibaba, path anywhere else.
   */
  readonly lookup?: "auto" | "dns" | "path";
}

/** One object of a bucket. */
export interface S3Object {
  readonly key: string;
  /** Bytes. */
  readonly size: number;
  /** As S3 gives it, quotes included; empty where it gives none. */
  readonly etag: string;
  /** Milliseconds since the epoch. */
  readonly modifiedAt: number;
}

/** A page of a listing. `next`: hand it in as `after` for the page that follows; null at the end. */
export interface S3Page {
  readonly objects: readonly S3Object[];
  readonly next: string | null;
}

/**
 * Why the bucket did not do it. `unreachable`: no connection, TLS, silence, or S3 says that it cannot
 * now: try later. `clock_skew`: S3 says that this node's clock is off. `wrong_keys`: the keys or the
 * signature are refused. `wrong_region`: the bucket is in another one. `denied`: the keys are right and
 * may not do this. `changed`: the object is another one than at the beginning. `wrong_size`: it is
 * shorter or longer than the listing says. `refused`: any other no. `stopped`: the caller's signal, or
 * the sink said so.
 */
export interface S3Error {
  readonly code:
    | "unreachable"
    | "clock_skew"
    | "wrong_keys"
    | "wrong_region"
    | "denied"
    | "no_bucket"
    | "no_object"
    | "changed"
    | "wrong_size"
    | "refused"
    | "stopped";
  /** For people: bucket, key and S3's own code; never a credential. */
  readonly message: string;
}

/** How a call is limited. Time-outs count silence, not duration: 30 s without a byte. */
export interface S3CallOptions {
  /** Ends the call early (`stopped`). */
  readonly signal?: AbortSignal;
}

/** What a listing may be told beside its prefix. */
export interface S3ListOptions extends S3CallOptions {
  /** The `next` of the page before. */
  readonly after?: string;
  /** Objects on one page, 1 to 1,000 (the default). */
  readonly pageSize?: number;
}

/**
 * Where the bytes of an object go, in order and each once; `total` counts this chunk too. The next
 * chunk comes when it has resolved, in the same memory: what is to be kept has to be copied. False ends
 * the download (`stopped`): the disk is full, say.
 */
export type S3Sink = (chunk: Uint8Array, total: number) => Promise<boolean>;

/** The bucket that snapshots go to. */
export interface S3 {
  /** The first or the next page of the objects whose keys begin with `prefix`, in the order of the keys. */
  list(bucket: Bucket, prefix: string, options?: S3ListOptions): Promise<Result<S3Page, S3Error>>;
  /** One object's facts, or null where there is none. */
  head(
    bucket: Bucket,
    key: string,
    options?: S3CallOptions,
  ): Promise<Result<S3Object | null, S3Error>>;
  /**
   * Streams an object to `sink`. A cut is resumed where it was (Range, If-Match), five times in a row
   * without a new byte at most; the sum is checked against `object.size`. Gives the bytes delivered.
   */
  get(
    bucket: Bucket,
    object: S3Object,
    sink: S3Sink,
    options?: S3CallOptions,
  ): Promise<Result<number, S3Error>>;
}
