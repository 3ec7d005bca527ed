import assert from "node:assert/strict";
import { createNode, kubectl, waitForApi } from "../../lab/k3s_unit.ts";
import { waitUntil } from "../../lab/wait_until.ts";
import type { Node } from "../first_start/node.ts";
import { DATABASES, HOLDS, lookAt } from "./truth.ts";

const STATE = "/var/lib/pbx-agent";
const PROGRAM = `${STATE}/bin/pbx-agent`;
/** Where the program lies that is run after the agent's own is gone. */
const COPY = "/root/pbx-agent";

/** Somebody makes k3s's database anew: nothing reaches the new cluster, until the old one is back. */
export async function rebuildByHand({ container }: Node, hostname: string): Promise<void> {
  const k3s = (verb: string) =>
    container.run(["systemctl", verb, "k3s.service"], { timeoutMs: 120_000 });
  const aside = `${DATABASES}-aside`;
  await k3s("stop");
  await container.run(["mv", DATABASES, aside]);
  await k3s("start");
  await waitForApi(container);
  await createNode(container, hostname);
  const conditions = async () => {
    const state = JSON.parse(await container.readFile(`${STATE}/state.json`));
    return (state.conditions as readonly { readonly code: string }[]).map(({ code }) => code);
  };
  await waitUntil(
    "other_cluster",
    async () => (await conditions()).includes("other_cluster") || undefined,
    { timeoutMs: 30_000 },
  );
  // Cycles are a second apart here.
  await new Promise((resolve) => setTimeout(resolve, 5_000));
  const ours = ["get", "secrets,leases,helmcharts", "-A", "-l", "pbx.io/managed=true", "-o=name"];
  assert.equal(await kubectl(container, ours), "");
  await k3s("stop");
  await container.run(["mv", DATABASES, `${DATABASES}-of-the-other`]);
  await container.run(["mv", aside, DATABASES]);
  await k3s("start");
  await waitForApi(container);
  await waitUntil("the end of other_cluster", async () => {
    return (await conditions()).includes("other_cluster") ? undefined : true;
  }, { timeoutMs: 30_000 });
}

/** The machine's boot came to its end, and k3s was not even tried. */
async function assertDown(node: Node): Promise<void> {
  const { container } = node;
  const boot = await container.exec(["systemctl", "is-system-running", "--wait"], {
    timeoutMs: 120_000,
  });
  assert.equal(boot.stdout.trim(), "running");
  const { unit, isHeld } = await lookAt(node);
  assert.deepEqual([unit, isHeld], ["inactive", true]);
  const show = ["systemctl", "show", "--property=NRestarts,ConditionResult", "k3s.service"];
  assert.equal((await container.run(show)).trim(), "NRestarts=0\nConditionResult=no");
}

/** Uninstalls on a node whose restore failed half-way, and boots it before and after. */
export async function uninstallHeld(node: Node): Promise<void> {
  const { container } = node;
  await container.run(["systemctl", "enable", "k3s.service"]);
  await container.run(["cp", PROGRAM, COPY]);
  const refused = await container.exec([PROGRAM, "uninstall", "--yes"]);
  assert.equal(refused.code, 1, refused.stdout + refused.stderr);
  for (const part of ["k3s is held", "docs/restore.md", "--leave-k3s-held"]) {
    assert.ok(refused.stderr.includes(part), part);
  }
  const isActive = ["systemctl", "is-active", "pbx-agent.service"];
  assert.equal((await container.run(isActive)).trim(), "active");
  await container.reboot();
  await assertDown(node);

  const left = await container.exec([PROGRAM, "uninstall", "--yes", "--leave-k3s-held"]);
  assert.equal(left.code, 0, left.stdout + left.stderr);
  const names = (await container.run(["ls", STATE])).trim().split("\n");
  assert.deepEqual(names, ["history.jsonl", "hold-k3s", "k3s-is-held.txt", "ops"]);
  assert.match(await container.readFile(`${STATE}/k3s-is-held.txt`), /cluster\.restore/);
  await container.run(["ls", ...HOLDS]);
  assert.equal((await container.exec(["ls", "/etc/pbx-agent"])).code, 2);
  await container.reboot();
  await assertDown(node);
  assert.notEqual((await container.exec(isActive)).stdout.trim(), "active");

  const again = [COPY, "uninstall", "--yes"];
  assert.equal((await container.exec(again)).code, 1);
  assert.equal((await container.exec([...again, "--leave-k3s-held"])).code, 0);
}
