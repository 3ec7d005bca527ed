import { createFakeArtifacts } from "../../adapters/fake/artifacts.ts";
import { createFakeBoot } from "../../adapters/fake/boot.ts";
import { createFakeClock, type FakeClock } from "../../adapters/fake/clock.ts";
import { createFakeDisk, type FakeDisk } from "../../adapters/fake/disk.ts";
import { createFakeHttp } from "../../adapters/fake/http.ts";
import { createFakeK3s } from "../../adapters/fake/k3s.ts";
import { FIRST_KUBE_SYSTEM_UID } from "../../adapters/fake/k3s_script.ts";
import { createFakeK8s, type FakeK8s } from "../../adapters/fake/k8s.ts";
import { createFakeLog, type FakeLog } from "../../adapters/fake/log.ts";
import { createFakeMachine, type FakeMachine } from "../../adapters/fake/machine.ts";
import { createFakeMetadata } from "../../adapters/fake/metadata.ts";
import { createFakePrograms } from "../../adapters/fake/programs.ts";
import { createFakeRandom } from "../../adapters/fake/random.ts";
import { createFakeS3, type FakeS3 } from "../../adapters/fake/s3.ts";
import { createFakeServers } from "../../adapters/fake/servers.ts";
import { createFakeSnapshotFile } from "../../adapters/fake/snapshot_file.ts";
import { createFakeSystemd, type FakeSystemd } from "../../adapters/fake/systemd.ts";
import { openChannels } from "../../core/agent/channels.ts";
import { openCorrectedClock } from "../../core/agent/corrected_clock.ts";
import type { BoundContext } from "../../core/agent/context.ts";
import { holdIdentity } from "../../core/agent/identity_holder.ts";
import { openApprovalMemory } from "../../core/agent/approval_memory.ts";
import { openHistory } from "../../core/agent/history.ts";
import { openRequestMemory } from "../../core/agent/request_memory.ts";
import type { Ports } from "../../core/ports/mod.ts";
import type { Bucket } from "../../core/ports/s3.ts";
import type { PublicKeys } from "../../core/protocol/enroll.ts";
import { encodeBase64 } from "../../core/protocol/base64.ts";
import { seal, sealingPublicKey } from "../../core/protocol/sealing.ts";
import { Secret } from "../../core/secret.ts";
import { jsonBytes } from "../../core/state/json_document.ts";
import { loadIdentity, newKeys } from "../../core/state/identity.ts";
import { BOOTSTRAP_FILE, STATE_FILE } from "../../core/state/paths.ts";
import { openSnapshotRecord } from "../../core/state/snapshot_record.ts";
import { EMPTY_STATE } from "../../core/state/state.ts";
import { sign, signingPublicKey } from "../../core/protocol/signing.ts";
import { loadState, openStore } from "../../core/state/store.ts";
import { NO_TRUST } from "../../core/state/trust_config.ts";

/** The node that a machine is unless told. */
export const NODE = "demo-1";
/** The cluster of every machine. */
export const CLUSTER = "demo";
/** When the clock of a fresh machine starts. */
export const START = Date.parse("2026-01-01T12:00:00Z");
/** The bucket of the machine's snapshots, with its true keys. */
export const BUCKET: Bucket = {
  endpoint: "s3.example.com",
  bucket: "snapshots",
  region: "eu",
  accessKey: new Secret("bucket-access-key"),
  secretKey: new Secret("bucket-secret-key"),
};

/**
 * An enrolled node whose cluster runs, made of fakes. It outlives the processes of the agent, which are
 * opened on it with {@link openAgent}. A process that is killed leaves everything here as it is.
 */
export interface Machine {
  readonly clock: FakeClock;
  readonly disk: FakeDisk;
  readonly k8s: FakeK8s;
  readonly systemd: FakeSystemd;
  readonly s3: FakeS3;
  readonly log: FakeLog;
  /** Its kernel. */
  readonly host: FakeMachine;
  readonly ports: Ports;
  /** The agent's public keys, as a portal knows them. */
  readonly publicKeys: PublicKeys;
  /** A secret as the portal would seal it for this agent. */
  seal(text: string): { sealed: string };
  /** What another boot changes beside the disk, which a test crashes itself. */
  reboot(): void;
  /** Whether it goes down at this moment, for a reboot; never, where it cannot tell. */
  isDown?(): boolean;
  /** Whether its system starts the agent; always, where it cannot tell. */
  startsAgent?(): boolean;
}

/** Whose machine it is. */
export interface MachineOwner {
  readonly node?: string;
  readonly agentId?: string;
  /** What its agent's keys come from: another one, other keys. */
  readonly seed?: number;
}

/** A fresh machine. `change` replaces ports, for what an operation needs and this one has not. */
export function createMachine(
  change: (machine: Machine) => Partial<Ports> = () => ({}),
  { node = NODE, agentId = "agent-1", seed = 5 }: MachineOwner = {},
): Machine {
  const clock = createFakeClock({ now: START });
  const disk = createFakeDisk({ now: clock.now });
  const k8s = createFakeK8s({ clock });
  const systemd = createFakeSystemd({ units: { "k3s.service": { state: "active" } } });
  const s3 = createFakeS3({ clock, bucket: BUCKET });
  const log = createFakeLog({ now: clock.now });
  const host = createFakeMachine();
  const random = createFakeRandom(seed);
  const keys = newKeys(random, new Date(START).toISOString());
  const publicKey = sealingPublicKey(keys.sealing);
  let boots = 0;

  const machine: Machine = {
    clock,
    disk,
    k8s,
    systemd,
    s3,
    log,
    host,
    ports: {
      clock,
      random,
      disk,
      http: createFakeHttp({ clock, peer: () => ({ error: "connect" }) }),
      k8s,
      systemd,
      k3s: createFakeK3s("v1.36.3+k3s1"),
      s3,
      servers: createFakeServers(),
      snapshotFile: createFakeSnapshotFile(disk),
      artifacts: createFakeArtifacts(disk),
      programs: createFakePrograms(disk),
      boot: createFakeBoot(),
      machine: host,
      metadata: createFakeMetadata("4711001"),
      log,
    },
    publicKeys: {
      signing: encodeBase64(signingPublicKey(keys.signing)),
      sealing: encodeBase64(publicKey),
    },
    seal: (text) => ({
      sealed: seal(new TextEncoder().encode(text), publicKey, random.bytes(32)),
    }),
    reboot() {
      boots += 1;
      const id = `00000000-0000-4000-8000-${String(boots).padStart(12, "0")}`;
      host.set({ bootId: id });
    },
  };
  layOut(machine, keys, { node, agentId });
  return { ...machine, ports: { ...machine.ports, ...change(machine) } };
}

function layOut(
  machine: Machine,
  keys: ReturnType<typeof newKeys>,
  { node, agentId }: { readonly node: string; readonly agentId: string },
): void {
  const { disk, k8s } = machine;
  const plain = {
    created_at: keys.created_at,
    signing: encodeBase64(keys.signing.reveal()),
    sealing: encodeBase64(keys.sealing.reveal()),
  };
  const binding = {
    agent_id: agentId,
    cluster_id: CLUSTER,
    node_name: node,
    server_id: "4711001",
    portal: "https://agents.example.com/agent/v1",
  };
  const answer = {
    agent_id: agentId,
    cluster_id: CLUSTER,
    node_name: node,
    release: "1.0.0",
    k3s: { config: { "tls-san": ["demo.example.com"] }, token: machine.seal("k3s-token-in-clear") },
    secrets: {
      etcd_s3: {
        endpoint: BUCKET.endpoint,
        bucket: BUCKET.bucket,
        region: BUCKET.region,
        folder: CLUSTER,
        access_key: machine.seal(BUCKET.accessKey.reveal()),
        secret_key: machine.seal(BUCKET.secretKey.reveal()),
      },
    },
    manifests: [],
    time: new Date(START).toISOString(),
  };
  const { server_id, portal } = binding;
  const documents: [string, unknown][] = [
    ["/var/lib/pbx-agent/identity.json", { format: 1, binding, keys: plain }],
    [BOOTSTRAP_FILE, { format: 1, server_id, portal, answer }],
    [STATE_FILE, {
      format: 1,
      ...EMPTY_STATE,
      first_start: "done",
      kube_system_uid: FIRST_KUBE_SYSTEM_UID,
    }],
  ];
  for (const [path, document] of documents) disk.put(path, jsonBytes(document));
  disk.put("/etc/os-release", 'PRETTY_NAME="Debian GNU/Linux 13"\n', 0o644);
  machine.reboot();
  k8s.installK3sDefinitions();
  k8s.setNode(node, true);
}

/** A fresh process of the agent on what the machine's disk holds; `stop` ends it as a signal does. */
export async function openAgent(
  ports: Ports,
  stop: AbortSignal = new AbortController().signal,
): Promise<BoundContext> {
  const identity = await loadIdentity(ports.disk);
  const stored = await loadState(ports.disk);
  if (!identity.ok || identity.value.kind !== "loaded") throw new Error("no identity.json");
  if (!stored.ok || stored.value.kind !== "loaded") throw new Error("no state.json");
  const { binding, ...keys } = identity.value.value;
  if (binding === null) throw new Error("identity.json without a binding");
  const state = stored.value.value;
  const store = openStore(ports.disk, state, state);
  return {
    ports,
    program: {
      version: "0.1.0",
      arch: "amd64",
      startedAt: new Date(ports.clock.now()).toISOString(),
      releaseKeys: [],
      sha256: () => Promise.resolve("a".repeat(64)),
    },
    config: {
      portal: binding.portal,
      clusterId: binding.cluster_id,
      nodeName: binding.node_name,
      trust: NO_TRUST,
      unknown: [],
    },
    store,
    time: await openCorrectedClock({ clock: ports.clock, machine: ports.machine, store }),
    channels: openChannels(store, ports.clock, ports.random),
    approvals: openApprovalMemory(),
    snapshots: openSnapshotRecord(ports.disk),
    history: openHistory({ disk: ports.disk, log: ports.log, store }),
    requests: openRequestMemory(),
    stop,
    cycleMs: 30_000,
    trialMs: 600_000,
    gateMs: 1_200_000,
    sign,
    diskTrouble: () => null,
    binding,
    identity: holdIdentity(ports.disk, { ...keys, binding }),
    portal: binding.portal,
  };
}
