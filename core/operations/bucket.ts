import type { Bucket } from "../ports/s3.ts";
import type { EtcdS3 } from "../protocol/secrets.ts";
import type { Sealed } from "../protocol/sealed.ts";
import type { Secret } from "../secret.ts";

/** The bucket of some settings, its keys opened for this use. */
export function bucketOf(settings: EtcdS3, open: (sealed: Sealed) => Secret): Bucket {
  const { endpoint, bucket, region, endpoint_ca, bucket_lookup } = settings;
  return {
    endpoint,
    bucket,
    region,
    accessKey: open(settings.access_key),
    secretKey: open(settings.secret_key),
    ...(endpoint_ca === undefined ? {} : { endpointCa: endpoint_ca }),
    ...(bucket_lookup === undefined ? {} : { lookup: bucket_lookup }),
  };
}

/** What the keys of a folder's objects begin with; the bucket's root has no folder. */
export function folderPrefix(folder: string): string {
  const name = folder.replace(/^\/+|\/+$/g, "");
  return name === "" ? "" : `${name}/`;
}
