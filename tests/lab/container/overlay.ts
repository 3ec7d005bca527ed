import { join } from "node:path";
import { mustRun, runCommand } from "../command.ts";

/** A container's root: a writable layer over a base root that stays as it is. */
export interface OverlayRoot {
  /** The merged file system. */
  readonly root: string;
  /** The folder around it, for whatever else belongs to the container. */
  readonly directory: string;
}

/** Mounts a fresh writable layer over `baseRoot`. It survives reboots of the container. */
export async function mountOverlay(baseRoot: string, name: string): Promise<OverlayRoot> {
  const directory = await Deno.makeTempDir({ prefix: `${name}-` });
  const inFolder = (part: string) => join(directory, part);
  const [upper, work, root] = [inFolder("upper"), inFolder("work"), inFolder("root")];
  for (const path of [upper, work, root]) await Deno.mkdir(path);
  const layers = `lowerdir=${baseRoot},upperdir=${upper},workdir=${work}`;
  await mustRun("mount", ["-t", "overlay", "overlay", "-o", layers, root]);
  return { root, directory };
}

/** Makes a disk of so many MiB in a container's folder and gives its path. It survives reboots. */
export async function mountDisk(directory: string, mebibytes: number): Promise<string> {
  const disk = await Deno.makeTempDir({ dir: directory, prefix: "disk-" });
  await mustRun("mount", ["-t", "tmpfs", "tmpfs", "-o", `mode=0755,size=${mebibytes}m`, disk]);
  return disk;
}

/** Unmounts what was mounted in the container's folder and removes it. */
export async function removeOverlay(directory: string): Promise<void> {
  for await (const { name } of Deno.readDir(directory)) {
    const path = join(directory, name);
    const mounted = (await runCommand("mountpoint", ["-q", path])).code === 0;
    if (mounted) await mustRun("umount", [path]);
  }
  await Deno.remove(directory, { recursive: true });
}
