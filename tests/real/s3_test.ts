// needs: versitygw
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
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

/** The contract's world with what only a server on a folder can do. */
interface GatewayWorld extends S3World {
  /** Makes an object of so many zeros, or changes the size of one behind the server's back. */
  plantZeros(key: string, size: number): Promise<void>;
  /** Connections so far. */
  connections(): number;
}

/** The real client at versitygw, with a proxy between that cuts and is silent. */
async function openGateway(): Promise<GatewayWorld> {
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
    plantZeros: gateway.plantZeros,
    connections: () => proxy.connections,
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

Deno.test("s3 (versitygw): gets 50 MB over connections that end after 1 MB each", async () => {
  const world = await openGateway();
  const size = 50_000_000;
  await world.plantZeros("big", size);
  const found = await world.s3.head(world.bucket, "big");
  assert.ok(found.ok && found.value?.size === size);
  world.cutAfter(1_000_000);
  const hash = createHash("sha256");
  const sink = (chunk: Uint8Array) => Promise.resolve(hash.update(chunk) !== null);
  assert.deepEqual(await world.s3.get(world.bucket, found.value, sink), { ok: true, value: size });
  const zeros = createHash("sha256").update(new Uint8Array(size)).digest("hex");
  assert.equal(hash.digest("hex"), zeros);
  assert.ok(world.connections() >= 50, `${world.connections()} connections`);
  await world.close();
});

Deno.test("s3 (versitygw): an object that is shorter than it was listed is refused", async () => {
  const world = await openGateway();
  await world.plantZeros("snapshot", 5_000_000);
  const listed = await world.s3.list(world.bucket, "snapshot");
  const [object] = listed.ok ? listed.value.objects : [];
  assert.equal(object?.size, 5_000_000);
  await world.plantZeros("snapshot", 4_999_999);
  const got = await world.s3.get(world.bucket, object, () => Promise.resolve(true));
  assert.ok(!got.ok && ["wrong_size", "changed"].includes(got.error.code));
  await world.close();
});
