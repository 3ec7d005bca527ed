import assert from "node:assert/strict";
import fc from "fast-check";
import { operate } from "../../../core/agent/operate.ts";
import { takeOffer } from "../../../core/agent/take_offer.ts";
import type { Ports } from "../../../core/ports/mod.ts";
import { fail } from "../../../core/result.ts";
import { STATE_FILE, UPGRADE_FILE } from "../../../core/state/paths.ts";
import { type CutPoint, mortalPorts } from "./cut_ports.ts";
import {
  type Behaviour,
  createUpgradeMachine,
  FROM_ENTRY,
  OLDER_ENTRY,
  openUpgradeAgent,
  TO,
  TO_ENTRY,
  type UpgradeMachine,
} from "./upgrade_world.ts";

const IS_LONG = Deno.env.get("PBX_LONG") === "1";

/** What one process of the agent is shown, and how it ends. */
interface Life {
  readonly bootId: "true" | "kept" | "unknown";
  readonly uptime: "true" | "unknown" | "small" | "large";
  readonly booted: "true" | "unknown" | typeof FROM_ENTRY | typeof TO_ENTRY | typeof OLDER_ENTRY;
  readonly oneShot: "true" | "unreadable" | "set" | "taken";
  /** What became of a file before the process began; `put back`: as it was before the upgrade's reboot. */
  readonly record: "whole" | "unreadable" | "absent";
  readonly state: "whole" | "put back";
  readonly cut: CutPoint | null;
}

/** Mostly the truth: lies about everything at once end an upgrade before it is interesting. */
function mostly<T>(truth: T, ...lies: readonly T[]): fc.Arbitrary<T> {
  return fc.oneof({ weight: 3, arbitrary: fc.constant(truth) }, {
    weight: 2,
    arbitrary: fc.constantFrom(...lies),
  });
}

const LIFE: fc.Arbitrary<Life> = fc.record({
  bootId: mostly<Life["bootId"]>("true", "kept", "unknown"),
  uptime: mostly<Life["uptime"]>("true", "unknown", "small", "large"),
  booted: mostly<Life["booted"]>("true", "unknown", FROM_ENTRY, TO_ENTRY, OLDER_ENTRY),
  oneShot: mostly<Life["oneShot"]>("true", "unreadable", "set", "taken"),
  record: mostly<Life["record"]>("whole", "unreadable", "absent"),
  state: mostly<Life["state"]>("whole", "put back"),
  cut: fc.option(
    fc.record({
      call: fc.integer({ min: 1, max: 120 }),
      moment: fc.constantFrom("before" as const, "after" as const),
    }),
    { nil: null, freq: 2 },
  ),
});

/** The machine's ports with the lies of one life. */
function lying(ports: Ports, life: Life): Ports {
  return {
    ...ports,
    machine: {
      ...ports.machine,
      async facts() {
        const facts = await ports.machine.facts();
        const uptimes = { true: facts.uptimeSeconds, unknown: null, small: 1, large: 1_000_000 };
        const ids = { true: facts.bootId, kept: "kept", unknown: null };
        return { ...facts, bootId: ids[life.bootId], uptimeSeconds: uptimes[life.uptime] };
      },
    },
    boot: {
      ...ports.boot,
      async booted() {
        const booted = await ports.boot.booted();
        if (life.booted === "true") return booted;
        return { ...booted, entry: life.booted === "unknown" ? null : life.booted };
      },
      async look() {
        const view = await ports.boot.look();
        if (!view.ok || life.oneShot === "true") return view;
        if (life.oneShot === "unreadable") {
          return fail({ code: "failed", message: "bootctl timed out" } as const);
        }
        const oneShot = life.oneShot === "set" ? TO_ENTRY : null;
        return { ...view, value: { ...view.value, oneShot } };
      },
    },
  };
}

/** One process to its end, to its cut, or until the machine goes down. */
async function live(machine: UpgradeMachine, life: Life): Promise<"ended" | "killed" | "down"> {
  const isDown = () => machine.isDown?.() === true;
  if (machine.startsAgent?.() === false) {
    while (!isDown() && await machine.clock.advanceToNext());
    return "down";
  }
  const process = mortalPorts({}, machine, { calls: [], cut: life.cut, reached: { calls: 0 } });
  let ended = false;
  const work = async () => {
    const context = await openUpgradeAgent(lying(process.ports, life));
    if (context.store.state.operation === null) {
      const offer = { id: "op_up", kind: "cluster.upgrade", params: { release: TO } };
      await takeOffer(context, offer, true);
    }
    const { operation } = context.store.state;
    if (operation !== null && operation.result === undefined) await operate(context, () => {});
  };
  void work().finally(() => ended = true);
  while (!ended && !process.isDead() && !isDown() && await machine.clock.advanceToNext());
  if (process.isDead()) return "killed";
  if (!ended) process.kill();
  return isDown() ? "down" : "ended";
}

/** How often the machine went down, by order or by the return's timer. */
async function downsOf(machine: UpgradeMachine, lives: readonly Life[]): Promise<number> {
  let downs = 0;
  let before = machine.disk.text(STATE_FILE) ?? "";
  for (const life of lives) {
    if (life.record === "absent") await machine.disk.remove(UPGRADE_FILE);
    if (life.record === "unreadable" && machine.disk.text(UPGRADE_FILE) !== null) {
      machine.disk.put(UPGRADE_FILE, "?");
    }
    if (life.state === "put back") machine.disk.put(STATE_FILE, before);
    const end = await live(machine, life);
    const state = machine.disk.text(STATE_FILE) ?? "";
    if (!state.includes('"name":"reboot"')) before = state;
    machine.disk.restart();
    if (end !== "down" && machine.isDown?.() !== true) continue;
    downs += 1;
    machine.reboot();
  }
  return downs;
}

const BEHAVIOUR = fc.constantFrom<Behaviour>("good", "panics", "no_agent", "no_api", "not_ready");

Deno.test("cluster.upgrade: whatever the evidence and the crashes, two orders to reboot at most", async () => {
  const orders = new Map<number, number>();
  await fc.assert(
    fc.asyncProperty(
      fc.array(LIFE, { minLength: 4, maxLength: 10 }),
      fc.array(BEHAVIOUR, { minLength: 1, maxLength: 3 }),
      fc.constantFrom("fresh" as const, "kept" as const, "cloned" as const),
      fc.constantFrom("own" as const, "host" as const),
      async (lives, behaviours, bootIds, uptime) => {
        const machine = createUpgradeMachine([...behaviours], { bootIds, uptime });
        const downs = await downsOf(machine, lives);
        const count = machine.systemd.calls.filter((call) => call === "reboot").length;
        orders.set(count, (orders.get(count) ?? 0) + 1);
        const story = `${machine.boots}`;
        assert.ok(count <= 2, `${count} orders: ${story}`);
        assert.ok(downs <= 2, `it went down ${downs} times: ${story}`);
        const there = machine.boots.filter((entry) => entry === TO_ENTRY).length;
        const isProven = machine.loader.variables.get("LoaderEntryDefault") === TO_ENTRY;
        assert.ok(there <= 1 || isProven, `the new image was started ${there} times: ${story}`);
      },
    ),
    { seed: 20260102, numRuns: IS_LONG ? 5_000 : 150 },
  );
  // The property says something only where nodes do reboot, and return.
  assert.ok((orders.get(1) ?? 0) > 10, JSON.stringify([...orders]));
  if (IS_LONG) assert.ok((orders.get(2) ?? 0) > 10, JSON.stringify([...orders]));
});
