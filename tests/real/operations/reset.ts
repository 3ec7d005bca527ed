import { waitUntil } from "../../lab/wait_until.ts";
import type { Node } from "../first_start/node.ts";
import { DATABASES, lookAt, type Truth } from "./truth.ts";

const WAIT = { timeoutMs: 60_000, everyMs: 20 };

/** Returns as soon as a reset has moved the database aside. */
export async function whenMoved(node: Node, before: Truth): Promise<void> {
  const count = before.oldDatabases.length;
  await waitUntil("the reset to move the database", async () => {
    return (await lookAt(node)).oldDatabases.length > count ? true : undefined;
  }, WAIT);
}

/** SIGKILL to the k3s by which the agent resets the cluster, and to nothing else. */
export async function killReset(node: Node): Promise<void> {
  for (const pid of await resets(node)) Deno.kill(pid, "SIGKILL");
}

/** Returns as soon as a reset runs. */
export async function whenBegun(node: Node): Promise<void> {
  await waitUntil("the reset to begin", async () => (await resets(node))[0], WAIT);
}

/** Returns as soon as a reset has moved the certificates aside, which is the last thing it does. */
export async function whenCertified(node: Node): Promise<void> {
  const count = (await certificates(node)).length;
  await waitUntil("the reset to move the certificates", async () => {
    return (await certificates(node)).length > count ? true : undefined;
  }, WAIT);
}

async function certificates({ container }: Node): Promise<string[]> {
  const list = await container.run(["ls", `${DATABASES}/..`]);
  return list.split("\n").filter((name) => name.startsWith("tls-"));
}

async function resets({ container }: Node): Promise<number[]> {
  const found: number[] = [];
  for (const pid of await container.hostPids("pbx-agent.service")) {
    const comm = await Deno.readTextFile(`/proc/${pid}/comm`).catch(() => "");
    if (comm.startsWith("k3s")) found.push(pid);
  }
  return found;
}
