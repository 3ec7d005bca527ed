import assert from "node:assert/strict";
import { createSettledWorld, createWorld, type World } from "./world.ts";

const HOUR_MS = 3_600_000;

function answerSyncWith(world: World, action: unknown, count: number | null = 1): void {
  world.portal.fault({ match: { path: "/sync" }, count, action });
}

function refusal(status: number, code: string) {
  return { status, body: { error: { code, message: "said so" } } };
}

/** The moments of the syncs from now on, in seconds from now, while time passes. */
async function syncsWithin(world: World, ms: number): Promise<number[]> {
  const start = world.clock.now();
  const before = world.portal.portal.memory.requests.length;
  await world.pass(ms);
  return world.portal.portal.memory.requests.slice(before)
    .filter(({ path }) => path.endsWith("/sync"))
    .map(({ at }) => (Date.parse(at) - start) / 1000);
}

function gaps(moments: readonly number[]): number[] {
  return moments.slice(1).map((at, index) => at - (moments[index] ?? 0));
}

Deno.test("sync: 30 s apart, give or take 5 s", async () => {
  const world = await createSettledWorld();
  const apart = gaps(await syncsWithin(world, HOUR_MS / 3));
  assert.ok(apart.length > 30);
  assert.ok(apart.every((seconds) => seconds >= 25 && seconds <= 35));
  assert.ok(Math.max(...apart) - Math.min(...apart) > 5);
  await world.stop();
});

Deno.test("sync: 5xx, malformed answers and no network back off, and success resets it", async () => {
  const faults = [
    refusal(500, "internal"),
    { status: 503, text: "<html>" },
    { cut: "before" },
    { cut: "after" },
    { malformed: true },
    { not_json: true },
    { oversize: true },
    { status: 429 },
    { status: 200, body: {} },
    { merge: { time: null } },
    { merge: { desired: { revision: 1 }, desired_tag: "" } },
    { merge: { desired: { revision: 1 }, desired_tag: "\u00e4" } },
    { merge: { operation: "none" } },
  ];
  for (const action of faults) {
    const world = await createSettledWorld();
    answerSyncWith(world, action, 5);
    const moments = await syncsWithin(world, 300_000);
    const shown = `${JSON.stringify(action)} ${moments}`;
    const [one, two, three, four, five] = gaps(moments);
    const within = (gap: number | undefined, step: number) =>
      assert.ok(gap !== undefined && gap >= step * 0.8 && gap <= step * 1.2, shown);
    within(one, 5);
    within(two, 10);
    within(three, 20);
    // Cycles go on beside a longer wait, and the first one after it syncs.
    for (const gap of [four, five]) assert.ok(gap !== undefined && gap >= 32 && gap <= 131, shown);
    assert.equal((await world.status()).trouble, null);
    assert.equal(world.stored().channels.sync.failures, 0);
    await world.stop();
  }
});

Deno.test("sync: 429 is waited out as told, and counts as no failure", async () => {
  const world = await createSettledWorld();
  answerSyncWith(world, { status: 429, headers: { "Retry-After": "600" } });
  const [first, second] = await syncsWithin(world, 700_000);
  assert.ok(first !== undefined && second !== undefined);
  assert.ok(second - first >= 600 && second - first <= 635, `${second - first}`);
  assert.equal(world.stored().channels.sync.failures, 0);
  await world.stop();
});

Deno.test("sync: a restart makes one attempt at once in spite of backoff, but not of Retry-After", async () => {
  const world = await createSettledWorld();
  answerSyncWith(world, refusal(503, "internal"), 7);
  await world.pass(20 * 60_000);
  await world.stop();
  world.start();
  assert.equal((await syncsWithin(world, 1_000)).length, 1);

  answerSyncWith(world, { status: 429, headers: { "Retry-After": "3600" } });
  await world.pass(60_000);
  await world.stop();
  world.start();
  assert.deepEqual(await syncsWithin(world, HOUR_MS - 60_000), []);
  assert.equal((await syncsWithin(world, 60_000)).length > 0, true);
  await world.stop();
});

Deno.test("sync: three refusals in a row go on at the longest step", async () => {
  for (const status of [400, 404, 403, 302]) {
    const world = await createSettledWorld();
    answerSyncWith(world, refusal(status, "bad"), null);
    const apart = gaps(await syncsWithin(world, HOUR_MS / 3));
    assert.ok((apart[0] ?? 0) < 7 && (apart[1] ?? 0) < 13, apart.join());
    assert.ok(apart.slice(2).every((gap) => gap >= 240 && gap <= 335), apart.join());
    world.portal.portal.memory.faults.length = 0;
    await world.pass(340_000);
    assert.equal((await world.status()).trouble, null);
    const usual = gaps(await syncsWithin(world, 300_000));
    assert.ok(usual.every((gap) => gap <= 35), usual.join());
    await world.stop();
  }
});

Deno.test("sync: replayed is signed once more with the next second", async () => {
  const world = await createSettledWorld();
  answerSyncWith(world, refusal(400, "replayed"));
  const before = world.signed().length;
  const moments = await syncsWithin(world, 36_000);
  const [first, second] = world.signed().slice(before);
  assert.equal(moments[0], moments[1]);
  assert.equal(Number(second?.timestamp), Number(first?.timestamp) + 1);
  assert.notEqual(second?.signature, first?.signature);
  assert.equal((await world.status()).trouble, null);
  await world.stop();
});

Deno.test("sync: clock_skew is taken over at once, remembered, and told where it is large", async () => {
  for (const [offset, large] of [[-90_000, true], [7_200_000, true]] as const) {
    const world = await createSettledWorld();
    world.portal.portal.state.clockOffsetMs = offset;
    await world.pass(36_000);
    assert.ok(Math.abs(world.stored().clock_offset_ms - offset) <= 1);
    assert.deepEqual(world.portal.asked().slice(-2), ["POST /sync 409", "POST /sync 200"]);
    await world.pass(36_000);
    assert.equal(world.conditions().includes("clock_offset_large"), large);
    // It survives a restart: the first request is signed right.
    await world.stop();
    world.start();
    await world.pass(1_000);
    assert.equal(world.portal.asked().at(-1), "POST /sync 200");

    // The clock is set right again, and with it the condition goes.
    world.portal.portal.state.clockOffsetMs = 0;
    await world.pass(110_000);
    assert.ok(Math.abs(world.stored().clock_offset_ms) <= 1);
    assert.deepEqual(world.conditions(), []);
    await world.stop();
  }
});

Deno.test("sync: an offset that is small enough to be taken is a condition over 10 s only", async () => {
  for (const [offset, large] of [[9_000, false], [11_000, true], [-11_000, true]] as const) {
    const world = await createSettledWorld();
    world.portal.portal.state.clockOffsetMs = offset;
    await world.pass(80_000);
    assert.equal(world.conditions().includes("clock_offset_large"), large, `${offset}`);
    // Every answer's time is followed, without waiting for a 409.
    assert.ok(Math.abs(world.stored().clock_offset_ms - offset) <= 1_000);
    assert.equal(world.portal.asked().includes("POST /sync 409"), false);
    await world.stop();
  }
});

Deno.test("sync: a second clock_skew in a row backs off", async () => {
  const world = await createSettledWorld();
  const time = new Date(world.clock.now() + 90_000).toISOString();
  answerSyncWith(world, {
    status: 409,
    body: { error: { code: "clock_skew", message: "m", time } },
  }, 3);
  const moments = await syncsWithin(world, 60_000);
  assert.equal(moments[0], moments[1]);
  const [, second, third] = gaps(moments);
  assert.ok(second !== undefined && second >= 4 && second <= 6, moments.join());
  assert.ok(third !== undefined && third >= 0, moments.join());
  await world.stop();
});

Deno.test("sync: 426 is told as update_failed until the portal takes this version again", async () => {
  const world = await createSettledWorld();
  answerSyncWith(world, {
    status: 426,
    body: { error: { code: "protocol_too_old", message: "m", release: "9.9.9" } },
  }, 3);
  await world.pass(45_000);
  const { conditions, trouble } = await world.status();
  assert.deepEqual(conditions.map(({ code }) => code), ["update_failed"]);
  assert.match(conditions[0]?.message ?? "", /9\.9\.9/);
  assert.equal(trouble?.code, "protocol_too_old");
  await world.pass(300_000);
  assert.deepEqual(world.conditions(), []);
  await world.stop();
});

Deno.test("sync: without the portal the node is kept as it was last wanted", async () => {
  const world = await createSettledWorld();
  world.portal.down = true;
  world.disk.put("/etc/rancher/k3s/config.yaml.d/50-pbx-ingress.yaml", "disable: [everything]\n");
  await world.pass(20 * 60_000);
  assert.doesNotMatch(
    world.disk.text("/etc/rancher/k3s/config.yaml.d/50-pbx-ingress.yaml") ?? "",
    /everything/,
  );
  assert.equal((await world.status()).trouble?.code, "connect");
  world.portal.down = false;
  await world.pass(340_000);
  assert.equal((await world.status()).trouble, null);
  await world.stop();
});

Deno.test("sync: begins as soon as the enrollment is stored, with a k3s that never comes up", async () => {
  const world = createWorld();
  world.systemd.failNext("failed");
  world.start();
  await world.pass(1_000);
  const { node, desired, conditions } = world.lastReport();
  assert.deepEqual([node.api, node.ready, node.leader], ["down", null, false]);
  assert.deepEqual(desired, { revision: null, tag: null });
  assert.deepEqual(conditions, []);
  await world.stop();
});

Deno.test("sync: refusals count in a row: another answer in between begins anew", async () => {
  const world = await createSettledWorld();
  for (const status of [400, 400, 503, 400]) {
    answerSyncWith(world, refusal(status, "invalid_request"));
  }
  const apart = gaps(await syncsWithin(world, 400_000));
  // 5, 10 and 20 s, and then the fourth step: not the longest one.
  const fourth = apart[3] ?? 0;
  assert.ok(fourth >= 32 && fourth <= 48, apart.join());
  await world.stop();
});

/** From now on every answer of the portal is under way for 20 s. */
function answerSlowly(world: World): void {
  const peer = world.portal.peer.bind(world.portal);
  world.portal.peer = async (request) => {
    const reply = await peer(request);
    await world.clock.sleep(20_000);
    return reply;
  };
}

Deno.test("sync: an answer that is long under way makes no clock wrong", async () => {
  const world = await createSettledWorld();
  answerSlowly(world);
  await world.pass(240_000);
  assert.deepEqual(world.conditions(), []);
  // One that is wrong by more is told all the same.
  world.clock.setWallClock(world.clock.now() + 40_000);
  world.portal.portal.state.clockOffsetMs = -40_000;
  await world.pass(240_000);
  assert.deepEqual(world.conditions(), ["clock_offset_large"]);
  await world.stop();
});

Deno.test("sync: a slow answer does not make syncs rarer than every 30 s, give or take 5 s", async () => {
  const world = await createSettledWorld();
  answerSlowly(world);
  const apart = gaps(await syncsWithin(world, 600_000));
  assert.ok(apart.length >= 15, `${apart.length}`);
  assert.ok(apart.every((seconds) => seconds >= 25 && seconds <= 35), apart.join());
  await world.stop();
});

Deno.test("sync: a cycle that takes longer than cycles are apart leaves room for events and operations", async () => {
  const world = await createSettledWorld();
  await world.stop();
  let isSlow = true;
  world.start((ports) => ({
    ...ports,
    k8s: {
      ...ports.k8s,
      async ready() {
        if (isSlow) await world.clock.sleep(50_000);
        return await ports.k8s.ready();
      },
    },
  }));
  const operation = world.portal.offer({ id: "op-1", kind: "agent.rotate_key", params: {} });
  await world.pass(400_000);
  assert.equal(operation.result?.state, "succeeded");
  isSlow = false;
  await world.pass(60_000);
  await world.stop();
});
