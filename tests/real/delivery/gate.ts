import type { Container } from "../../lab/container.ts";
import { waitUntil } from "../../lab/wait_until.ts";

/** A call of systemctl and its moment: `before stop pbx-agent.service`, `after daemon-reload`. */
export type Moment = `${"before" | "after"} ${string}`;

/**
 * In the place of systemctl: holds a call for as long as a file asks for it. The files are in /run, so
 * that a boot after a cut finds none.
 */
const GATE = `#!/bin/sh
gate() {
  [ -e "/run/lab/hold $1" ] || return 0
  : > "/run/lab/held $1"
  while [ -e "/run/lab/hold $1" ]; do sleep 0.1; done
}
call=$1\${2:+ $2}
gate "before $call"
/usr/bin/systemctl.real "$@"
code=$?
gate "after $call"
exit $code
`;

/** Puts the gate into a root that has not booted yet. */
export async function installGate(root: string): Promise<void> {
  await Deno.rename(`${root}/usr/bin/systemctl`, `${root}/usr/bin/systemctl.real`);
  await Deno.writeTextFile(`${root}/usr/bin/systemctl`, GATE, { mode: 0o755 });
  await Deno.chmod(`${root}/usr/bin/systemctl`, 0o755);
}

/** Holds every such call from now on. */
export async function hold(container: Container, moment: Moment): Promise<void> {
  await container.writeFile(`/run/lab/hold ${moment}`, "");
}

/** Waits until one is held. */
export async function waitHeld(container: Container, moment: Moment): Promise<void> {
  await waitUntil(
    `systemctl to be held ${moment}`,
    async () => await container.readFile(`/run/lab/held ${moment}`) === "" || undefined,
    { timeoutMs: 120_000 },
  );
}

/** Lets all go on. */
export async function open(container: Container): Promise<void> {
  await container.run(["sh", "-c", "rm -f /run/lab/hold*"]);
}
