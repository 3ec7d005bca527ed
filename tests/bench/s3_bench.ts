import assert from "node:assert/strict";
import { findPart } from "../lab/parts.ts";
import { startS3Gateway } from "../lab/s3_gateway.ts";
import { waitUntil } from "../lab/wait_until.ts";
import { complain } from "../runner/say.ts";
import type { Bench } from "./bench.ts";
import { agentGet, curlGet, type S3GetMeasured } from "./s3_get.ts";

const SIZES = { small: 256 * 2 ** 20, large: 2 ** 30 };
const RUNS = 3;

/**
 * A download from a bucket: the agent's client beside `curl | sha256sum` of the same object. The best of
 * three each, because what else the machine does only ever adds.
 */
export async function bench(): Promise<readonly Bench[]> {
  try {
    await findPart("versitygw");
  } catch (missing) {
    complain(`s3 is left out: ${missing instanceof Error ? missing.message : String(missing)}`);
    return [];
  }
  const gateway = await startS3Gateway();
  try {
    await gateway.plantZeros("small", SIZES.small);
    await gateway.plantZeros("large", SIZES.large);
    await waitUntil("the gateway", () => agentGet(gateway, "small"), { timeoutMs: 60_000 });
    const small = await agentGet(gateway, "small");
    const ours: S3GetMeasured[] = [];
    const curls: number[] = [];
    for (let run = 0; run < RUNS; run++) {
      const curl = await curlGet(gateway, "large");
      const agent = await agentGet(gateway, "large");
      assert.equal(agent.sha256, curl.sha256);
      curls.push(curl.ms);
      ours.push(agent);
    }
    const large = "1 GB from a bucket, hashed";
    return [{
      name: "s3",
      rows: [
        {
          what: large,
          value: Math.min(...ours.map(({ ms }) => ms)),
          unit: "ms",
          baseline: Math.min(...curls),
        },
        {
          what: "memory growth on the way",
          value: Math.max(...ours.map(({ grownMb }) => grownMb)),
          unit: "MB",
        },
        { what: "the same with a quarter of it", value: small.grownMb, unit: "MB" },
      ],
    }];
  } finally {
    await gateway.stop();
  }
}
