import type { ClusterObject } from "../cluster/secrets.ts";
import { etcdS3Secret, hcloudSecret } from "../cluster/secrets.ts";
import { openSealed, type SealingKey } from "../protocol/sealing.ts";
import type { ClusterSecrets } from "../protocol/secrets.ts";
import { fail, ok, type Result } from "../result.ts";

/** The Secrets that the cluster's settings ask for, opened for this one use. */
export function openClusterSecrets(
  secrets: ClusterSecrets,
  keys: readonly SealingKey[],
): Result<readonly ClusterObject[], string> {
  const objects: ClusterObject[] = [];
  if (secrets.hcloud !== undefined) {
    const token = openSealed(secrets.hcloud.token.sealed, keys);
    if (!token.ok) return fail(`secrets.hcloud.token: ${token.error.message}`);
    objects.push(hcloudSecret(token.value, secrets.hcloud.network));
  }
  if (secrets.etcd_s3 !== undefined) {
    const { access_key, secret_key, ...settings } = secrets.etcd_s3;
    const accessKey = openSealed(access_key.sealed, keys);
    if (!accessKey.ok) return fail(`secrets.etcd_s3.access_key: ${accessKey.error.message}`);
    const secretKey = openSealed(secret_key.sealed, keys);
    if (!secretKey.ok) return fail(`secrets.etcd_s3.secret_key: ${secretKey.error.message}`);
    objects.push(etcdS3Secret(settings, accessKey.value, secretKey.value));
  }
  return ok(objects);
}
