import assert from "node:assert/strict";
import fc from "fast-check";
import { createFakeClock, type FakeClock } from "../../../adapters/fake/clock.ts";
import { createFakeK8s, type FakeK8s } from "../../../adapters/fake/k8s.ts";
import { createFakeLog } from "../../../adapters/fake/log.ts";
import { createLeader, type Leader, RENEW_MS } from "../../../core/cluster/leader.ts";
import type { JsonObject } from "../../../core/json.ts";
import type { K8s } from "../../../core/ports/k8s.ts";
import { fail } from "../../../core/result.ts";

const LEASE = "/apis/coordination.k8s.io/v1/namespaces/pbx-system/leases/pbx-agent-leader";

interface Cluster {
  readonly clock: FakeClock;
  readonly k8s: FakeK8s;
  /** An agent, whose machine has been up for `upMs`: its monotonic clock says something of its own. */
  agent(holder: string, upMs: number, k8s?: K8s, whyNot?: () => string | null): Leader;
  spec(): JsonObject;
}

function createCluster(): Cluster {
  const clock = createFakeClock();
  const k8s = createFakeK8s({ clock });
  return {
    clock,
    k8s,
    agent: (holder, upMs, through = k8s, whyNot = () => null) =>
      createLeader({
        k8s: through,
        clock: { ...clock, monotonic: () => clock.monotonic() + upMs },
        log: createFakeLog({ now: clock.now }),
        holder,
        whyNot: () => Promise.resolve(whyNot()),
      }),
    spec: () => k8s.read(LEASE)?.["spec"] as JsonObject,
  };
}

Deno.test("createLeader: the first to come makes the namespace and the lease, and leads", async () => {
  const { agent, spec, k8s } = createCluster();
  const one = agent("node-1", 0);
  assert.equal(one.leads(), false);
  await one.renew();
  assert.equal(one.leads(), true);
  assert.deepEqual(spec(), {
    holderIdentity: "node-1",
    leaseDurationSeconds: 60,
    acquireTime: "2026-01-01T00:00:00.000000Z",
    renewTime: "2026-01-01T00:00:00.000000Z",
    leaseTransitions: 0,
  });
  const labels = (k8s.read("/api/v1/namespaces/pbx-system")?.["metadata"] as JsonObject)["labels"];
  assert.equal((labels as JsonObject)["pbx.io/managed"], "true");
});

Deno.test("createLeader: a holder renews, and the other waits as long as it does", async () => {
  const { agent, clock, spec } = createCluster();
  const [one, two] = [agent("node-1", 0), agent("node-2", 9_000_000)];
  for (let i = 0; i < 20; i++) {
    await one.renew();
    await two.renew();
    assert.deepEqual([one.leads(), two.leads()], [true, false]);
    await clock.advance(RENEW_MS);
  }
  const { acquireTime, renewTime } = spec();
  assert.equal(acquireTime, "2026-01-01T00:00:00.000000Z");
  assert.equal(renewTime, "2026-01-01T00:04:45.000000Z");
});

Deno.test("createLeader: one that stands still stops leading before the other takes over", async () => {
  const { agent, clock, spec } = createCluster();
  const [one, two] = [agent("node-1", 0), agent("node-2", 9_000_000)];
  await one.renew();
  let oneStopped = 0;
  let twoLed = 0;
  for (let second = 1; second <= 90; second++) {
    await clock.advance(1_000);
    if (second % 15 === 0) await two.renew();
    assert.ok(!(one.leads() && two.leads()), `both lead after ${second} s`);
    if (!one.leads() && oneStopped === 0) oneStopped = second;
    if (two.leads() && twoLed === 0) twoLed = second;
  }
  assert.ok(oneStopped === 50 && twoLed >= 60 && twoLed <= 90, `${oneStopped}, ${twoLed}`);
  assert.equal(spec()["leaseTransitions"], 1);
  await one.renew();
  assert.deepEqual([one.leads(), two.leads()], [false, true]);
});

Deno.test("createLeader: the times in the lease mean nothing, only whether it changes", async () => {
  const { agent, clock, k8s } = createCluster();
  const [one, two] = [agent("node-1", 0), agent("node-2", 0)];
  await one.renew();
  for (const wrong of [Date.UTC(2000, 0, 1), Date.UTC(2099, 0, 1)]) {
    clock.setWallClock(wrong);
    for (let i = 0; i < 8; i++) {
      await one.renew();
      await two.renew();
      assert.deepEqual([one.leads(), two.leads()], [true, false]);
      await clock.advance(RENEW_MS);
    }
  }
  assert.notEqual(k8s.read(LEASE), null);
});

Deno.test("createLeader: of two that try at once one leads, whoever wrote first", async () => {
  const { agent, clock } = createCluster();
  const [one, two, three] = [agent("a", 0), agent("b", 0), agent("c", 0)];
  await Promise.all([one.renew(), two.renew(), three.renew()]);
  assert.equal([one, two, three].filter((each) => each.leads()).length, 1);
  await clock.advance(1);
  for (let i = 0; i < 10; i++) {
    // The one that led is gone; the others try in the same moment.
    await Promise.all([two.renew(), three.renew()]);
    assert.ok([one, two, three].filter((each) => each.leads()).length <= 1);
    await clock.advance(RENEW_MS);
  }
  assert.equal([two, three].filter((each) => each.leads()).length, 1);
});

Deno.test("createLeader: who cannot renew leads on until its lease runs out, and no longer", async () => {
  const { agent, clock, k8s } = createCluster();
  const one = agent("node-1", 0);
  await one.renew();
  k8s.breakWith({ kind: "down" });
  await clock.advance(49_000);
  await one.renew();
  assert.equal(one.leads(), true);
  await clock.advance(1_000);
  assert.equal(one.leads(), false);
  k8s.breakWith(null);
  await one.renew();
  assert.equal(one.leads(), true);
});

Deno.test("createLeader: an agent that was started again has its lease back at once", async () => {
  const { agent } = createCluster();
  await agent("node-1", 0).renew();
  const again = agent("node-1", 77);
  await again.renew();
  assert.equal(again.leads(), true);
});

Deno.test("createLeader: a lease that somebody deleted is made anew by its holder", async () => {
  const { agent, k8s } = createCluster();
  const [one, two] = [agent("node-1", 0), agent("node-2", 0)];
  await one.renew();
  k8s.drop(LEASE);
  await two.renew();
  assert.deepEqual([one.leads(), two.leads()], [true, false]);
  await one.renew();
  await two.renew();
  assert.deepEqual([one.leads(), two.leads()], [true, false]);
});

Deno.test("createLeader: a lease that was deleted is taken once its holder must have stopped", async () => {
  const { agent, k8s, clock } = createCluster();
  const [one, two] = [agent("node-1", 0), agent("node-2", 0)];
  await one.renew();
  k8s.drop(LEASE);
  for (let second = 0; second <= 60; second += 15) {
    await two.renew();
    assert.ok(!(one.leads() && two.leads()), `both lead after ${second} s`);
    await clock.advance(RENEW_MS);
  }
  assert.deepEqual([one.leads(), two.leads()], [false, true]);
});

/** What happens to one renewal: delays around the call's effect, a lost answer, a stop of the process. */
const trouble = fc.record({
  before: fc.constantFrom(0, 1, 3_000, 9_999),
  after: fc.constantFrom(0, 1, 3_000, 9_999),
  lost: fc.boolean(),
  pause: fc.constantFrom(0, 0, 0, 5_000, 44_000, 61_000, 95_000),
});

Deno.test("createLeader: never do two lead, whatever is slow, lost or stopped", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(trouble, { minLength: 6, maxLength: 12 }), { minLength: 2, maxLength: 3 }),
      async (plans) => {
        const { agent, clock, k8s } = createCluster();
        const done: Promise<void>[] = [];
        const leaders = plans.map((plan, index) => {
          let now = plan[0];
          async function slow<T>(call: () => Promise<T>) {
            const { before = 0, after = 0, lost = false } = now ?? {};
            await clock.sleep(before);
            const answer = await call();
            await clock.sleep(after);
            return lost ? fail({ code: "unreachable", message: "lost" } as const) : answer;
          }
          const through = {
            ...k8s,
            get: (ref) => slow(() => k8s.get(ref)),
            create: (ref, object) => slow(() => k8s.create(ref, object)),
            apply: (ref, object) => slow(() => k8s.apply(ref, object)),
          } as K8s;
          const leader = agent(`node-${index}`, index * 1_234_567, through);
          done.push((async () => {
            for (now of plan) {
              await leader.renew();
              await clock.sleep(RENEW_MS + now.pause);
            }
          })());
          return leader;
        });
        let over = false;
        const all = Promise.all(done).then(() => over = true);
        while (!over) {
          await clock.advance(500);
          const leading = leaders.filter((each) => each.leads()).length;
          assert.ok(leading <= 1, `${leading} lead at ${clock.monotonic()} ms`);
        }
        await all;
      },
    ),
    { numRuns: 30, seed: 7 },
  );
});

Deno.test("createLeader: who may not act on the cluster stops leading at once, and asks nothing of it", async () => {
  const { agent, k8s } = createCluster();
  let why: string | null = null;
  const one = agent("node-1", 0, k8s, () => why);
  await one.renew();
  assert.equal(one.leads(), true);
  k8s.forgetRequests();
  why = "the Kubernetes API is that of another cluster";
  await one.renew();
  assert.equal(one.leads(), false);
  assert.deepEqual(k8s.requests(), []);
  why = null;
  await one.renew();
  assert.equal(one.leads(), true);
});
