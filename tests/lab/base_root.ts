import { join } from "node:path";
import { cacheDirectory } from "./cache_directory.ts";
import { mustRun, onPath, runCommand } from "./command.ts";
import { missing, requireRoot } from "./container/host_checks.ts";

const SUITE = "bookworm";
const PACKAGES = ["systemd", "systemd-sysv", "dbus"];
const BUILD_TIMEOUT_MS = 10 * 60_000;
/** Part of the folder's name: raised when what is built here changes. */
const FORMAT = 2;

/**
 * The folder of a minimal Debian with systemd and, where `more` names any, other packages; built at the
 * first call (20 to 40 s, 205 MB) and kept in the lab's cache. Containers never write to it. `report`
 * hears what is done.
 */
export async function makeBaseRoot(
  report: (line: string) => void = (line) => void printLine(line),
  more: readonly string[] = [],
): Promise<string> {
  requireRoot("building the containers' base root");
  const name = ["base-root", SUITE, FORMAT, ...more].join("-");
  const root = join(await cacheDirectory(), name);
  if (await exists(root)) return root;
  if (!(await onPath("mmdebstrap"))) {
    throw new Error(missing("mmdebstrap", "systemd containers", "mmdebstrap"));
  }
  // Built beside its place and renamed, so that a build that was cut short is never taken for whole.
  const building = await Deno.makeTempDir({ dir: await cacheDirectory(), prefix: "building-" });
  const sources = await hostSources(SUITE);
  report(
    `building the base root ${root} (${SUITE}, ${[...PACKAGES, ...more].join(", ")}), about 30 s`,
  );
  report(
    `packages come from ${sources.length === 0 ? "Debian's default mirror" : sources.join(", ")}`,
  );
  try {
    await bootstrap(building, sources, more);
    await trim(building);
    await Deno.chmod(building, 0o755);
    await Deno.rename(building, root);
  } catch (error) {
    await Deno.remove(building, { recursive: true }).catch(() => {});
    // Another run on this machine may have been faster.
    if (!(await exists(root))) throw error;
  }
  return root;
}

async function bootstrap(
  root: string,
  sources: readonly string[],
  more: readonly string[],
): Promise<void> {
  const include = `--include=${[...PACKAGES, ...more].join(",")}`;
  const args = ["--variant=minbase", "--quiet", include, SUITE, root, ...sources];
  await mustRun("mmdebstrap", args, { timeoutMs: BUILD_TIMEOUT_MS });
}

/**
 * What would make boots differ or slow: timers of the package manager, and a machine identity that
 * all containers would share (empty: each gets its own at its first boot).
 */
async function trim(root: string): Promise<void> {
  for (
    const timer of ["apt-daily", "apt-daily-upgrade", "dpkg-db-backup", "e2scrub_all", "fstrim"]
  ) {
    await runCommand("systemctl", [`--root=${root}`, "mask", `${timer}.timer`]);
  }
  await Deno.writeTextFile(join(root, "etc/machine-id"), "");
  await Deno.writeTextFile(join(root, "etc/hostname"), "lab\n");
  // `journalctl --follow` sees nothing new on an overlay, and late elsewhere; the console is prompt.
  await Deno.mkdir(join(root, "etc/systemd/journald.conf.d"), { recursive: true });
  const console = "[Journal]\nForwardToConsole=yes\nRateLimitIntervalSec=0\n";
  await Deno.writeTextFile(join(root, "etc/systemd/journald.conf.d/console.conf"), console);
  // A journal on disk, so that the log of the boot before a reboot or a power cut can be read.
  await Deno.mkdir(join(root, "var/log/journal"), { recursive: true });
}

/** The host's own package sources where they serve the suite: its mirror is the one that is reachable. */
export async function hostSources(suite: string): Promise<string[]> {
  const files = ["/etc/apt/sources.list"];
  const parts = await Array.fromAsync(Deno.readDir("/etc/apt/sources.list.d")).catch(() => []);
  for (const { name } of parts) {
    if (/\.(list|sources)$/.test(name)) files.push(join("/etc/apt/sources.list.d", name));
  }
  const serving: string[] = [];
  for (const file of files) {
    const text = await Deno.readTextFile(file).catch(() => "");
    if (new RegExp(`debian.*${suite}`, "s").test(withoutComments(text))) serving.push(file);
  }
  return serving;
}

function withoutComments(text: string): string {
  return text.split("\n").filter((line) => !line.startsWith("#")).join("\n");
}

async function exists(path: string): Promise<boolean> {
  return await Deno.stat(path).then(() => true, () => false);
}

async function printLine(line: string): Promise<void> {
  await Deno.stderr.write(new TextEncoder().encode(`lab: ${line}\n`));
}
