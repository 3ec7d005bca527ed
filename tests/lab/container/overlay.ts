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

/** Unmounts what {@link mountOverlay} mounted in `directory` and removes the folder. */
export async function removeOverlay(directory: string): Promise<void> {
  const root = join(directory, "root");
  const mounted = (await runCommand("mountpoint", ["-q", root])).code === 0;
  if (mounted) await mustRun("umount", [root]);
  await Deno.remove(directory, { recursive: true });
}
