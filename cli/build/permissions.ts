import { PROXY_VARIABLES } from "../../adapters/node/proxy.ts";
import {
  AGENT_UNIT_FILE,
  CONFIG_DIRECTORY,
  INSTALL_LOCK_FILE,
  K3S_HOLD_DROP_IN,
  K3S_PROGRAM,
  parentOf,
  RETURN_UNITS,
  ROLLBACK_UNITS,
  STATE_DIRECTORY,
  SYSTEMD_DIRECTORY,
} from "../../core/state/paths.ts";

/** One thing that the program may reach, and what for. A path stands for all that is below it. */
export interface Permission {
  /** `own`: to read and to write. */
  readonly may: "read" | "own" | "run" | "env" | "sys";
  readonly what: string;
  readonly why: string;
}

/**
 * All that is baked into the program but the network: nothing prompts, no argument and no variable of the
 * environment widens it, and what is not here is refused by the runtime.
 */
export const PERMISSIONS: readonly Permission[] = [
  { may: "own", what: CONFIG_DIRECTORY, why: "configuration; the used token is taken out of it" },
  { may: "own", what: STATE_DIRECTORY, why: "identity, state, operations, the program's updates" },
  { may: "own", what: "/etc/rancher", why: "k3s's configuration, drop-ins and kubeconfig" },
  { may: "own", what: "/var/lib/rancher", why: "k3s's manifests, token, snapshots and database" },
  { may: "read", what: INSTALL_LOCK_FILE, why: "whether an installation is under way" },
  { may: "read", what: SYSTEMD_DIRECTORY, why: "which units are there; to sync the folder" },
  { may: "own", what: AGENT_UNIT_FILE, why: "uninstall removes it" },
  ...ROLLBACK_UNITS.flatMap((unit) =>
    ownUnit(unit, "takes back an update that does not prove itself")
  ),
  ...RETURN_UNITS.flatMap((unit) =>
    ownUnit(unit, "returns to the node image before one that does not prove itself")
  ),
  { may: "own", what: parentOf(K3S_HOLD_DROP_IN), why: "keeps k3s stopped during a restore" },
  {
    may: "own",
    what: "/run/systemd/system/pbx-agent-version.service",
    why: "has a new program say its version before it takes over",
  },
  { may: "own", what: "/run/pbx-agent-version", why: "what that prints" },
  { may: "read", what: "/boot", why: "the ESP, or where it is mounted: which image has booted" },
  { may: "read", what: "/efi", why: "the ESP where it is mounted here" },
  ...["/boot", "/boot/efi", "/efi"].map((esp): Permission => ({
    may: "own",
    what: `${esp}/EFI/Linux`,
    why: "images of the node: a new one is put there, an old one taken away",
  })),
  { may: "read", what: K3S_PROGRAM, why: "whether it is there and which it is" },
  { may: "read", what: "/etc/os-release", why: "the system's name and version" },
  { may: "read", what: "/usr/lib/os-release", why: "the same, where /etc has none" },
  { may: "read", what: "/etc/ssl", why: "a ca_file of the configuration" },
  { may: "read", what: "/etc/pki", why: "a ca_file of the configuration" },
  { may: "read", what: "/usr/share/ca-certificates", why: "a ca_file of the configuration" },
  { may: "read", what: "/usr/local/share/ca-certificates", why: "a ca_file of the configuration" },
  { may: "run", what: "/usr/bin/systemctl", why: "units of k3s and its own; a reboot" },
  {
    may: "run",
    what: "/usr/bin/journalctl",
    why: "logs of an operation's failure and diagnostics",
  },
  { may: "run", what: "/usr/bin/bootctl", why: "boot entries, and setting the next one" },
  { may: "run", what: "/usr/bin/cat", why: "the boot ID and the boot loader's EFI variables" },
  {
    may: "run",
    what: "/usr/bin/sha256sum",
    why: "the hash of its own file, where that is not in its usual place",
  },
  { may: "run", what: "/usr/bin/systemd-cgls", why: "a running k3s that no unit knows" },
  { may: "run", what: "/usr/bin/pgrep", why: "the same, where a container shows no groups" },
  { may: "run", what: K3S_PROGRAM, why: "its version, snapshots, the reset of a restore" },
  ...PROXY_VARIABLES.map((what): Permission => ({
    may: "env",
    what,
    why: "the way to the portal",
  })),
  { may: "sys", what: "uid", why: "whether it is root" },
  { may: "sys", what: "hostname", why: "what k3s may have called this node" },
  { may: "sys", what: "osRelease", why: "the kernel's version, for the report" },
  { may: "sys", what: "osUptime", why: "a fact of the report" },
  { may: "sys", what: "systemMemoryInfo", why: "a fact of the report" },
  { may: "sys", what: "statfs", why: "the room on the disk" },
];

/** A unit's file; a document is written beside its place first. */
function ownUnit(unit: string, why: string): readonly Permission[] {
  return ["", ".tmp"].map((ending) => ({
    may: "own",
    what: `${SYSTEMD_DIRECTORY}/${unit}${ending}`,
    why,
  }));
}

/**
 * The flags of `deno compile` for them. The network is open to every host: the portal is named on the
 * node, artifacts and buckets by the portal, and the kinds of things that are fetched are checked by
 * what they are signed with. Native libraries and modules from elsewhere are closed to everybody.
 *
 * @param root puts every path below a folder, for the machine of a lab (`--root DIR`)
 */
export function permissionFlags(root = ""): readonly string[] {
  // What the kernel of a lab's machine shows are files like all others.
  const shown: readonly Permission[] = root === "" ? [] : [
    { may: "read", what: "/proc", why: "facts of the machine" },
  ];
  const paths = (...mays: readonly Permission["may"][]) =>
    [...PERMISSIONS, ...shown].filter(({ may }) => mays.includes(may))
      .map(({ what }) => root + what).join(",");
  const names = (wanted: Permission["may"]) =>
    PERMISSIONS.filter(({ may }) => may === wanted).map(({ what }) => what).join(",");
  return [
    "--no-prompt",
    `--allow-read=${paths("read", "own")}`,
    `--allow-write=${paths("own")}`,
    `--allow-run=${paths("run")}`,
    `--allow-env=${names("env")}`,
    `--allow-sys=${names("sys")}`,
    "--allow-net",
    "--deny-ffi",
    "--deny-import",
  ];
}
