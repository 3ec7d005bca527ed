import { isK3sQuiet } from "../host/k3s_processes.ts";
import type { ProgramError } from "../ports/systemd.ts";
import type { Result } from "../result.ts";
import { K3S_UNIT } from "../state/paths.ts";
import type { StepTools } from "./definition.ts";
import { lookFor } from "./look_for.ts";
import { isUnitUp } from "./restore/hold.ts";

/** How long k3s has for its end, milliseconds; systemd gives it 90 s. */
const END_MS = 300_000;

/** Whether no k3s runs, after a while for it to end. */
export async function hasK3sEnded<P>(tools: StepTools<P>): Promise<boolean> {
  const ended = await lookFor(
    tools,
    "k3s to end",
    END_MS,
    async () => await isK3sDown(tools) ? true : null,
  );
  return ended !== null;
}

/** Whether no k3s runs now: neither its unit nor a process that belongs to none. */
export async function isK3sDown<P>({ ports }: StepTools<P>): Promise<boolean> {
  return !await isUnitUp(ports) && await isK3sQuiet(ports.machine);
}

/** Tells systemd to start k3s, within the step's limit: it may be busy, and what k3s starts on is there. */
export async function startUnit<P>(tools: StepTools<P>): Promise<Result<void, ProgramError>> {
  const { ports, say, waitFor } = tools;
  let last = await ports.systemd.start(K3S_UNIT);
  if (last.ok || last.error.code === "missing") return last;
  await say(`${last.error.message}: trying again`);
  await waitFor(`systemd to start ${K3S_UNIT}`, async () => {
    last = await ports.systemd.start(K3S_UNIT);
    return last.ok ? true : null;
  });
  return last;
}
