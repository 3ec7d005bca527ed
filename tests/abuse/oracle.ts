/**
 * The oracle: whether a document is valid, by rules written down a second time from the protocol and
 * apart from the agent's schemas. Only the leaves cron and time zone are the agent's own, which have
 * oracles of theirs in the unit tests.
 */
import { S3Bucket, S3Endpoint, S3Folder } from "../../core/protocol/s3_target.ts";
import sodium from "libsodium-wrappers";
import { isCronSchedule } from "../../core/protocol/cron.ts";
import { isTimeZone } from "../../core/protocol/time_zone.ts";
import {
  anything,
  each,
  flag,
  id,
  is,
  label,
  map,
  maybe,
  member,
  object,
  orNull,
  type Rule,
  sealed,
  text,
  time,
  version,
  whole,
} from "./rules.ts";
import { readStrictly, readWithUnfit, type Value } from "./strict_json.ts";

await sodium.ready;

/** Whose boxes open. */
export interface Keys {
  readonly publicKey: Uint8Array;
  readonly secretKey: Uint8Array;
}

const secrets = object({
  hcloud: maybe(object({ token: sealed, network: maybe(text) }, "refused")),
  etcd_s3: maybe(object({
    endpoint: (value) => S3Endpoint.safeParse(value).success,
    bucket: (value) => S3Bucket.safeParse(value).success,
    region: is(/^[a-z0-9-]{1,64}$/),
    folder: (value) => S3Folder.safeParse(value).success,
    access_key: sealed,
    secret_key: sealed,
    endpoint_ca: maybe(text),
    bucket_lookup: maybe(is(/^(?:auto|dns|path)$/)),
  }, "refused")),
}, "ignored");

const HOST = "(?:[a-z0-9]+(?:[-.]+[a-z0-9]+)*|\\[[0-9a-f:.]+\\])(?::\\d{1,5})?";

/** A map by the names of registries. */
function byRegistry(rule: Rule): Rule {
  const name = is(new RegExp(`^(?:\\*|${HOST})$`));
  return (value) => map(rule)(value) && [...(value as Map<string, Value>).keys()].every(name);
}

const endpoint = is(
  new RegExp(`^(?:https?://)?${HOST}(?:/(?!\\.{1,2}(?:/|$))[A-Za-z0-9._~-]*)*$`),
);

const desiredRule = object({
  revision: whole(0),
  release: version,
  agent: object({ version }, "ignored"),
  servers: whole(1),
  host: object({
    snapshots: object({
      schedule: (value) => typeof value === "string" && isCronSchedule(value),
      retention: whole(1, 1000),
      compress: flag,
    }, "ignored"),
    ingress: is(/^(?:traefik|none)$/),
    registries: maybe(object({
      mirrors: maybe(byRegistry(object({
        endpoint: (value) => each(endpoint)(value) && (value as Value[]).length <= 20,
      }, "ignored"))),
      configs: maybe(byRegistry(object({
        // deno-lint-ignore no-control-regex -- they are what is looked for
        username: maybe(is(/^[^\x00-\x1f\x7f-\x9f]{0,1000}$/)),
        password: maybe(sealed),
        identity_token: maybe(sealed),
      }, "refused"))),
    }, "ignored")),
  }, "ignored"),
  maintenance: object({
    timezone: (value) => typeof value === "string" && isTimeZone(value),
    windows: each(object({
      days: (value) =>
        each(is(/^(?:mon|tue|wed|thu|fri|sat|sun)$/))(value) && (value as Value[]).length > 0,
      start: is(/^(?:[01]\d|2[0-3]):[0-5]\d$/),
      minutes: whole(1, 1440),
    }, "ignored")),
  }, "ignored"),
  secrets,
  addons: (value) =>
    each(object({
      name: label,
      enabled: flag,
      options: map(anything),
      secret_options: maybe(map(sealed)),
    }, "ignored"))(value) &&
    new Set((value as Map<string, Value>[]).map((addon) => addon.get("name"))).size ===
      (value as Value[]).length,
}, "ignored");

/** A wrong `expires_at` is a wrong parameter of the operation. */
const operationRule = object({
  id: text,
  kind: text,
  params: map(anything),
}, "ignored");

const syncRule: Rule = (value) =>
  object({
    time,
    desired: orNull(map(anything)),
    operation: orNull(operationRule),
  }, "ignored")(value) &&
  (member(value, "desired") === null || is(/^[\x20-\x7e]{1,128}$/)(member(value, "desired_tag")));

const enrollRule = object({
  agent_id: id,
  cluster_id: label,
  node_name: label,
  release: version,
  k3s: object({ config: map(anything), token: sealed, agent_token: maybe(sealed) }, "refused"),
  secrets,
  manifests: each(object({ name: label, content: text }, "ignored")),
  time,
}, "ignored");

/** What an answer is, as far as it is looked at before anything of it is used. */
export type Verdict =
  | "malformed"
  | "unsealed_secret"
  | "undecryptable_secret"
  | "misplaced_secret"
  | "usable";

/** What stands at a position, and which: the words of trust.md T1, those of the cluster without their root. */
type Placed = readonly [position: string, value: Value | undefined];

/** Of an answer to a sync: also what its desired state is. */
export function judgeSync(
  bytes: Uint8Array,
  keys: Keys,
): { readonly verdict: Verdict; readonly desired?: "none" | "faulty" | "valid" } {
  const read = readWithUnfit(bytes);
  if (read === undefined) return { verdict: "malformed" };
  const { value: body, unfit } = read;
  const desired = member(body, "desired");
  const addons = member(desired, "addons");
  const positions = [
    ...clusterPositions(desired),
    ...members(addons).flatMap((addon): Placed[] => {
      const options = member(addon, "secret_options");
      if (options === undefined || options === null) return [];
      const place = `addons.${shownName(member(addon, "name"))}.secret_options`;
      return options instanceof Map
        ? [...options].map(([name, value]) => [`${place}.${name}`, value] as const)
        : [[place, options]];
    }),
    ...registryPositions(member(member(member(desired, "host"), "registries"), "configs")),
    ...["access_key", "secret_key", "token"].map((key): Placed => {
      const operation = member(body, "operation");
      const id = shownName(member(operation, "id"));
      return [`operation:${id}:params.${key}`, member(member(operation, "params"), key)];
    }),
  ];
  const fault = faultOf(positions, keys);
  if (fault !== null) return { verdict: fault };
  if ([...unfit].some((name) => name !== "desired" && name !== "operation")) {
    return { verdict: "malformed" };
  }
  if (!syncRule(asEnvelope(body, unfit))) return { verdict: "malformed" };
  if (unfit.has("desired")) return { verdict: "usable", desired: "faulty" };
  if (desired === null) return { verdict: "usable", desired: "none" };
  return { verdict: "usable", desired: desiredRule(desired) ? "valid" : "faulty" };
}

/** What only refuses the desired state or the operation is no fault of the envelope. */
function asEnvelope(body: Value, unfit: ReadonlySet<string>): Value {
  if (!(body instanceof Map)) return body;
  const envelope = new Map(body);
  const operation = member(body, "operation");
  if (unfit.has("desired") && member(body, "desired") instanceof Map) {
    envelope.set("desired", new Map());
  }
  if (
    unfit.has("operation") && operation instanceof Map && operation.get("params") instanceof Map
  ) {
    envelope.set("operation", new Map([...operation, ["params", new Map()]]));
  }
  return envelope;
}

/** Of an answer to the enrollment of `cluster` and `node`. */
export function judgeEnroll(
  bytes: Uint8Array,
  keys: Keys,
  whom: { readonly cluster: string; readonly node: string },
): Verdict {
  const read = readWithUnfit(bytes);
  if (read === undefined) return "malformed";
  const { value: body, unfit } = read;
  const k3s = member(body, "k3s");
  const config = member(k3s, "config");
  if (config instanceof Map && [...config.keys()].some(isSecretSetting)) return "unsealed_secret";
  const fault = faultOf([
    ["k3s.token", member(k3s, "token")],
    ["k3s.agent_token", member(k3s, "agent_token")],
    ...clusterPositions(body),
  ], keys);
  if (fault !== null) return fault;
  const ours = member(body, "cluster_id") === whom.cluster &&
    member(body, "node_name") === whom.node;
  return unfit.size === 0 && enrollRule(body) && ours ? "usable" : "malformed";
}

/** Whether the text is an answer to events. */
export function isEventsAnswer(bytes: Uint8Array): boolean {
  return object({ acked: whole(0) }, "ignored")(readStrictly(bytes));
}

function members(value: Value | undefined): Value[] {
  return Array.isArray(value) ? value : value instanceof Map ? [...value.values()] : [];
}

function clusterPositions(holder: Value | undefined): Placed[] {
  const found = member(holder, "secrets");
  return [
    ["secrets.hcloud.token", member(member(found, "hcloud"), "token")],
    ["secrets.etcd_s3.access_key", member(member(found, "etcd_s3"), "access_key")],
    ["secrets.etcd_s3.secret_key", member(member(found, "etcd_s3"), "secret_key")],
  ];
}

function registryPositions(configs: Value | undefined): Placed[] {
  const entries: (readonly [string, Value])[] = configs instanceof Map
    ? [...configs]
    : Array.isArray(configs)
    ? configs.map((value, index) => [String(index), value] as const)
    : [];
  return entries.flatMap(([host, one]) =>
    ["password", "identity_token"].map((name): Placed => [
      `host.registries.${host}.${name}`,
      member(one, name),
    ])
  );
}

/** A name in a position; what is not a text names a position that no box is bound to. */
function shownName(value: Value | undefined): string {
  return typeof value === "string" ? value : "\n";
}

function isSecretSetting(key: string): boolean {
  const name = key.split("=")[0]?.replace(/\++$/, "") ?? "";
  return name === "t" || /^(?:agent-)?token$/.test(name) ||
    /^etcd-s3-(?:access-key|secret-key|session-token)$/.test(name) ||
    name === "datastore-endpoint" || name === "vpn-auth";
}

/** Every box of the documents is bound: one that opens stands at its own position, or is misplaced. */
function faultOf(positions: readonly Placed[], keys: Keys): Verdict | null {
  const there = positions.filter(([, value]) => value !== undefined);
  const boxes = there.map(([position, value]) => [position, member(value, "sealed")] as const);
  if (boxes.some(([, box]) => typeof box !== "string")) return "unsealed_secret";
  const opened = boxes.map(([position, box]) => [position, opens(String(box), keys)] as const);
  if (opened.some(([, text]) => text === null)) return "undecryptable_secret";
  const isPlaced = opened.every(([position, text]) => {
    const [, bound] = /^pbx-seal-1 (?:enroll:|desired:)?([^\n]*)\n/.exec(text ?? "") ?? [];
    return bound === position;
  });
  return isPlaced ? null : "misplaced_secret";
}

/** The text of a box, opened by libsodium, which the agent does not use. */
function opens(box: string, { publicKey, secretKey }: Keys): string | null {
  try {
    const bytes = sodium.from_base64(box, sodium.base64_variants.ORIGINAL);
    if (sodium.to_base64(bytes, sodium.base64_variants.ORIGINAL) !== box) return null;
    const plain = sodium.crypto_box_seal_open(bytes, publicKey, secretKey);
    return new TextDecoder("utf-8", { fatal: true }).decode(plain);
  } catch {
    return null;
  }
}
