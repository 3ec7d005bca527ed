import { createNodeClock } from "../../adapters/node/clock.ts";
import { createNodeDisk } from "../../adapters/node/disk.ts";
import { createNodeK8s } from "../../adapters/node/k8s.ts";
import { readPlan } from "../../core/agent/plan_view.ts";
import type { Arguments } from "../arguments.ts";
import type { Entry } from "../entry.ts";
import { EXIT, type ExitCode } from "../exit_codes.ts";
import { planText } from "../plan_text.ts";
import { print } from "../print.ts";
import { VERSION } from "../version.ts";

/** `pbx-agent plan`: what the next cycle would change in the cluster, and why. Writes nothing. */
export async function plan(args: Arguments, { releaseKeys }: Entry): Promise<ExitCode> {
  const disk = createNodeDisk(args.root === undefined ? {} : { root: args.root });
  const k8s = createNodeK8s({ disk, clock: createNodeClock(), version: VERSION });
  const known = await readPlan(disk, k8s, releaseKeys);
  k8s.close();
  if (!known.ok) {
    print("stderr", `pbx-agent: ${known.error}\n`);
    return EXIT.FAILED;
  }
  print("stdout", args.json ? `${JSON.stringify(known.value, null, 2)}\n` : planText(known.value));
  return EXIT.OK;
}
