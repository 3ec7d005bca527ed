import {
  FAKE_K3S_NODE_NAME,
  FAKE_K3S_SCRIPT,
  FAKE_K3S_SNAPSHOT,
  FIRST_KUBE_SYSTEM_UID,
} from "./k3s_script.ts";
import { stepHelm } from "./helm_controller.ts";
import { type FakeK8sServer, startFakeK8sServer } from "./k8s_server.ts";
import { snapshotBytes } from "./snapshot_bytes.ts";

/** A machine of files and stand-in programs below a folder, for `--root`: systemd, k3s and its API. */
export interface FakeNode {
  readonly root: string;
  /** The Kubernetes API, while the fake k3s runs. */
  api(): FakeK8sServer | null;
  /** What systemctl was asked, one call a line, oldest first. */
  systemctlCalls(): Promise<readonly string[]>;
  /** The state that systemctl tells of a unit. */
  unitState(unit: string): Promise<string>;
  /** Another boot ID, and k3s as it is after a boot: started where it is enabled. */
  reboot(): Promise<void>;
  stop(): Promise<void>;
}

/** What the machine is like. */
export interface FakeNodeOptions {
  readonly root: string;
  readonly nodeName: string;
  /** The text of /etc/pbx-agent/config.yaml. */
  readonly configYaml: string;
  /** How long after its start the fake k3s's API answers, milliseconds. */
  readonly apiAfterMs?: number;
}

const UNITS = "/var/lib/fake-systemd";
const LOOK_MS = 50;
/** Between two steps of its helm-controller: long enough to see an add-on that is pending. */
const HELM_MS = 1_500;

/**
 * Lays the machine out and keeps its k3s: when systemctl is told to start it, its API comes up on
 * loopback and its kubeconfig is written, and k3s's own kinds follow a moment later, as they really do.
 */
export async function startFakeNode(options: FakeNodeOptions): Promise<FakeNode> {
  const { root, nodeName, apiAfterMs = 300 } = options;
  await layOut(root, options);
  let server: FakeK8sServer | null = null;
  let ended = false;
  let helmAt = 0;

  async function state(unit: string): Promise<string> {
    const text = await Deno.readTextFile(`${root}${UNITS}/${unit}`).catch(() => "inactive");
    return text.trim();
  }

  async function keepK3s(): Promise<void> {
    while (!ended) {
      const active = await state("k3s.service") === "active";
      if (active && server === null) {
        await delay(apiAfterMs);
        if (ended) return;
        server = startFakeK8sServer();
        await Deno.mkdir(`${root}/etc/rancher/k3s`, { recursive: true });
        await server.writeKubeconfig(`${root}/etc/rancher/k3s/k3s.yaml`);
        await delay(apiAfterMs);
        server.installK3sDefinitions();
        server.setNode(nodeName, true);
      }
      if (server !== null && Date.now() >= helmAt) {
        stepHelm(server);
        helmAt = Date.now() + HELM_MS;
      }
      if (!active && server !== null) {
        await server.stop();
        server = null;
      }
      await delay(LOOK_MS);
    }
  }
  const keeping = keepK3s();

  return {
    root,
    api: () => server,
    unitState: state,
    async systemctlCalls() {
      const text = await Deno.readTextFile(`${root}${UNITS}/calls`).catch(() => "");
      return text.split("\n").filter((line) => line !== "");
    },
    async reboot() {
      await Deno.writeTextFile(`${root}${BOOT_ID}`, `${crypto.randomUUID()}\n`);
      const enabled = await Deno.stat(`${root}${UNITS}/k3s.service.enabled`).catch(() => null);
      await Deno.writeTextFile(
        `${root}${UNITS}/k3s.service`,
        enabled === null ? "inactive\n" : "active\n",
      );
    },
    async stop() {
      ended = true;
      await keeping;
      await server?.stop();
    },
  };
}

const BOOT_ID = "/proc/sys/kernel/random/boot_id";

async function layOut(root: string, { configYaml, nodeName }: FakeNodeOptions): Promise<void> {
  const files: Record<string, string | Uint8Array> = {
    "/etc/pbx-agent/config.yaml": configYaml,
    "/etc/os-release": 'PRETTY_NAME="A fake node"\nID=fake\n',
    [BOOT_ID]: `${crypto.randomUUID()}\n`,
    "/proc/sys/kernel/osrelease": "6.1.0-fake\n",
    "/proc/uptime": "1234.56 2345.67\n",
    "/proc/meminfo": "MemTotal:       4000000 kB\nMemAvailable:   3000000 kB\n",
    "/usr/bin/systemctl": SYSTEMCTL,
    "/usr/local/bin/k3s": FAKE_K3S_SCRIPT,
    [FAKE_K3S_NODE_NAME]: nodeName,
    [FAKE_K3S_SNAPSHOT]: snapshotBytes({ texts: [FIRST_KUBE_SYSTEM_UID] }),
    [`${UNITS}/.keep`]: "",
    "/var/lib/rancher/.keep": "",
  };
  for (const [path, content] of Object.entries(files)) {
    const target = root + path;
    await Deno.mkdir(target.slice(0, target.lastIndexOf("/")), { recursive: true });
    const mode = /\/bin\//.test(path) ? 0o755 : path.endsWith("config.yaml") ? 0o600 : 0o644;
    const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
    await Deno.writeFile(target, bytes, { mode });
  }
}

/** Keeps the state of each unit in a file and writes down every call. */
const SYSTEMCTL = `#!/bin/sh
units="\${0%/usr/bin/systemctl}${UNITS}"
verb=$1
unit=$2
echo "$*" >> "$units/calls"
case $verb in
  is-active)
    state=inactive
    [ -f "$units/$unit" ] && read -r state < "$units/$unit"
    echo "$state"
    [ "$state" = active ] ;;
  start | restart)
    held=\${0%/usr/bin/systemctl}/var/lib/pbx-agent/hold-k3s
    [ "$unit" = k3s.service ] && [ -e "$held" ] || echo active > "$units/$unit" ;;
  stop) echo inactive > "$units/$unit" ;;
  enable) : > "$units/$unit.enabled" ;;
  disable) rm -f "$units/$unit.enabled" ;;
  daemon-reload | reboot) ;;
  *)
    echo "systemctl: unknown verb $verb" >&2
    exit 1 ;;
esac
`;

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
