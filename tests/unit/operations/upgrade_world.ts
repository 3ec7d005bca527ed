import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { createFakeArtifacts, type FakeArtifacts } from "../../../adapters/fake/artifacts.ts";
import {
  createFakeLoader,
  fakeImage,
  type FakeLoader,
  type FakeLoaderOptions,
} from "../../../adapters/fake/boot_loader.ts";
import { createFakeK3s, type FakeK3s } from "../../../adapters/fake/k3s.ts";
import type { BoundContext } from "../../../core/agent/context.ts";
import type { Ports } from "../../../core/ports/mod.ts";
import { encodeBase64 } from "../../../core/protocol/base64.ts";
import { keyId, pae, RELEASE_PAYLOAD_TYPE } from "../../../core/protocol/dsse.ts";
import { sign, signingPublicKey } from "../../../core/protocol/signing.ts";
import { ok } from "../../../core/result.ts";
import { Secret } from "../../../core/secret.ts";
import {
  RELEASE_FILE,
  RETURN_MARK_FILE,
  RETURN_TIMER,
  SYSTEMD_DIRECTORY,
} from "../../../core/state/paths.ts";
import { save, SNAPSHOTS } from "./k3s_world.ts";
import { createMachine, type Machine, NODE, openAgent } from "./machine.ts";

/** The releases of these tests: the one that runs, the one before it, the one to come. */
export const OLDER = "0.9.0";
export const FROM = "1.0.0";
export const TO = "1.1.0";
export const OLDER_ENTRY = "pbx-0.9.0-amd64.efi";
export const FROM_ENTRY = "pbx-1.0.0-amd64.efi";
export const TO_ENTRY = "pbx-1.1.0-amd64.efi";
/** Which k3s an image brings. */
export const K3S: Readonly<Record<string, string>> = {
  [OLDER]: "v1.36.0+k3s1",
  [FROM]: "v1.36.3+k3s1",
  [TO]: "v1.37.1+k3s1",
};
/** The image to come. */
export const IMAGE = fakeImage(TO);
export const IMAGE_URL = "https://dl.example.com/node-1.1.0.efi";
/** How long the gate is open, milliseconds. */
export const GATE_MS = 120_000;

/**
 * How the new image does in one boot. `panics`, `hangs`: restarted before anything of the system runs.
 * `no_agent`: the agent does not start. `no_api`, `not_ready`, `old_k3s`, `no_deployment`: one thing of
 * its health never comes.
 */
export type Behaviour =
  | "good"
  | "panics"
  | "hangs"
  | "no_agent"
  | "no_api"
  | "not_ready"
  | "old_k3s"
  | "no_deployment";

/** A machine with systemd-boot whose image can be upgraded. */
export interface UpgradeMachine extends Machine {
  readonly loader: FakeLoader;
  readonly artifacts: FakeArtifacts;
  readonly k3s: FakeK3s;
  /** How the new image does while it is on trial, boot after boot; the last one stays. */
  behaviours: Behaviour[];
  /** The new image's file loses its end before its first boot. */
  losesImage: boolean;
  /** The entry of every boot, in order. */
  readonly boots: string[];
}

/** How a machine identifies its boots. */
export interface BootOptions {
  /**
   * `kept`: every boot has the same ID, as in a container or a lab. `cloned`: two IDs take turns, as on a
   * machine that is put back to a state of before; the boot after the return has that of the one before
   * the upgrade.
   */
  readonly bootIds?: "fresh" | "kept" | "cloned";
  /** `host`: the uptime goes on through reboots, as a container's does. */
  readonly uptime?: "own" | "host";
}

const SEED = new Secret(new Uint8Array(32).fill(7));

/** The manifest of the new release, as its envelope. */
export function envelope(change: Record<string, unknown> = {}, release = TO): string {
  const image = {
    k3s_version: K3S[release] ?? "",
    artifacts: {
      amd64: {
        url: IMAGE_URL,
        sha256: createHash("sha256").update(IMAGE).digest("hex"),
        size: IMAGE.length,
      },
    },
    ...change,
  };
  const payload = new TextEncoder().encode(JSON.stringify({
    version: release,
    created_at: "2026-01-01T00:00:00Z",
    agent: { version: "0.1.0", artifacts: {} },
    image,
    addons: {},
  }));
  const sig = encodeBase64(sign(SEED, pae(RELEASE_PAYLOAD_TYPE, payload)));
  const keyid = keyId(signingPublicKey(SEED));
  return JSON.stringify({
    payloadType: RELEASE_PAYLOAD_TYPE,
    payload: encodeBase64(payload),
    signatures: [{ keyid, sig }],
  });
}

/** Signed once, since every machine of a matrix has it. */
const ENVELOPE = envelope();

/** An agent whose gate is short and that believes the release key of these tests. */
export async function openUpgradeAgent(ports: Ports, stop?: AbortSignal): Promise<BoundContext> {
  const context = await openAgent(ports, stop);
  const program = { ...context.program, releaseKeys: [signingPublicKey(SEED)] };
  return { ...context, program, gateMs: GATE_MS };
}

/** A machine that runs release 1.0.0, with 0.9.0 beside it; none of them is pinned as the default. */
export function createUpgradeMachine(
  behaviours: Behaviour[] = ["good"],
  { bootIds = "fresh", uptime = "own", ...options }:
    & Omit<FakeLoaderOptions, "disk">
    & BootOptions = {},
): UpgradeMachine {
  const state = { bootedAt: 0, down: false, agent: true, boot: 0 };
  const made: { loader?: FakeLoader; artifacts?: FakeArtifacts; k3s?: FakeK3s } = {};

  const bare = createMachine((bare) => {
    const { clock, disk, systemd, host } = bare;
    const loader = made.loader = createFakeLoader({ ...options, disk });
    const artifacts = made.artifacts = createFakeArtifacts(disk);
    const k3s = made.k3s = createFakeK3s(K3S[FROM] ?? "", {
      save: (name, print) => save(bare, name, {}, print),
    });
    const link = `${SYSTEMD_DIRECTORY}/timers.target.wants/${RETURN_TIMER}`;
    return {
      boot: loader,
      artifacts,
      k3s,
      machine: {
        ...host,
        async facts() {
          const since = uptime === "own" ? state.bootedAt : -86_400_000;
          const uptimeSeconds = Math.floor((clock.monotonic() - since) / 1000);
          return { ...await host.facts(), uptimeSeconds };
        },
      },
      systemd: {
        ...systemd,
        async enable(unit: string) {
          if (unit !== RETURN_TIMER) return systemd.enable(unit);
          systemd.units.set(unit, { state: "inactive", enabled: true });
          await disk.makeDirectory(link.slice(0, link.lastIndexOf("/")), 0o755);
          await disk.write(link, new Uint8Array(), 0o644);
          return ok(undefined);
        },
        async disable(unit: string) {
          if (unit === RETURN_TIMER) await disk.remove(link);
          return systemd.disable(unit);
        },
        async reboot() {
          const told = await systemd.reboot();
          const { boot } = state;
          void clock.sleep(3_000).then(() => void (state.down ||= state.boot === boot));
          return told;
        },
      },
    };
  });

  /** Starts what an image brings, as far as its behaviour lets it. */
  function runImage(release: string, behaviour: Behaviour): void {
    const { clock, disk, k8s, systemd } = bare;
    const { boot } = state;
    const isOn = () => state.boot === boot && !state.down;
    state.agent = behaviour !== "no_agent";
    made.k3s?.install(K3S[release] ?? "");
    disk.put("/etc/os-release", `PRETTY_NAME=Node\nIMAGE_VERSION=${release}\n`, 0o644);
    systemd.units.set("k3s.service", { state: "active", enabled: true });
    k8s.breakWith({ kind: "down" });
    if (behaviour !== "no_api" && behaviour !== "no_agent") {
      void clock.sleep(4_000).then(() => isOn() && k8s.breakWith(null));
      void clock.sleep(8_000).then(() => isOn() && reportNode(bare, release, behaviour));
    }
    const timer = disk.text(`${SYSTEMD_DIRECTORY}/${RETURN_TIMER}`);
    const isEnabled =
      disk.text(`${SYSTEMD_DIRECTORY}/timers.target.wants/${RETURN_TIMER}`) !== null;
    if (timer === null || !isEnabled) return;
    systemd.units.set(RETURN_TIMER, { state: "active", enabled: true });
    const seconds = Number(/OnBootSec=(\d+)s/.exec(timer)?.[1]);
    assert.ok(seconds > GATE_MS / 1000, "the timer comes after the agent's own end of the gate");
    void clock.sleep(seconds * 1000).then(async () => {
      const isStopped = systemd.units.get(RETURN_TIMER)?.state !== "active";
      if (!isOn() || isStopped || disk.text(RETURN_MARK_FILE) === null) return;
      await disk.remove(RETURN_MARK_FILE);
      await disk.syncDirectory(RETURN_MARK_FILE.slice(0, RETURN_MARK_FILE.lastIndexOf("/")));
      state.down = true;
    });
  }

  const { loader, artifacts, k3s } = made;
  assert.ok(loader && artifacts && k3s);
  const boots: string[] = [];
  const machine: UpgradeMachine = {
    ...bare,
    loader,
    artifacts,
    k3s,
    behaviours,
    losesImage: false,
    boots,
    isDown: () => state.down,
    startsAgent: () => state.agent,
    reboot() {
      for (;;) {
        bare.reboot();
        state.boot += 1;
        const number = bootIds === "kept" ? 1 : state.boot % 2;
        if (bootIds !== "fresh") bare.host.set({ bootId: bootIdOf(number) });
        state.down = false;
        state.bootedAt = bare.clock.monotonic();
        if (machine.losesImage && loader.variables.has("LoaderEntryOneShot")) {
          loader.putImage(TO_ENTRY, IMAGE.slice(0, 20));
        }
        const on = loader.powerOn();
        if (on.kind === "shell") {
          throw new Error("the firmware found no image that starts");
        }
        boots.push(on.entry);
        // An image that became the default has proven itself, and stays as it is.
        const isOnTrial = on.release === TO &&
          loader.variables.get("LoaderEntryDefault") !== TO_ENTRY;
        const [next = "good", ...later] = machine.behaviours;
        const behaviour = isOnTrial ? next : "good";
        if (isOnTrial && later.length > 0) machine.behaviours = later;
        if (behaviour === "panics" || behaviour === "hangs") continue;
        runImage(on.release, behaviour);
        return;
      }
    },
  };
  layOut(machine);
  return machine;
}

function bootIdOf(number: number): string {
  return `00000000-0000-4000-9000-${String(number).padStart(12, "0")}`;
}

function layOut(machine: UpgradeMachine): void {
  const { disk, loader, k8s, artifacts } = machine;
  loader.putImage(OLDER_ENTRY, fakeImage(OLDER));
  loader.putImage(FROM_ENTRY, fakeImage(FROM));
  artifacts.files.set(IMAGE_URL, IMAGE);
  disk.put(RELEASE_FILE, ENVELOPE);
  disk.put(`${SNAPSHOTS}/.keep`, "");
  disk.put(`${SYSTEMD_DIRECTORY}/k3s.service`, "");
  machine.reboot();
  k8s.breakWith(null);
  reportNode(machine, FROM, "good");
}

/** What the kubelet and the controllers write after a boot. */
function reportNode({ k8s, host }: Machine, release: string, behaviour: Behaviour): void {
  const isReady = behaviour !== "not_ready";
  void host.facts().then(({ bootId }) => {
    const nodeInfo = {
      bootID: bootId ?? "",
      kubeletVersion: behaviour === "old_k3s" ? K3S[FROM] ?? "" : K3S[release] ?? "",
    };
    k8s.write(`/api/v1/nodes/${NODE}`, {
      apiVersion: "v1",
      kind: "Node",
      metadata: { name: NODE },
      status: {
        conditions: [{ type: "Ready", status: isReady ? "True" : "False" }],
        nodeInfo,
      },
    }, "kubelet");
  });
  const isAvailable = behaviour !== "no_deployment";
  k8s.write("/apis/apps/v1/namespaces/kube-system/deployments/coredns", {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "coredns", namespace: "kube-system" },
    spec: {},
    status: {
      conditions: [{ type: "Available", status: isAvailable ? "True" : "False" }],
    },
  }, "kube-controller-manager");
}
