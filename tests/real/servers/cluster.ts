import { buildAgentProgram } from "../../lab/agent_program.ts";
import { type AgentUnit, installAgent } from "../../lab/agent_unit.ts";
import { makeBaseRoot } from "../../lab/base_root.ts";
import { type Container, startContainer } from "../../lab/container.ts";
import { createBridge } from "../../lab/container/network.ts";
import { installK3sUnit, k3sBind, kubectl } from "../../lab/k3s_unit.ts";
import { type PortalOutside, startPortalOutside } from "../../lab/portal_outside.ts";
import { waitUntil } from "../../lab/wait_until.ts";

/** The cluster of the story, and its first server. */
export const CLUSTER = "demo";
export const TOKEN = "lab-k3s-token-5c0a";

/** A server: a machine with systemd, k3s and the agent, on the bridge. */
export interface Server {
  readonly name: string;
  readonly address: string;
  readonly container: Container;
  readonly agent: AgentUnit;
}

/** Three servers that nothing of is started yet, and their portal. */
export interface Servers {
  readonly portal: PortalOutside;
  /** In the order of their numbers. */
  readonly all: readonly [Server, Server, Server];
  stop(): Promise<void>;
}

/** The lab's k3s has nobody to run what it packages: loading it would only take time. */
const DISABLED = ["coredns", "local-storage", "metrics-server", "servicelb"];

/** Cycles of 3 s in the place of 30: the story has many. */
const DROP_IN = "[Service]\nExecStart=\n" +
  "ExecStart=/var/lib/pbx-agent/bin/pbx-agent run --cycle 3\n";

/** Lays out three machines on one bridge, each with the agent's configuration. */
export async function layOutServers(): Promise<Servers> {
  const program = await buildAgentProgram();
  const baseRoot = await makeBaseRoot();
  const portal = await startPortalOutside();
  const bridge = await createBridge(`pbx-br-${crypto.randomUUID().slice(0, 6)}`);
  const all: Server[] = [];
  const stop = async () => {
    for (const { container } of all) await container.stop();
    await bridge.remove();
    await portal.stop();
  };
  try {
    for (const number of [1, 2, 3]) {
      const address = `10.88.0.${10 + number}`;
      const container = await startContainer({
        baseRoot,
        bind: [await k3sBind()],
        network: { bridge: bridge.name, address },
      });
      const name = `${CLUSTER}-${number}`;
      all.push({
        name,
        address,
        container,
        agent: await install(portal, container, program, number),
      });
    }
    const days = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
    await portal.admin("PATCH", `/admin/clusters/${CLUSTER}/desired`, {
      servers: 3,
      host: {
        snapshots: { schedule: "17 3 * * *", retention: 7, compress: false },
        ingress: "none",
      },
      maintenance: { timezone: "Etc/UTC", windows: [{ days, start: "00:00", minutes: 1440 }] },
      secrets: SECRETS,
    });
  } catch (error) {
    await stop();
    throw error;
  }
  const [one, two, three] = all;
  if (one === undefined || two === undefined || three === undefined) throw new Error("no three");
  return { portal, all: [one, two, three], stop };
}

const SECRETS = {
  hcloud: { token: { plain: "lab-hcloud-token-77d2" }, network: "lab" },
  etcd_s3: null,
};

async function install(
  portal: PortalOutside,
  container: Container,
  program: string,
  number: number,
): Promise<AgentUnit> {
  await portal.reachFrom(container);
  const node = `${CLUSTER}-${number}`;
  const { token } = await portal.admin<{ token: string }>("POST", "/admin/tokens", {
    cluster_id: CLUSTER,
    node_name: node,
    server_id: String(4711000 + number),
  });
  const config = [
    `portal: ${portal.url}`,
    `cluster_id: ${CLUSTER}`,
    `node_name: ${node}`,
    `enrollment_token: ${token}`,
    `metadata_url: ${portal.metadataUrl}/metadata/server/${4711000 + number}/hetzner/v1/metadata`,
    "",
  ].join("\n");
  await installK3sUnit(container);
  const agent = await installAgent(container, program, config);
  await container.writeFile("/etc/systemd/system/pbx-agent.service.d/50-lab.conf", DROP_IN);
  await container.run(["systemctl", "daemon-reload"]);
  return agent;
}

/**
 * Starts a server's agent and waits until it is enrolled: the portal has one answer for all enrollments,
 * which is this server's meanwhile.
 */
export async function enroll({ portal, all }: Servers, number: 1 | 2 | 3): Promise<void> {
  const server = all[number - 1] as Server;
  const first = all[0].address;
  await portal.admin("PATCH", `/admin/clusters/${CLUSTER}`, {
    bootstrap: {
      k3s: {
        config: {
          "disable": DISABLED,
          "node-name": server.name,
          "cluster-init": number === 1 ? true : null,
          "server": number === 1 ? null : `https://${first}:6443`,
          "tls-san": [first],
        },
        token: { plain: TOKEN },
      },
      secrets: SECRETS,
      manifests: [],
    },
  });
  await server.agent.start();
  await waitUntil(`${server.name} to enroll`, async () => {
    return await reportOf(portal, server) === null ? undefined : true;
  }, { timeoutMs: 60_000, everyMs: 250 });
}

/** Parts of a sync request (protocol §4). */
export interface Report {
  readonly node: { readonly api: string; readonly leader: boolean };
  readonly conditions: readonly { readonly code: string; readonly message: string }[];
  readonly addons: readonly unknown[];
}

/** What a server's agent last told; null before its first sync. */
export async function reportOf(portal: PortalOutside, { name }: Server): Promise<Report | null> {
  const state = await portal.admin<{
    agents: Record<string, { node_name: string; report: Report | null }>;
  }>("GET", "/admin/state");
  return Object.values(state.agents).find((agent) => agent.node_name === name)?.report ?? null;
}

/** An operation's result (protocol §5). */
export interface Result {
  readonly state: string;
  readonly step?: string;
  readonly code?: string;
  readonly message?: string;
  readonly output?: Record<string, unknown>;
}

/** Offers an operation to one server and waits for what comes of it. */
export async function operate(
  { portal }: Servers,
  { name, agent }: Server,
  kind: string,
  params: Record<string, unknown> = {},
): Promise<Result> {
  const path = `/admin/clusters/${CLUSTER}/operations`;
  const offer = { kind, params, node_name: name };
  const { id } = await portal.admin<{ id: string }>("POST", path, offer);
  try {
    return await waitUntil(`the result of ${kind} on ${name}`, async () => {
      const { result } = await portal.admin<{ result: Result | null }>("GET", `${path}/${id}`);
      return result ?? undefined;
    }, { timeoutMs: 300_000, everyMs: 500 });
  } catch (error) {
    const journal = (await agent.journal().catch(String)).split("\n").slice(-15).join("\n");
    throw new Error(`${String(error)}\n${journal}`);
  }
}

/** The members of etcd, by what k3s tells a server that wants to join; sorted, without their endings. */
export async function membersAt({ container, address }: Server): Promise<readonly string[]> {
  const program = `const r = await fetch("https://${address}:6443/db/info", { headers: ` +
    `{ Authorization: "Basic ${btoa(`server:${TOKEN}`)}" } }); console.log(await r.text())`;
  const flags = ["eval", "--unsafely-ignore-certificate-errors", program];
  const call = container.runInNetwork(Deno.execPath(), flags);
  if (await call.exited !== 0) throw new Error(call.stderr.join("\n"));
  const { members } = JSON.parse(call.stdout.join("\n"));
  if (!Array.isArray(members)) throw new Error(call.stdout.join("\n"));
  return members.map(({ name, isLearner }) =>
    String(name).replace(/-[0-9a-f]{8}$/, "") + (isLearner === true ? " (learner)" : "")
  ).sort();
}

/** Waits until a server shows these members, each with a vote. */
export async function waitForMembers(server: Server, names: readonly string[]): Promise<void> {
  const wanted = names.join(", ");
  await waitUntil(`${server.name} to show the members ${wanted}`, async () => {
    const found = (await membersAt(server)).join(", ");
    if (found === wanted) return true;
    throw new Error(`it shows ${found}`);
  }, { timeoutMs: 180_000, everyMs: 1_000 });
}

/** The ConfigMaps that the story made, as a server's own API shows them. */
export async function marksAt({ container }: Server): Promise<readonly string[]> {
  const list = "-o=jsonpath={range .items[*]}{.metadata.name} {end}";
  const text = await kubectl(container, ["get", "configmaps", "--selector=mark=yes", list]);
  return text.split(" ").filter((name) => name !== "").sort();
}

/** Makes a ConfigMap that can be found again. */
export async function writeMark({ container }: Server, name: string): Promise<void> {
  const object = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name, labels: { mark: "yes" } },
  };
  await kubectl(container, ["create", "-f", "-"], JSON.stringify(object));
}
