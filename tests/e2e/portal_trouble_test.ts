import assert from "node:assert/strict";
import type { Program } from "./program.ts";
import { each, pause } from "./wait.ts";
import { CYCLE_S, inWorld, type World } from "./world.ts";

async function kill(program: Program): Promise<void> {
  program.kill("SIGKILL");
  await program.ended();
}

/** Time for several cycles, in which nothing may be sent. */
async function quiet(world: World, what: string, expected: number): Promise<void> {
  await pause(CYCLE_S * 1000 * 5);
  assert.equal(world.requests().length, expected, what);
}

Deno.test("run: a revoked agent makes one request after each start, until it counts again", async () => {
  await inWorld(async (world) => {
    const first = await world.startSynced();
    const [agent] = world.agents();
    if (agent === undefined) throw new Error("nobody has enrolled");
    await world.admin("POST", `/agents/${agent.id}/revoke`);
    await first.event("revoked");
    await world.admin("DELETE", "/requests");
    const k3s = await world.node.systemctlCalls();
    await quiet(world, "nothing after the 401", 0);
    await kill(first);

    for (const end of ["SIGTERM", "SIGKILL"] as const) {
      await world.admin("DELETE", "/requests");
      const again = world.start();
      await again.event("revoked");
      assert.deepEqual(world.requests().map(({ path, status }) => [path, status]), [
        ["/agent/v1/sync", 401],
      ]);
      await quiet(world, "one request after a start", 1);
      assert.equal(JSON.parse((await world.cli("status")).stdout).stage, "revoked");
      again.kill(end);
      await again.ended();
    }
    const asked = (await world.node.systemctlCalls()).slice(k3s.length);
    assert.deepEqual(
      asked.filter((call) => !call.startsWith("is-active")),
      [],
      "k3s is left alone",
    );

    // There is no call for this: a portal does not take a revocation back, but a restored one may.
    agent.revoked = false;
    const back = await world.startSynced();
    await world.until("the revocation's end on disk", async () => {
      return (await world.state())["revoked"] === false;
    });
    assert.equal(world.agents().length, 1);
    assert.deepEqual(await back.stop(), { code: 0, signal: null });
  });
});

/** Ways to be refused once, by whatever the agent asks. */
const REFUSED_ONCE = ["/sync", "/releases/*"];

Deno.test("run: a single 401 counts, wherever it comes from, and the next start asks again", async () => {
  await each(REFUSED_ONCE, async (path) => {
    await inWorld(async (world) => {
      const body = { error: { code: "revoked", message: "ordered by the test" } };
      world.fault({ match: { path }, action: { status: 401, body } });
      const first = world.start();
      await world.until("the state of being revoked", async () => {
        return (await world.state().catch(() => null))?.["revoked"] === true;
      });
      await kill(first);
      const second = await world.startSynced();
      assert.equal(world.report()?.desired.revision, 1, path);
      await second.stop();
    });
  });
});

Deno.test("run: a portal that is gone changes nothing, and is told when it is back", async () => {
  await inWorld(async (world) => {
    const agent = await world.startSynced();
    await world.admin("POST", "/outage", { down: true });
    const line = await agent.event("connect");
    assert.match(line.message, /127\.0\.0\.1/);
    const status = JSON.parse((await world.cli("status")).stdout);
    assert.deepEqual([status.stage, status.trouble.code], ["syncing", "connect"]);
    assert.equal(status.channels.sync.failures, 1);
    assert.equal(await world.node.unitState("k3s.service"), "active");
    await world.admin("POST", "/outage", { down: false });
    await agent.event("portal_back");
    assert.equal((await world.state())["trouble"], null);
    await agent.stop();
  });
});

Deno.test("run: started while the portal is gone, it keeps k3s up and syncs when it is back", async () => {
  await inWorld(async (world) => {
    await kill(await world.startSynced());
    await world.admin("POST", "/outage", { down: true });
    await world.node.reboot();
    const agent = world.start();
    await agent.event("connect");
    const state = await world.state();
    assert.equal((state["desired"] as { state: { revision: number } }).state.revision, 1);
    await world.admin("POST", "/outage", { down: false });
    await agent.event("portal_back");
    await agent.stop();
  });
});

Deno.test("run: the backoff's step survives restarts, and each start makes one attempt at once", async () => {
  await inWorld(async (world) => {
    await kill(await world.startSynced());
    await world.admin("DELETE", "/requests");
    world.fault({ match: { path: "/sync" }, count: null, action: { status: 503 } });
    for (let failures = 1; failures <= 4; failures++) {
      const agent = world.start();
      await world.until(`failure ${failures}`, async () => {
        return failuresOf(await world.state()) === failures;
      });
      // The first step is 5 s, so what comes within a few cycles would be a second attempt.
      await quiet(world, `attempts after ${failures} starts`, failures);
      await kill(agent);
    }
    world.mend();
    const agent = await world.startSynced();
    await world.until("the backoff's beginning anew", async () => {
      return failuresOf(await world.state()) === 0;
    });
    await agent.stop();
  });
});

function failuresOf(state: Record<string, unknown>): number {
  return (state["channels"] as { sync: { failures: number } }).sync.failures;
}

/** What is asked when the portal says that it has had enough. */
const ASKED = ["/enroll", "/sync"];

Deno.test("run: a Retry-After is waited out across a restart", async () => {
  await each(ASKED, async (path) => {
    await inWorld(async (world) => {
      const waitMs = 4_000;
      world.fault({ match: { path }, action: { status: 429, headers: { "retry-after": "4" } } });
      const first = world.start();
      await first.event("too_many_requests");
      await kill(first);
      const [told] = world.requests(path);
      const second = await world.startSynced();
      const [, next] = world.requests(path);
      const waited = Date.parse(next?.at ?? "") - Date.parse(told?.at ?? "");
      assert.ok(waited >= waitMs, `${path}: asked again after ${waited} ms`);
      await second.stop();
    });
  });
});

Deno.test("run: how far the clocks are apart is learnt once, survives a restart, and unlearnt", async () => {
  await each([180_000, -7_200_000], async (offset) => {
    await inWorld(async (world) => {
      await world.admin("PUT", "/clock", { offset_ms: offset });
      const first = await world.startSynced();
      const skewed = () => world.requests().filter(({ code }) => code === "clock_skew").length;
      assert.equal(skewed(), 1);
      const learnt = Number((await world.state())["clock_offset_ms"]);
      assert.ok(Math.abs(learnt - offset) < 5_000, `${learnt} is about ${offset}`);
      await world.until("the condition in a report", () => {
        return world.report()?.conditions.some(({ code }) => code === "clock_offset_large");
      });
      await kill(first);

      const second = await world.startSynced();
      assert.equal(skewed(), 1, "not learnt a second time");
      await world.admin("PUT", "/clock", { offset_ms: 0 });
      await world.until("a report without the condition", () => {
        return world.report()?.conditions.length === 0;
      });
      assert.ok(Math.abs(Number((await world.state())["clock_offset_ms"])) < 5_000);
      assert.deepEqual(world.running.portal.memory.breaches, []);
      await second.stop();
    });
  });
});

Deno.test("run: a token that is refused three times is not tried again, not by a restart either", async () => {
  await inWorld(async (world) => {
    const body = { error: { code: "token_expired", message: "ordered by the test" } };
    world.fault({ match: { path: "/enroll" }, count: null, action: { status: 401, body } });
    for (let refused = 1; refused <= 3; refused++) {
      const agent = world.start();
      await world.until(`refusal ${refused}`, async () => {
        const state = await world.state().catch(() => null);
        return (state?.["enrollment"] as { refused: number } | null)?.refused === refused;
      });
      await kill(agent);
    }
    const agent = world.start();
    await agent.event("idle");
    await quiet(world, "three requests in all", 3);
    assert.equal(JSON.parse((await world.cli("status")).stdout).stage, "refused");
    assert.deepEqual(await agent.stop(), { code: 0, signal: null });
  });
});
