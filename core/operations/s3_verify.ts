import { EtcdS3 } from "../protocol/secrets.ts";
import { bucketOf, folderPrefix } from "./bucket.ts";
import { defineOperation } from "./definition.ts";
import { TIMEOUT_MS } from "./timeouts.ts";

/** Tries new keys on the bucket before they are used: they list it, or the result says why not. */
export const s3Verify = defineOperation({
  kind: "s3.verify",
  params: EtcdS3,
  needsApi: true,
  steps: {
    list_bucket: {
      timeoutMs: TIMEOUT_MS.bucket,
      async run({ params, ports, open, signal }) {
        const bucket = bucketOf(params, open);
        const page = await ports.s3.list(bucket, folderPrefix(params.folder), { signal });
        if (!page.ok) return { kind: "failed", code: page.error.code, message: page.error.message };
        const objects = page.value.objects.length;
        return {
          kind: "done",
          handed: { objects },
          evidence: `bucket ${params.bucket} lists ${objects} objects of folder ${params.folder}`,
        };
      },
    },
  },
  output: ({ objects }) => ({ objects: objects ?? null }),
});
