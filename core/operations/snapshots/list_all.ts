import type { Bucket, S3, S3Error, S3Object } from "../../ports/s3.ts";
import { fail, ok, type Result } from "../../result.ts";

/**
 * Pages of one listing that are read, 1,000 keys each. k3s keeps at most 1,000 snapshots for each node, so
 * ten thousand keys are more than any folder of snapshots holds; a listing that goes on belongs to another
 * folder, or to a server that does not end it.
 */
const MAX_PAGES = 10;

/**
 * Characters of all keys that are kept of one listing: a thousand bytes for each of ten thousand keys would
 * be more memory than the agent has for all its work.
 */
const MAX_KEY_CHARACTERS = 2 * 1024 * 1024;

/**
 * All objects whose keys begin with `prefix`. A listing that does not end, goes in a circle, or is larger
 * than a folder of snapshots is `refused`; none of it is believed.
 */
export async function listAll(
  s3: S3,
  bucket: Bucket,
  prefix: string,
  signal: AbortSignal,
): Promise<Result<readonly S3Object[], S3Error>> {
  const refused = (what: string): Result<never, S3Error> =>
    fail({ code: "refused", message: `bucket ${bucket.bucket}, keys ${prefix}*: ${what}` });
  const found: S3Object[] = [];
  const seen = new Set<string>();
  let after: string | undefined;
  let characters = 0;
  for (let pages = 0; pages < MAX_PAGES; pages++) {
    const page = await s3.list(
      bucket,
      prefix,
      after === undefined ? { signal } : { signal, after },
    );
    if (!page.ok) return page;
    for (const object of page.value.objects) {
      // A server that does not heed the prefix lists what is not asked for.
      if (!object.key.startsWith(prefix)) continue;
      characters += object.key.length + object.etag.length;
      found.push(object);
    }
    if (characters > MAX_KEY_CHARACTERS) {
      return refused(
        `the listing has over ${MAX_KEY_CHARACTERS} characters of keys; use a folder of its own`,
      );
    }
    if (page.value.next === null) return ok(found);
    after = page.value.next;
    if (seen.has(after)) return refused("the listing comes back to a page that it had before");
    seen.add(after);
  }
  return refused(`the listing does not end after ${MAX_PAGES} pages; use a folder of its own`);
}
