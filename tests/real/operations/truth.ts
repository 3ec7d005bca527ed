import { randomBytes } from "node:crypto";
import { kubectl } from "../../lab/k3s_unit.ts";
import type { Node } from "../first_start/node.ts";

/** k3s's databases. */
export const DATABASES = "/var/lib/rancher/k3s/server/db";

/** What keeps k3s from starting during a restore. */
export const HOLDS = [
  "/var/lib/pbx-agent/hold-k3s",
  "/etc/systemd/system/k3s.service.d/50-pbx-hold.conf",
];

/** What a look at the node itself shows, without asking the agent. */
export interface Truth {
  /** `systemctl is-active k3s`. */
  readonly unit: string;
  /** Changes with every start of k3s. */
  readonly invocation: string;
  /** Something keeps k3s from starting. */
  readonly isHeld: boolean;
  /** An sqlite database: k3s came up on something else than etcd. */
  readonly hasSqlite: boolean;
  /** `etcd-old-*`. */
  readonly oldDatabases: readonly string[];
}

/** What k3s's API shows. */
export interface Data {
  readonly uid: string;
  /** ConfigMaps that tests made, sorted. */
  readonly marks: readonly string[];
  readonly nodes: readonly string[];
}

/** Looks at the units and files. */
export async function lookAt({ container }: Node): Promise<Truth> {
  const [unit = "", invocation = ""] = (await container.run(
    ["systemctl", "show", "--property=ActiveState,InvocationID", "--value", "k3s.service"],
  )).split("\n").filter((line) => line !== "");
  const found = (await container.exec(["ls", "-d", ...HOLDS])).stdout;
  const names = (await container.exec(["ls", DATABASES])).stdout.split("\n");
  return {
    unit,
    invocation,
    isHeld: found !== "",
    hasSqlite: names.some((name) => name.startsWith("state.db")),
    oldDatabases: names.filter((name) => name.startsWith("etcd-old-")),
  };
}

/** Asks etcd through k3s's API. */
export async function readData({ container }: Node): Promise<Data> {
  const list = "-o=jsonpath={range .items[*]}{.metadata.name} {end}";
  const names = (text: string) => text.split(" ").filter((name) => name !== "").sort();
  const uid = ["get", "namespace", "kube-system", "-o=jsonpath={.metadata.uid}"];
  const [uidText, marks, nodes] = await Promise.all([
    kubectl(container, uid),
    kubectl(container, ["get", "configmaps", "--selector=mark=yes", list]),
    kubectl(container, ["get", "nodes", list]),
  ]);
  return { uid: uidText, marks: names(marks), nodes: names(nodes) };
}

/** Writes something that can be found again, of so many bytes. */
export async function writeMark({ container }: Node, name: string, bytes = 8): Promise<void> {
  const random = randomBytes(bytes);
  const text = random.toString("base64").slice(0, bytes);
  const metadata = { name, labels: { mark: "yes" } };
  const configMap = { apiVersion: "v1", kind: "ConfigMap", metadata, data: { text } };
  await kubectl(container, ["create", "-f", "-"], JSON.stringify(configMap));
}

/** The folders of databases, moved aside or not, that hold a mark. */
export async function databasesWith({ container }: Node, mark: string): Promise<string[]> {
  const key = `/registry/configmaps/default/${mark}`;
  const found = await container.exec([
    "grep",
    "--recursive",
    "--text",
    "--files-with-matches",
    "--fixed-strings",
    "--include=db",
    key,
    DATABASES,
  ]);
  const folders = found.stdout.split("\n").map((path) => /\/db\/(etcd[^/]*)\//.exec(path)?.[1]);
  return folders.filter((folder) => folder !== undefined);
}
