/**
 * One download by the agent's S3 client into a hash, in a process of its own. Its argument is a
 * {@link S3GetTask} as JSON; prints a {@link S3GetMeasured} as JSON.
 */
import { createHash } from "node:crypto";
import { createNodeClock } from "../../adapters/node/clock.ts";
import { createNodeS3 } from "../../adapters/node/s3.ts";
import { Secret } from "../../core/secret.ts";
import type { S3GetMeasured, S3GetTask } from "./s3_get.ts";

/** Chunks between two looks at the memory. */
const LOOK_EVERY = 16;

async function measure(task: S3GetTask): Promise<S3GetMeasured> {
  const s3 = createNodeS3({ version: "bench", clock: createNodeClock(), environment: {} });
  const bucket = {
    ...task,
    accessKey: new Secret(task.accessKey),
    secretKey: new Secret(task.secretKey),
  };
  const head = await s3.head(bucket, task.key);
  if (!head.ok || head.value === null) throw new Error(head.ok ? "no object" : head.error.message);

  const rss = () => Deno.memoryUsage().rss;
  const hash = createHash("sha256");
  const before = rss();
  let peak = before;
  let chunks = 0;
  const start = performance.now();
  const got = await s3.get(bucket, head.value, (chunk) => {
    hash.update(chunk);
    if (chunks++ % LOOK_EVERY === 0) peak = Math.max(peak, rss());
    return Promise.resolve(true);
  });
  const sha256 = hash.digest("hex");
  const ms = performance.now() - start;
  if (!got.ok) throw new Error(got.error.message);
  return { ms, sha256, grownMb: (Math.max(peak, rss()) - before) / 2 ** 20 };
}

const measured = await measure(JSON.parse(Deno.args[0] ?? ""));
await Deno.stdout.write(new TextEncoder().encode(JSON.stringify(measured)));
