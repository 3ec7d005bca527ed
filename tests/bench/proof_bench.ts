import { CONFIG_FILE } from "../../core/state/paths.ts";
import { type EnrolledNode, isSync, startEnrolledNode } from "../lab/enrolled_node.ts";
import type { Bench } from "./bench.ts";
import type { Start } from "./first_request.ts";
import { IDLE, idleUse } from "./idle_use.ts";
import { median } from "./median.ts";
import { shippedPrograms } from "./shipped_programs.ts";

const ROUNDS = 3;

/** What the proof of an answer costs the program as it ships: idle cycles with and without `portal_keys`. */
export async function bench(): Promise<readonly Bench[]> {
  const world = await startEnrolledNode();
  const folder = await Deno.makeTempDir({ prefix: "pbx-bench-" });
  try {
    const programs = await shippedPrograms(folder, world.node.root);
    if (programs === null) return [];
    const run = ["run", "--root", world.node.root, "--cycle", String(IDLE.pauseMs / 1000)];
    const { proven, unproven } = await inTurns(world, {
      command: [programs.agent, ...run],
      isFirst: isSync,
    });
    return [{
      name: "proof",
      rows: [{
        what: "CPU time of an idle cycle with portal_keys, beside one without",
        value: proven,
        unit: "ms",
        baseline: unproven,
      }],
    }];
  } finally {
    await Deno.remove(folder, { recursive: true });
    await world.stop();
  }
}

/** In turns, so that whatever else the machine does befalls both; medians. */
async function inTurns(world: EnrolledNode, start: Start) {
  const file = world.node.root + CONFIG_FILE;
  const pinned = await Deno.readTextFile(file);
  const open = pinned.replace(/^portal_keys:\n(?: +- .*\n)+/m, "");
  if (open === pinned) throw new Error(`${file} has no portal_keys`);
  const used: { readonly proven: number[]; readonly unproven: number[] } = {
    proven: [],
    unproven: [],
  };
  for (let round = 0; round < ROUNDS; round++) {
    for (const [which, config] of [["unproven", open], ["proven", pinned]] as const) {
      await Deno.writeTextFile(file, config);
      used[which].push((await idleUse(world, start)).cpuMs);
    }
  }
  return { proven: median(used.proven), unproven: median(used.unproven) };
}
