import assert from "node:assert/strict";
import { parse } from "yaml";
import { encodeBase64 } from "../../core/protocol/base64.ts";
import { signingPublicKey } from "../../core/protocol/signing.ts";
import { Secret } from "../../core/secret.ts";
import type { LogLine } from "./program.ts";
import { each } from "./wait.ts";
import { inWorld, type World } from "./world.ts";

/** The events that a first start is known to log; a run without one of them is not a whole one. */
const EXPECTED = [
  "agent_started",
  "keys_created",
  "enrolled",
  "token_deleted",
  "manifest_verified",
  "desired_state_accepted",
  "drop_in_written",
  "k3s_configured",
  "k3s_started",
  "api_up",
  "secret_applied",
  "first_start_done",
];

/** A line of the log: an event, and for which time it is logged. */
interface Point {
  readonly event: string;
  readonly time: number;
}

/** Said where something was waited for, so not in every run; or within a millisecond of another line. */
const PASSED_OVER = ["first_start_waits", "api_down", "api_down_cleared", "stage"];

/** The lines to kill at. */
function pointsOf(lines: readonly LogLine[]): readonly Point[] {
  const events = lines.map(({ event }) => event);
  return events
    .map((event, index) => ({
      event,
      time: events.slice(0, index).filter((e) => e === event).length + 1,
    }))
    .filter(({ event }) => !PASSED_OVER.includes(event));
}

Deno.test("run: killed at any line of its first start, it resumes there and enrolls once", async () => {
  let points: readonly Point[] = [];
  await inWorld(async (world) => {
    const agent = await world.startSynced();
    points = pointsOf(agent.lines());
    agent.kill("SIGKILL");
  });
  const known = points.map(({ event }) => event);
  for (const event of EXPECTED) assert.ok(known.includes(event), `${event} is logged`);

  await each(points, async ({ event, time }) => {
    await inWorld(async (world) => {
      const first = world.start();
      first.onLines(() => {
        if (first.lines().filter((line) => line.event === event).length >= time) {
          first.kill("SIGKILL");
        }
      });
      const what = `killed at ${event}, the ${time}. time`;
      assert.equal((await first.ended()).signal, "SIGKILL", what);
      await finishes(world, first.lines(), what);
    });
  });
});

Deno.test("run: killed again and again during its first start, it still arrives", async () => {
  await inWorld(async (world) => {
    const lines: LogLine[] = [];
    for (let kill = 1; kill <= 5; kill++) {
      const agent = world.start();
      let said = 0;
      agent.onLines((count) => said = count);
      // Two lines say that and as what it starts; the third is the first that is progress.
      await world.until("progress, or nothing left to do", async () => {
        return said >= 3 ||
          (said >= 2 && (await world.state().catch(() => null))?.["first_start"] === "done");
      });
      agent.kill("SIGKILL");
      await agent.ended();
      lines.push(...agent.lines());
    }
    await finishes(world, lines, "killed five times");
  });
});

for (const cut of ["after", "midway"] as const) {
  Deno.test(`run: an enrollment's answer that is lost (${cut}) is asked for again, not anew`, async () => {
    await inWorld(async (world) => {
      world.fault({ match: { path: "/enroll" }, action: { cut } });
      const first = world.start();
      await world.until(
        "the enrollment that is lost",
        () => world.requests("/enroll").length === 1,
      );
      assert.equal(world.agents().length, 1, "the portal has enrolled it");
      // Not after the answer, which never arrives: in the middle of asking, before its backoff is over.
      first.kill("SIGKILL");
      await first.ended();
      await finishes(world, first.lines(), `the answer was cut ${cut}`);
      assert.equal(world.requests("/enroll").length, 2);
    });
  });
}

Deno.test("run: an enrollment's answer that is lost is asked for again without a restart, too", async () => {
  await inWorld(async (world) => {
    world.fault({ match: { path: "/enroll" }, action: { cut: "after" } });
    const agent = await world.startSynced();
    assert.equal(world.requests("/enroll").length, 2);
    assert.equal(world.agents().length, 1);
    await agent.stop();
  });
});

/** Starts it again and checks that it arrives as if nothing had happened. */
async function finishes(world: World, before: readonly LogLine[], what: string): Promise<void> {
  const keys = await publicKeyOf(world);
  const agent = await world.startSynced();
  const [enrolled, ...others] = world.agents();
  assert.deepEqual(others, [], `${what}: a second agent`);
  assert.equal(enrolled?.keys.signing, await publicKeyOf(world), what);
  if (keys !== null) assert.equal(enrolled?.keys.signing, keys, `${what}: other keys`);
  await world.until(`${what}: the token's end`, async () => {
    return !("enrollment_token" in parse(await world.read("/etc/pbx-agent/config.yaml")));
  });
  assert.deepEqual(world.running.portal.memory.breaches, [], what);
  const refused = world.requests().filter(({ status }) => status !== 200 && status !== null);
  assert.deepEqual(refused, [], what);
  assert.deepEqual(world.report()?.conditions, [], what);
  assert.deepEqual(await agent.stop(), { code: 0, signal: null }, what);

  const log = [...before, ...agent.lines()];
  const made = log.filter(({ event }) => event === "keys_created");
  assert.ok(made.length <= 1, `${what}: keys were made ${made.length} times`);
  const starts = await world.node.systemctlCalls();
  assert.deepEqual(starts.filter((call) => call.startsWith("restart")), [], what);
}

/** The signing key in identity.json, null where there is none. */
async function publicKeyOf(world: World): Promise<string | null> {
  const text = await world.read("/var/lib/pbx-agent/identity.json").catch(() => null);
  if (text === null) return null;
  const seed = Uint8Array.from(atob(JSON.parse(text).keys.signing), (char) => char.charCodeAt(0));
  return encodeBase64(signingPublicKey(new Secret<Uint8Array>(seed)));
}
