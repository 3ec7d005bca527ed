import { AwsV4Signer } from "aws4fetch";
import type { Bucket } from "../../../core/ports/s3.ts";

/** The SHA-256 of no bytes: requests without a body. */
const EMPTY_SHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/**
 * The headers that sign a request without a body (AWS Signature Version 4). Only the host and S3's own
 * headers are signed, so that a proxy may change any other.
 *
 * @param now milliseconds since the epoch; S3 refuses what is more than 15 minutes off
 */
export async function signedHeaders(
  method: "GET" | "HEAD",
  url: URL,
  { region, accessKey, secretKey }: Bucket,
  now: number,
): Promise<Headers> {
  const signer = new AwsV4Signer({
    method,
    url: url.href,
    headers: { "X-Amz-Content-Sha256": EMPTY_SHA256 },
    service: "s3",
    region,
    accessKeyId: accessKey.reveal(),
    secretAccessKey: secretKey.reveal(),
    datetime: new Date(now).toISOString().replaceAll(/[:-]|\.\d{3}/g, ""),
  });
  return (await signer.sign()).headers;
}
