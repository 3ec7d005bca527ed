import { tmpdir } from "node:os";
import { join } from "node:path";
import { runCommand } from "../command.ts";
import { removeCgroups } from "./cgroups.ts";
import { removeOverlay } from "./overlay.ts";

const OWNER = "owner";

/** Notes in the container's folder which process cleans it up. */
export async function noteOwner(directory: string, name: string): Promise<void> {
  await Deno.writeTextFile(join(directory, OWNER), `${Deno.pid} ${name}\n`);
}

/**
 * Removes what test runs that were killed left on this machine: mounts, cgroups, network namespaces
 * and folders. Their processes are gone already (see the death signal in machine.ts); a cgroup that
 * still has some is not theirs to take, and its container is left alone.
 */
export async function removeLeftovers(): Promise<void> {
  // Suites run side by side and all begin with this: without the lock two would unmount the same folder.
  using lock = await Deno.open(join(tmpdir(), "pbx-leftovers.lock"), { create: true, write: true });
  await lock.lock(true);
  for await (const { name: folder } of Deno.readDir(tmpdir())) {
    if (!folder.startsWith("pbx-")) continue;
    const directory = join(tmpdir(), folder);
    const noted = await Deno.readTextFile(join(directory, OWNER)).catch(() => "");
    const [, pid, name] = /^(\d+) ([a-z0-9-]+)\n$/.exec(noted) ?? [];
    if (pid === undefined || name === undefined || await isAlive(pid)) continue;
    try {
      await removeCgroups(name);
    } catch {
      continue;
    }
    await runCommand("ip", ["netns", "delete", name]);
    await removeOverlay(directory);
  }
}

async function isAlive(pid: string): Promise<boolean> {
  return await Deno.stat(`/proc/${pid}`).then(() => true, () => false);
}
