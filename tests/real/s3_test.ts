// needs: versitygw
import { createNodeClock } from "../../adapters/node/clock.ts";
import { createNodeS3 } from "../../adapters/node/s3.ts";
import type { Bucket } from "../../core/ports/s3.ts";
import { Secret } from "../../core/secret.ts";
import { s3Contract, type S3World } from "../contract/s3_contract.ts";
import { startCuttingProxy } from "../lab/cutting_proxy.ts";
import { freePort } from "../lab/free_port.ts";
import { startS3Gateway } from "../lab/s3_gateway.ts";
import { waitUntil } from "../lab/wait_until.ts";

/** How much faster the client's time runs, so that 30 s of silence are a test's length. */
const PACE = 10;

/** The real client at versitygw, with a proxy between that cuts and is silent. */
async function openGateway(): Promise<S3World> {
  const gateway = await startS3Gateway();
  const port = Number(new URL(gateway.endpoint).port);
  await waitUntil("versitygw to listen", () => connects(port), { timeoutMs: 30_000 });
  const proxy = startCuttingProxy(port);
  const clock = createNodeClock();
  let shift = 0;
  const s3 = createNodeS3({
    version: "1.2.3",
    environment: {},
    clock: {
      ...clock,
      now: () => clock.now() + shift,
      monotonic: () => clock.monotonic() * PACE,
      sleep: (ms, signal) => clock.sleep(ms / PACE, signal),
    },
  });
  let endpoint = `127.0.0.1:${proxy.port}`;
  const bucket = (keys: { accessKey: string; secretKey: string }): Bucket => ({
    endpoint,
    bucket: gateway.bucket,
    region: gateway.region,
    accessKey: new Secret(keys.accessKey),
    secretKey: new Secret(keys.secretKey),
    endpointCa: gateway.authority,
  });
  return {
    s3,
    get bucket() {
      return bucket(gateway);
    },
    put: gateway.put,
    remove: gateway.remove,
    cutAfter: (bytes) => proxy.cutAfter = bytes,
    goAway: (how) => {
      if (how === "silent") proxy.isSilent = true;
      else endpoint = `127.0.0.1:${freePort()}`;
    },
    shiftClock: (ms) => shift = ms,
    stranger: () => bucket(gateway.stranger),
    close: async () => {
      await proxy.close();
      await gateway.stop();
    },
  };
}

async function connects(port: number): Promise<true> {
  (await Deno.connect({ hostname: "127.0.0.1", port })).close();
  return true;
}

s3Contract("versitygw", openGateway);
