import assert from "node:assert/strict";
import { inWorld } from "./world.ts";

Deno.test("run: a portal whose certificate it is told to trust is one like any other", async () => {
  await inWorld(async (world) => {
    await world.write("/etc/pbx-agent/ca.pem", world.running.caPem ?? "", 0o644);
    const agent = await world.startSynced();
    assert.match(world.running.url, /^https:/);
    assert.deepEqual(world.running.portal.memory.breaches, []);
    assert.deepEqual(await agent.stop(), { code: 0, signal: null });
  }, { tls: true });
});

Deno.test("run: a portal whose certificate nobody vouches for gets no request", async () => {
  await inWorld(async (world) => {
    const agent = world.start();
    const line = await agent.event("tls");
    assert.match(line.message, /127\.0\.0\.1/);
    assert.match(line.message, /certificate/i);
    const status = JSON.parse((await world.cli("status")).stdout);
    assert.equal(status.trouble.code, "tls");
    assert.deepEqual(world.requests(), []);
    await agent.stop();
  }, { tls: true, config: (yaml) => yaml.replace(/^ca_file: .*\n/m, "") });
});
