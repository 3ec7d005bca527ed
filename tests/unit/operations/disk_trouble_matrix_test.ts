import assert from "node:assert/strict";
import type { FakeDisk } from "../../../adapters/fake/disk.ts";
import type { DiskError } from "../../../core/ports/disk.ts";
import { fail } from "../../../core/result.ts";
import { STATE_FILE } from "../../../core/state/paths.ts";
import { type CutCase, runCut } from "./cut_matrix.ts";
import type { Machine } from "./machine.ts";
import { createRejoinMachine } from "./rejoin_world.ts";
import { createRestoreMachine, type RestoreMachine, SNAPSHOT } from "./restore_world.ts";
import { assertDisarmed, upgradeCase } from "./upgrade_case.ts";
import { createUpgradeMachine, TO_ENTRY, type UpgradeMachine } from "./upgrade_world.ts";

/**
 * The matrix of disk trouble: an operation runs to its end while the disk fails at one of its calls, for that
 * call alone or for ten minutes from it. What is committed elsewhere is completed, so it succeeds.
 */

/** Every run, and not only the first call of each kind on each path: minutes. */
const IS_LONG = Deno.env.get("PBX_LONG") === "1";
/** How long the disk fails where it does for a while, milliseconds. */
const TEN_MINUTES = 600_000;

const WRITES = /^(?:write|append|makeDirectory|rename|syncDirectory|remove)$/;
const READS = /^(?:read|list|stat)$/;

/** The calls that fail, and how. */
interface Trouble<M> {
  readonly code: DiskError["code"];
  readonly calls: RegExp;
  /** Whether calls count yet: from the beginning unless told. */
  readonly from?: (machine: M) => boolean;
  readonly durations?: readonly number[];
}

async function run<M extends Machine>(
  one: CutCase<M>,
  trouble: Trouble<M>,
  at: number | null,
  ms: number,
): Promise<readonly string[]> {
  const seen: string[] = [];
  await runCut({
    ...one,
    async setUp() {
      const machine = await one.setUp();
      const disk: FakeDisk = machine.disk;
      let until = Number.NEGATIVE_INFINITY;
      disk.onCall((call, path) => {
        if (!trouble.calls.test(call) || !isUnderWay(disk) || /identity\.json/.test(path)) {
          return null;
        }
        if (trouble.from?.(machine) === false) return null;
        seen.push(`${call} ${path}`);
        if (seen.length === at) {
          until = machine.clock.monotonic() + ms;
          return trouble.code;
        }
        return machine.clock.monotonic() < until ? trouble.code : null;
      });
      return machine;
    },
    async assertEnd(machine, outcome) {
      machine.disk.onCall(null);
      await one.assertEnd(machine, outcome);
    },
  }, null);
  return seen;
}

/** Whether the operation has begun a step and has no result: what comes before and after is not its own. */
function isUnderWay(disk: FakeDisk): boolean {
  const state = disk.text(STATE_FILE) ?? "";
  return /"state": ?"started"/.test(state) && !/"result": ?\{/.test(state);
}

async function matrix<M extends Machine>(one: CutCase<M>, trouble: Trouble<M>): Promise<number> {
  const calls = await run(one, trouble, null, 0);
  let runs = 0;
  for (const [index, call] of calls.entries()) {
    if (!IS_LONG && calls.indexOf(call) !== index) continue;
    for (const ms of trouble.durations ?? [0, TEN_MINUTES]) {
      runs += 1;
      try {
        await run(one, trouble, index + 1, ms);
      } catch (cause) {
        throw new Error(`${call} (number ${index + 1}) is ${trouble.code} for ${ms} ms`, { cause });
      }
    }
  }
  return runs;
}

function restore(from: "local" | "s3", token = false): CutCase<RestoreMachine> {
  return {
    setUp: () => createRestoreMachine(),
    offer: (machine) => ({
      id: "op_disk",
      kind: "cluster.restore",
      params: {
        snapshot: SNAPSHOT,
        from,
        ...(token ? { token: machine.seal("k3s-token-in-clear") } : {}),
      },
    }),
    assertEnd({ k3s, disk }) {
      assert.equal(k3s.runs.length, 1, "one reset");
      assert.deepEqual(disk.paths().filter((path) => path.includes("hold-k3s")), []);
    },
  };
}

const REJOIN: CutCase<ReturnType<typeof createRejoinMachine>> = {
  setUp: () => createRejoinMachine(),
  offer: () => ({ id: "op_disk", kind: "server.rejoin", params: {} }),
  assertEnd({ removed }) {
    assert.equal(removed.length, 1);
  },
};

Deno.test("cluster.restore: a disk that is full at any write, for one write or for ten minutes", async () => {
  const runs = await matrix(restore("s3", true), { code: "full", calls: WRITES });
  assert.ok(runs > 60, String(runs));
});

Deno.test("cluster.restore: once the reset has begun, no read that fails is a verdict", async () => {
  const from = ({ k3s }: RestoreMachine) => k3s.runs.length > 0;
  const runs = await matrix(restore("local"), { code: "io", calls: READS, from });
  assert.ok(runs > 20, String(runs));
});

Deno.test("server.rejoin: a disk that is full at any write, for one write or for ten minutes", async () => {
  const runs = await matrix(REJOIN, { code: "full", calls: WRITES });
  assert.ok(runs > 40, String(runs));
});

Deno.test("server.rejoin: once the member is out, no read that fails is a verdict", async () => {
  const runs = await matrix(REJOIN, {
    code: "io",
    calls: READS,
    from: ({ removed }) => removed.length > 0,
  });
  assert.ok(runs > 20, String(runs));
});

/** Whether the new image is the default: from here on only clearing up is left. */
function isCommitted({ loader }: UpgradeMachine): boolean {
  return loader.variables.get("LoaderEntryDefault") === TO_ENTRY;
}

Deno.test("cluster.upgrade: once the new image is the default, a full disk only delays the end", async () => {
  // An older image that cannot be dropped now is for the next upgrade to drop.
  const one: CutCase<UpgradeMachine> = {
    ...upgradeCase(() => createUpgradeMachine()),
    mayEnd: ["succeeded"],
    assertEnd(machine) {
      assertDisarmed(machine);
      assert.ok(isCommitted(machine));
    },
  };
  const runs = await matrix(one, { code: "full", calls: WRITES, from: isCommitted });
  assert.ok(runs > 10, String(runs));
});

Deno.test("cluster.upgrade: a boot loader that does not keep a proven image for a while is asked again", async () => {
  const one = upgradeCase(() => {
    const machine = createUpgradeMachine();
    const { boot, clock } = machine.ports;
    const { setDefault } = boot;
    let since: number | null = null;
    Object.assign(boot, {
      setDefault(entry: string | null) {
        if (entry !== TO_ENTRY) return setDefault(entry);
        since ??= clock.monotonic();
        return clock.monotonic() < since + 60_000
          ? Promise.resolve(fail({ code: "failed", message: "the firmware's memory is full" }))
          : setDefault(entry);
      },
    });
    return machine;
  }, (_machine, { result }) => assert.equal(result.state, "succeeded", JSON.stringify(result)));
  await runCut(one, null);
});
