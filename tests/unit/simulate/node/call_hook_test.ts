import assert from "node:assert/strict";
import { createFakeClock } from "../../../../adapters/fake/clock.ts";
import { createCallHooks } from "../../../../simulate/node/call_hook.ts";

/** Calls of a process, and what happened around them, in order. */
function start() {
  const clock = createFakeClock();
  const hooks = createCallHooks(clock);
  const told: string[] = [];
  let isAlive = true;
  return {
    clock,
    told,
    kill: () => isAlive = false,
    plan(call: string | null, calls: number, moment: "before" | "during" | "after") {
      const work = (at: string) => told.push(`step ${moment} ${at}`);
      hooks.set({ call, calls, moment, duringMs: 500, work });
    },
    async make(name: string) {
      const work = async () => {
        told.push(`${name} begins`);
        await clock.sleep(1_000);
        told.push(`${name} ends`);
      };
      await hooks.around(() => isAlive, name, work, []);
      told.push(`${name} returns`);
    },
  };
}

Deno.test("callHooks: something happens before, in and after the call that was meant, and once", async () => {
  for (const moment of ["before", "during", "after"] as const) {
    const { clock, told, plan, make } = start();
    plan("disk.write", 2, moment);
    for (const name of ["disk.write", "disk.read", "disk.write", "disk.write"]) {
      const call = make(name);
      await clock.advance(1_000);
      await call;
    }
    const own = told.slice(6, -3);
    const lines = ["disk.write begins", "disk.write ends", "disk.write returns"];
    lines.splice(["before", "during", "after"].indexOf(moment), 0, `step ${moment} disk.write`);
    assert.deepEqual(own, lines);
  }
});

Deno.test("callHooks: a call in which its process is killed does not return", async () => {
  const { clock, told, plan, make, kill } = start();
  plan(null, 1, "after");
  void make("k3s.saveSnapshot");
  await clock.advance(500);
  kill();
  await clock.advance(500);
  assert.deepEqual(told, [
    "k3s.saveSnapshot begins",
    "k3s.saveSnapshot ends",
    "step after k3s.saveSnapshot",
  ]);
});
