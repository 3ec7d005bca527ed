import type { S3 } from "../../core/ports/s3.ts";

/** Stands where the bucket's client will be: nothing that uses S3 is implemented. */
export function createNoS3(): S3 {
  return { name: "S3 (not implemented)" };
}
