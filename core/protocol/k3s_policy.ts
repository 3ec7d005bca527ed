import { canonicalIp, isCidr, isDnsName, isIp } from "./addresses.ts";
import { isCronSchedule } from "./cron.ts";
import type { JsonObject, JsonValue } from "../json.ts";
import { isSnapshotName } from "./identifiers.ts";
import { canonicalJson } from "./jcs.ts";

/**
 * What a portal may tell k3s at the enrollment (trust.md T3). k3s runs as root and starts what its
 * configuration names, so a key is allowed only if no value of it can run a program, read a file, or
 * weaken the cluster; everything beyond the list needs the signature of a release key.
 */

/** What a configuration is judged with. */
export interface K3sPolicyFacts {
  /** The node's own name. */
  readonly nodeName: string;
  /** The server to join that config.yaml names; null: it names none. */
  readonly join: string | null;
  /** config.yaml has keys of the portal or of the owner: it alone says which server is joined. */
  readonly isJoinPinned: boolean;
  /** Values by key that the verified release signs (`Release.k3s.config`). */
  readonly signed: Readonly<Record<string, readonly JsonValue[]>>;
}

/** Why a configuration is refused: the key, its value, and what would be allowed. */
export interface K3sRefusal {
  readonly key: string;
  readonly message: string;
}

/** The first key of `config` that may not be as it is, or null. */
export function judgeK3sConfig(config: JsonObject, facts: K3sPolicyFacts): K3sRefusal | null {
  for (const [key, value] of Object.entries(config)) {
    if (isSigned(facts.signed, key, value)) continue;
    const rule = Object.hasOwn(RULES, key) ? RULES[key] : undefined;
    const fault = rule === undefined
      ? "is not a key that a portal may set; only a signed release can allow it"
      : rule(value, { facts, config });
    if (fault !== null) {
      return { key, message: `k3s.config.${shown(key)}: ${shown(JSON.stringify(value))} ${fault}` };
    }
  }
  return null;
}

function isSigned(
  signed: K3sPolicyFacts["signed"],
  key: string,
  value: JsonValue | undefined,
): boolean {
  const values = Object.hasOwn(signed, key) ? signed[key] ?? [] : [];
  return values.some((one) => canonicalJson(one) === canonicalJson(value ?? null));
}

function shown(text: string): string {
  return text.length <= 100 ? text : `${text.slice(0, 100)}...`;
}

interface Around {
  readonly facts: K3sPolicyFacts;
  readonly config: JsonObject;
}

/** What is wrong with a value, in words that follow it; null where it may be. */
type Rule = (value: JsonValue | undefined, around: Around) => string | null;

const boolean: Rule = (value) => typeof value === "boolean" ? null : "must be true or false";

function oneOf(...values: readonly JsonValue[]): Rule {
  const list = values.map((value) => JSON.stringify(value)).join(", ");
  return (value) =>
    values.some((one) => one === value)
      ? null
      : values.length === 1
      ? `must be ${list}`
      : `must be one of ${list}`;
}

function integer(least: number, most: number): Rule {
  return (value) =>
    Number.isInteger(value) && Number(value) >= least && Number(value) <= most
      ? null
      : `must be a whole number from ${least} to ${most}`;
}

function text(isRight: (value: string, around: Around) => boolean, rule: string): Rule {
  return (value, around) => typeof value === "string" && isRight(value, around) ? null : rule;
}

/** A value, or several: k3s takes a list, and commas in each of its texts. */
function several(isRight: (value: string, around: Around) => boolean, rule: string): Rule {
  return (value, around) => {
    const texts = typeof value === "string" ? [value] : value;
    if (!Array.isArray(texts) || texts.length === 0) return rule;
    const isGood = texts.every((one) =>
      typeof one === "string" && one.split(",").every((part) => isRight(part, around))
    );
    return isGood ? null : rule;
  };
}

const NAME = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/;
const EFFECTS = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
const COMPONENTS = [
  "coredns",
  "local-storage",
  "metrics-server",
  "runtimes",
  "servicelb",
  "traefik",
];

/** A key of a label or a taint: `name` or `prefix/name`. */
function isLabelKey(key: string): boolean {
  const at = key.lastIndexOf("/");
  if (at < 0) return NAME.test(key);
  return isDnsName(key.slice(0, at)) && key[0] !== "*" && NAME.test(key.slice(at + 1));
}

function isLabelValue(value: string): boolean {
  return value === "" || NAME.test(value);
}

function isLabel(text: string): boolean {
  const at = text.indexOf("=");
  return at > 0 && isLabelKey(text.slice(0, at)) && isLabelValue(text.slice(at + 1));
}

function isTaint(text: string): boolean {
  const at = text.lastIndexOf(":");
  if (at < 0 || !EFFECTS.includes(text.slice(at + 1))) return false;
  const [key = "", value = ""] = text.slice(0, at).split(/=(.*)/s);
  return isLabelKey(key) && isLabelValue(value);
}

function isKubeletArgument(text: string): boolean {
  const [, name, value] = /^([a-z-]+)=([0-9]{1,4}s?|external)$/.exec(text) ?? [];
  switch (name) {
    case "cloud-provider":
      return value === "external";
    case "max-pods":
      return isWithin(value, /^[0-9]+$/, 1000);
    case "node-status-update-frequency":
      return isWithin(value, /^[0-9]+s$/, 60);
    default:
      return false;
  }
}

function isWithin(text: string | undefined, shape: RegExp, most: number): boolean {
  const number = Number.parseInt(text ?? "", 10);
  return shape.test(text ?? "") && number >= 1 && number <= most;
}

/** Whether a server is this node: k3s would wait for itself for ever. */
function isOwnAddress(host: string, { facts, config }: Around): boolean {
  const address = canonicalIp(host);
  const named = ["node-ip", "node-external-ip", "advertise-address", "bind-address"]
    .flatMap((key) => config[key] ?? [])
    .flatMap((value) => typeof value === "string" ? value.split(",") : []);
  if (address === null) {
    const name = host.replace(/\.$/, "").toLowerCase();
    return name === "localhost" || name.endsWith(".localhost") || name === facts.nodeName;
  }
  return isOwnIp(address) || named.some((one) => canonicalIp(one) === address);
}

/** Loopback, and the addresses that stand for every one of the machine's. */
function isOwnIp(address: string): boolean {
  return /^127\./.test(address) || /^0\./.test(address) || address === "::" || address === "::1" ||
    /^::ffff:(?:7f|0)/.test(address);
}

const server: Rule = (value, around) => {
  const { join, isJoinPinned } = around.facts;
  if (typeof value !== "string" || !URL.canParse(value)) return "must be an https URL";
  const url = new URL(value);
  const isBare = url.protocol === "https:" && url.username === "" && url.password === "" &&
    (url.pathname === "/" || url.pathname === "") && url.search === "" && url.hash === "";
  if (!isBare || !/^https:\/\/[A-Za-z0-9.:[\]-]+\/?$/.test(value)) return "must be an https URL";
  if (isOwnAddress(url.hostname.replace(/^\[|\]$/g, ""), around)) {
    return "must not be this node's own address";
  }
  if (!isJoinPinned) return null;
  if (join === null) return "is not allowed: config.yaml names no server to join (`join`)";
  return new URL(join).origin === url.origin
    ? null
    : `must be the server that config.yaml names as join, ${join}`;
};

/** What each key may be. */
const RULES: Readonly<Record<string, Rule>> = {
  "cluster-init": boolean,
  "disable-cloud-controller": boolean,
  "disable-kube-proxy": boolean,
  "disable-network-policy": boolean,
  "etcd-expose-metrics": boolean,
  "embedded-registry": boolean,
  "protect-kernel-defaults": boolean,
  "selinux": boolean,
  "secrets-encryption": oneOf(true),
  "server": server,
  "tls-san": several((one) => isDnsName(one) || isIp(one), "must be DNS names or IP addresses"),
  "node-label": several(isLabel, "must be labels, key=value"),
  "node-taint": several(isTaint, `must be taints, key=value:Effect (${EFFECTS.join(", ")})`),
  "node-ip": several(isIp, "must be IP addresses"),
  "node-external-ip": several(isIp, "must be IP addresses"),
  "advertise-address": text(isIp, "must be an IP address"),
  "bind-address": text(isIp, "must be an IP address"),
  "cluster-cidr": several(isCidr, "must be CIDR ranges such as 10.42.0.0/16"),
  "service-cidr": several(isCidr, "must be CIDR ranges such as 10.43.0.0/16"),
  "cluster-dns": several(isIp, "must be IP addresses"),
  "cluster-domain": text((one) => isDnsName(one) && one[0] !== "*", "must be a DNS name"),
  "node-name": text(
    (one, { facts }) => one === facts.nodeName,
    "must be the node's own name",
  ),
  "https-listen-port": integer(1, 65_535),
  "flannel-backend": oneOf("none", "vxlan", "host-gw", "wireguard-native"),
  "flannel-iface": text(
    (one) => /^[A-Za-z0-9_][A-Za-z0-9_.:-]{0,14}$/.test(one),
    "must be an interface name",
  ),
  "egress-selector-mode": oneOf("disabled", "agent", "pod", "cluster"),
  "disable": several(
    (one) => COMPONENTS.includes(one),
    `must be components of k3s (${COMPONENTS.join(", ")})`,
  ),
  "write-kubeconfig-mode": oneOf("0600", "0400"),
  "etcd-snapshot-schedule-cron": text(isCronSchedule, "must be a five-field cron schedule"),
  "etcd-snapshot-retention": integer(1, 1000),
  "etcd-snapshot-compress": boolean,
  "etcd-snapshot-name": text(isSnapshotName, "must be a snapshot name"),
  "kubelet-arg": several(
    isKubeletArgument,
    "may have cloud-provider=external, max-pods=N (1 to 1000) and node-status-update-frequency=Ns (1 to 60)",
  ),
};
