import { join } from "node:path";
import { hostSources } from "../base_root.ts";
import { cacheDirectory } from "../cache_directory.ts";
import { mustRun, onPath } from "../command.ts";
import { missing } from "../container/host_checks.ts";

const SUITE = "bookworm";
const PACKAGES = [
  "busybox-static",
  "kmod",
  "linux-image-cloud-amd64",
  "ovmf",
  "systemd",
  "systemd-boot",
  "systemd-boot-efi",
];
const DOWNLOAD_TIMEOUT_MS = 10 * 60_000;
/** Part of the folder's name: raised when what is unpacked here changes. */
const FORMAT = 1;

/** What virtual machines and their images are made of: unpacked Debian packages, never run here. */
export interface VmParts {
  /** The folder that the packages are unpacked into, as on a root. */
  readonly root: string;
  /** OVMF: the firmware's code, and its variables as they leave the factory. */
  readonly firmware: { readonly code: string; readonly variables: string };
  /** systemd-boot, for `EFI/BOOT/BOOTX64.EFI` and `EFI/systemd`. */
  readonly loader: string;
  /** The stub that makes an image of a kernel and an initrd. */
  readonly stub: string;
  readonly kernel: Kernel;
}

/** A Linux kernel. */
export interface Kernel {
  readonly file: string;
  /** As `uname -r` prints it. */
  readonly release: string;
  /** The folder of its modules' folders. */
  readonly modules: string;
}

/** Downloads and unpacks the packages at the first call (about 10 s, 210 MB); kept in the lab's cache. */
export async function vmParts(): Promise<VmParts> {
  const root = await unpacked("vm-parts", PACKAGES);
  const efi = join(root, "usr/lib/systemd/boot/efi");
  return {
    root,
    firmware: {
      code: join(root, "usr/share/OVMF/OVMF_CODE_4M.fd"),
      variables: join(root, "usr/share/OVMF/OVMF_VARS_4M.fd"),
    },
    loader: join(efi, "systemd-bootx64.efi"),
    stub: join(efi, "linuxx64.efi.stub"),
    kernel: await kernelIn(root),
  };
}

/**
 * Debian's kernel for every machine, as that for clouds has no driver for the watchdog that QEMU offers;
 * it takes twice as long to start. Downloaded at the first call (about 15 s, 500 MB).
 */
export async function kernelWithWatchdog(): Promise<Kernel> {
  return await kernelIn(await unpacked("vm-kernel", ["linux-image-amd64"]));
}

async function kernelIn(root: string): Promise<Kernel> {
  const modules = join(root, "lib/modules");
  const [release] = await Array.fromAsync(Deno.readDir(modules), ({ name }) => name);
  if (release === undefined) throw new Error(`${modules} has no kernel`);
  const file = join(root, `boot/vmlinuz-${release}`);
  return { file, release, modules: join(modules, release, "kernel") };
}

/** A folder of the cache with these packages and what they need, unpacked only: no script of theirs is run. */
async function unpacked(name: string, packages: readonly string[]): Promise<string> {
  const root = join(await cacheDirectory(), `${name}-${SUITE}-${FORMAT}`);
  if (await exists(root)) return root;
  if (!(await onPath("mmdebstrap"))) {
    throw new Error(missing("mmdebstrap", "virtual machines", "mmdebstrap"));
  }
  // Built beside its place and renamed, so that a download that was cut short is never taken for whole.
  const building = await Deno.makeTempDir({ dir: await cacheDirectory(), prefix: "building-" });
  const what = ["--variant=extract", "--quiet", `--include=${packages.join(",")}`];
  const args = [...what, SUITE, building, ...await hostSources(SUITE)];
  try {
    await mustRun("mmdebstrap", args, { timeoutMs: DOWNLOAD_TIMEOUT_MS });
    await Deno.chmod(building, 0o755);
    await Deno.rename(building, root);
  } catch (error) {
    await Deno.remove(building, { recursive: true }).catch(() => {});
    if (!(await exists(root))) throw error;
  }
  return root;
}

async function exists(path: string): Promise<boolean> {
  return await Deno.stat(path).then(() => true, () => false);
}
