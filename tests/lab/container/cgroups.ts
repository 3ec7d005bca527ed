import { join } from "node:path";

const MOUNT = "/sys/fs/cgroup";

/**
 * Makes a cgroup of its own for the container `name` in every hierarchy that systemd uses, and gives
 * the `cgroup.procs` files that the container's starter writes itself into.
 */
export async function createCgroups(name: string): Promise<string[]> {
  const directories = await cgroupsOf(name);
  for (const directory of directories) await Deno.mkdir(directory);
  return directories.map((directory) => join(directory, "cgroup.procs"));
}

/** Removes a container's cgroups, deepest first. Throws where a process is still in one. */
export async function removeCgroups(name: string): Promise<void> {
  for (const directory of await cgroupsOf(name)) {
    if (await exists(directory)) await removeTree(directory);
  }
}

/**
 * A host with version 1 beside version 2 ("hybrid") has a named hierarchy for systemd and a unified
 * one, and nspawn needs a place in both; a host with version 2 alone has one.
 */
async function cgroupsOf(name: string): Promise<string[]> {
  const hybrid = await exists(join(MOUNT, "unified"));
  const roots = hybrid ? [join(MOUNT, "systemd"), join(MOUNT, "unified")] : [MOUNT];
  return roots.map((root) => join(root, name));
}

/** A cgroup's files cannot be removed, only its directory, and that only when it has no children. */
async function removeTree(directory: string): Promise<void> {
  for await (const entry of Deno.readDir(directory)) {
    if (entry.isDirectory) await removeTree(join(directory, entry.name));
  }
  // A process that was just killed may still be leaving.
  for (let attempt = 0;; attempt++) {
    try {
      return await Deno.remove(directory);
    } catch (error) {
      if (attempt === 50) throw error;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

async function exists(path: string): Promise<boolean> {
  return await Deno.stat(path).then(() => true, () => false);
}
