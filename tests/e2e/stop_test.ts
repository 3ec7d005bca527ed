import assert from "node:assert/strict";
import type { Program } from "./program.ts";
import { namesIn } from "./tree.ts";
import { each } from "./wait.ts";
import { inWorld, type World, type WorldOptions } from "./world.ts";

/** A moment to end the program at: brings it there, and gives it. */
interface Moment extends WorldOptions {
  readonly name: string;
  /** A call that cannot be ended may hold it up; then it ends in the middle of it. */
  readonly held?: boolean;
  reach(world: World): Promise<Program>;
}

/** Longer than any test: whoever waits for this answer is ended while it waits. */
const HANG = { delay_ms: 600_000 };

const MOMENTS: readonly Moment[] = [
  {
    name: "while it enrolls at a portal that hangs",
    async reach(world) {
      world.fault({ match: { path: "/enroll" }, action: HANG });
      const agent = world.start();
      await world.until("the enrollment", () => world.running.portal.memory.faults.length === 0);
      return agent;
    },
  },
  {
    name: "during a sync that hangs",
    async reach(world) {
      const agent = await world.startSynced();
      world.fault({ match: { path: "/sync" }, action: HANG });
      await world.until("the sync", () => world.running.portal.memory.faults.length === 0);
      return agent;
    },
  },
  {
    name: "while a manifest hangs",
    async reach(world) {
      world.fault({ match: { path: "/releases/*" }, action: HANG });
      const agent = world.start();
      await world.until("the manifest", () => world.running.portal.memory.faults.length === 0);
      return agent;
    },
  },
  {
    name: "between two cycles",
    reach: (world) => world.startSynced(),
  },
  {
    name: "during a backoff",
    async reach(world) {
      await world.admin("POST", "/outage", { down: true });
      const agent = world.start();
      await agent.event("connect");
      return agent;
    },
  },
  {
    name: "while it waits as the portal told it to",
    async reach(world) {
      world.fault({ action: { status: 429, headers: { "retry-after": "600" } } });
      const agent = world.start();
      await agent.event("too_many_requests");
      return agent;
    },
  },
  {
    name: "while k3s's API is silent",
    held: true,
    async reach(world) {
      const agent = await world.startSynced();
      world.node.api()?.breakWith({ kind: "hang" });
      await world.until("its first unanswered question", async () => {
        const before = world.requests("/sync").length;
        await new Promise((resolve) => setTimeout(resolve, 500));
        return world.requests("/sync").length === before;
      });
      return agent;
    },
  },
  {
    name: "while systemctl does not come back",
    held: true,
    async reach(world) {
      await world.write("/usr/bin/systemctl", "#!/bin/sh\n: > ${0}.called\nexec sleep 15\n", 0o755);
      const agent = world.start();
      await world.until("the call", async () => {
        return await world.read("/usr/bin/systemctl.called").catch(() => null) !== null;
      });
      return agent;
    },
  },
  {
    name: "while the metadata service refuses it",
    config: (yaml) => yaml.replace(/^metadata_url: .*$/m, "metadata_url: http://127.0.0.1:9"),
    async reach(world) {
      const agent = world.start();
      await agent.event("no_server_id");
      return agent;
    },
  },
  {
    name: "idle, because the token was refused",
    async reach(world) {
      world.fault({
        action: { status: 409, body: { error: { code: "image_mismatch", message: "other" } } },
      });
      const agent = world.start();
      await agent.event("idle");
      return agent;
    },
  },
];

for (const signal of ["SIGTERM", "SIGINT"] as const) {
  Deno.test(`run: ${signal} ends it at any moment with 0, and every file is whole`, async () => {
    await each(signal === "SIGTERM" ? MOMENTS : MOMENTS.slice(0, 2), async (moment) => {
      await inWorld(async (world) => {
        const agent = await moment.reach(world);
        agent.kill(signal);
        const end = await agent.ended(10_000);
        assert.deepEqual(end, { code: 0, signal: null }, `${moment.name}:\n${agent.stderr()}`);
        const last = agent.lines().at(-1);
        assert.equal(last?.event, "agent_ended", moment.name);
        if (moment.held !== true) {
          assert.equal(last?.level, "info", `${moment.name}: at its own pace`);
        }
        for (const name of ["identity.json", "state.json"]) {
          JSON.parse(await world.read(`/var/lib/pbx-agent/${name}`));
        }
        const left = await namesIn(`${world.root}/var/lib/pbx-agent`);
        assert.deepEqual(left.filter((name) => name.endsWith(".tmp")), [], moment.name);
      }, moment);
    });
  });
}

Deno.test("run: ended while the enrollment's answer is on its way, it asks for it again", async () => {
  await inWorld(async (world) => {
    world.fault({ match: { path: "/enroll" }, action: { ...HANG, cut: "after" } });
    const first = world.start();
    await world.until("the enrollment", () => world.running.portal.memory.faults.length === 0);
    assert.deepEqual(await first.stop(), { code: 0, signal: null });
    const second = await world.startSynced();
    assert.equal(world.agents().length, 1);
    await second.stop();
  });
});
