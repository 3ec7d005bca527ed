import type { Container } from "./container.ts";
import { findPart } from "./parts.ts";
import { waitUntil } from "./wait_until.ts";

const K3S = "/usr/local/bin/k3s";

/**
 * As k3s's own installer writes it, but for `--disable-agent` (the lab's k3s is a server without
 * kubelet and containerd). Everything else comes from /etc/rancher/k3s, which is the agent's to
 * write. Neither started nor enabled here: that too is the agent's.
 */
const UNIT = `[Unit]
Description=Lightweight Kubernetes
Wants=network-online.target
After=network-online.target

[Service]
Type=notify
KillMode=process
Delegate=yes
TimeoutStartSec=0
Restart=always
RestartSec=5s
ExecStart=${K3S} server --disable-agent

[Install]
WantedBy=multi-user.target
`;

/** What a container has to see to run k3s: give it to `startContainer` as one of its binds. */
export async function k3sBind(): Promise<{ host: string; guest: string; readOnly: true }> {
  return { host: await findPart("k3s"), guest: K3S, readOnly: true };
}

/** Writes `k3s.service` and makes systemd read it. */
export async function installK3sUnit(container: Container): Promise<void> {
  await container.writeFile("/etc/systemd/system/k3s.service", UNIT);
  await container.run(["systemctl", "daemon-reload"]);
}

/** Runs `k3s kubectl` inside with k3s's own kubeconfig; gives its stdout, throws with its stderr. */
export async function kubectl(
  container: Container,
  args: readonly string[],
  stdin?: string,
): Promise<string> {
  return await container.run([K3S, "kubectl", ...args], stdin === undefined ? {} : { stdin });
}

/** Waits until `/readyz` answers `ok` inside. */
export async function waitForApi(container: Container, timeoutMs = 90_000): Promise<void> {
  await waitUntil("the API's /readyz", async () => {
    const answer = await kubectl(container, ["get", "--raw=/readyz"]);
    return answer === "ok" ? true : undefined;
  }, { timeoutMs, everyMs: 250 });
}

/**
 * Makes the Node object that a kubelet would have made. k3s waits for it in a few places: it removes
 * the reset flag of a restore, and starts the scheduler, only once there is one.
 */
export async function createNode(container: Container, name: string): Promise<void> {
  const node = { apiVersion: "v1", kind: "Node", metadata: { name } };
  await kubectl(container, ["apply", "-f", "-"], JSON.stringify(node));
}
