import assert from "node:assert/strict";
import { waitForApi } from "../../lab/k3s_unit.ts";
import { waitUntil } from "../../lab/wait_until.ts";
import { layOutNode, type Node, type NodeOptions } from "../first_start/node.ts";

/** Room for k3s's data, MiB: some databases that were moved aside, and what the agent leaves free. */
const DISK_MEBIBYTES = 4_096;
/** k3s's data has a disk of its own, which a test can fill. */
const K3S_DISK = "/var/lib/rancher";

/** Cycles of a second, and no pause before a start after a kill: every test waits for both. */
export const FASTER = `[Service]
ExecStart=
ExecStart=/var/lib/pbx-agent/bin/pbx-agent run --cycle 1
RestartSec=1
`;

/** A node whose first start is done: enrolled, k3s up, its Secrets in the API, nothing pending. */
export async function startNode(options: NodeOptions = {}): Promise<Node> {
  const disks = [{ guest: K3S_DISK, mebibytes: DISK_MEBIBYTES }];
  const node = await layOutNode({ disks, ...options });
  try {
    const { container, agent } = node;
    await container.writeFile("/etc/systemd/system/pbx-agent.service.d/10-lab.conf", FASTER);
    await container.run(["systemctl", "daemon-reload"]);
    await agent.start();
    await waitUntil("the first start to be done", async () => {
      const state = JSON.parse(await container.readFile("/var/lib/pbx-agent/state.json"));
      return state.first_start === "done" && state.desired !== null ? true : undefined;
    }, { timeoutMs: 240_000, everyMs: 500 });
    await waitForApi(container);
    return node;
  } catch (error) {
    const journal = await node.agent.journal().catch(String);
    await node.stop();
    throw new Error(`${String(error)}\n${journal.split("\n").slice(-20).join("\n")}`);
  }
}

const FILLER = `${K3S_DISK}/filler`;
const REST = `${K3S_DISK}/filler-of-the-rest`;

/** Fills k3s's disk but for so many MiB. */
export async function fillDisk({ container }: Node, leaveMebibytes: number): Promise<void> {
  const free = await container.run(["stat", "--file-system", "--format=%a %S", K3S_DISK]);
  const [blocks = 0, size = 0] = free.split(" ").map(Number);
  const bytes = blocks * size - leaveMebibytes * 1024 ** 2;
  await container.run(["fallocate", `--length=${bytes}`, FILLER]);
}

/** Writes on until nothing is left, whoever else writes: quick only after {@link fillDisk}. */
export async function exhaustDisk({ container }: Node): Promise<void> {
  const { stderr } = await container.exec(["dd", "if=/dev/zero", `of=${REST}`, "bs=1M"]);
  assert.match(stderr, /No space left/);
}

/** Gives all of it back. */
export async function freeDisk({ container }: Node): Promise<void> {
  await container.run(["rm", "--force", FILLER, REST]);
}
