import { onPath } from "../command.ts";

const NEEDED = [
  { program: "systemd-nspawn", from: "systemd-container" },
  { program: "nsenter", from: "util-linux" },
  { program: "setpriv", from: "util-linux" },
  { program: "ip", from: "iproute2" },
];

/** Throws, with the way out, where this machine cannot run a systemd container. */
export async function requireContainerHost(): Promise<void> {
  requireRoot("systemd containers");
  for (const { program, from } of NEEDED) {
    if (!(await onPath(program))) throw new Error(missing(program, "systemd containers", from));
  }
}

/** Throws unless the test runs as root. */
export function requireRoot(what: string): void {
  if (Deno.uid() !== 0) {
    throw new Error(`${what} need root: run the suite again with sudo, or on a machine of its own`);
  }
}

/** The message for a program that is not there: which, what for, how to get it. */
export function missing(program: string, purpose: string, debianPackage: string): string {
  return `${program} is missing; ${purpose} need it: ` +
    `apt-get install -y --no-install-recommends ${debianPackage}`;
}
