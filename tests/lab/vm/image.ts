import { createHash } from "node:crypto";
import { basename, join } from "node:path";
import { cacheDirectory } from "../cache_directory.ts";
import { makeImageRoot, MODULE_FOLDER } from "./image_root.ts";
import { type EarlyFault, initScript, WATCHDOG_MODULES } from "./init_script.ts";
import { type InitrdFile, packFiles, packInitrd } from "./initrd.ts";
import { type Kernel, kernelWithWatchdog, type VmParts, vmParts } from "./parts.ts";
import { SHELL_FILES } from "./shell_unit.ts";
import { makeUki } from "./uki.ts";

/** A node image. */
export interface Image {
  readonly file: string;
  readonly version: string;
  /** Boot entry id, which is its name on the ESP. */
  readonly entry: string;
  readonly sha256: string;
  readonly size: number;
}

/** What distinguishes an image from others. */
export interface ImageOptions {
  readonly version: string;
  readonly fault?: EarlyFault;
  /** Beyond systemd and the agent's surroundings. */
  readonly files?: readonly InitrdFile[];
}

/** Builds an image into `folder`. What all of them have in common is built once. */
export async function makeImage(folder: string, options: ImageOptions): Promise<Image> {
  const { version, fault, files = [] } = options;
  const parts = await vmParts();
  const kernel = fault === "hang" ? await kernelWithWatchdog() : parts.kernel;
  const entry = `pbx-${version}-amd64.efi`;
  const osRelease = osReleaseOf(version);
  const own = join(folder, `${entry}.own`);
  await packFiles([
    { path: "init", text: initScript(fault), executable: true },
    { path: "usr/lib/os-release", text: osRelease },
    ...SHELL_FILES,
    ...(fault === "hang" ? watchdogFiles(kernel) : []),
    ...files,
  ], own);
  const initrd = join(folder, `${entry}.initrd`);
  await concatenate(await commonInitrd(parts), own, initrd);
  const file = join(folder, entry);
  const commandLine = `console=ttyS0 panic=1 quiet loglevel=4 pbx.release=${version}`;
  await makeUki(parts, { kernel, initrd, commandLine, osRelease, output: file });
  for (const path of [own, initrd]) await Deno.remove(path);
  const bytes = await Deno.readFile(file);
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  return { file, version, entry, sha256, size: bytes.length };
}

function watchdogFiles(kernel: Kernel): InitrdFile[] {
  return WATCHDOG_MODULES.map((module) => ({
    path: `${MODULE_FOLDER.slice(1)}/${basename(module)}.ko`,
    copyOf: `${join(kernel.modules, module)}.ko`,
  }));
}

function osReleaseOf(version: string): string {
  return `NAME="Lab node"\nID=pbx\nVERSION_ID=${version}\nPRETTY_NAME="Lab node ${version}"\n` +
    `IMAGE_ID=pbx\nIMAGE_VERSION=${version}\n`;
}

async function concatenate(first: string, second: string, output: string): Promise<void> {
  await Deno.copyFile(first, output);
  await Deno.writeFile(output, await Deno.readFile(second), { append: true });
}

/** The part of the initrd that is the same in every image; its name has the hash of what it is made by. */
async function commonInitrd(parts: VmParts): Promise<string> {
  const recipe = await Deno.readFile(new URL("image_root.ts", import.meta.url));
  const hash = createHash("sha256").update(recipe).update(parts.root).digest("hex").slice(0, 16);
  const file = join(await cacheDirectory(), `vm-initrd-${hash}`);
  if (await Deno.stat(file).then(() => true, () => false)) return file;
  const work = await Deno.makeTempDir({ dir: await cacheDirectory(), prefix: "building-" });
  try {
    const root = join(work, "root");
    await Deno.mkdir(root);
    await Deno.chmod(root, 0o755);
    await makeImageRoot(parts, root);
    await packInitrd(root, join(work, "initrd"));
    await Deno.rename(join(work, "initrd"), file);
    return file;
  } finally {
    await Deno.remove(work, { recursive: true });
  }
}
