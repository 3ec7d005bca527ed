import { isJsonObject, type JsonObject, type JsonValue } from "../json.ts";
import { fail, ok, type Result } from "../result.ts";
import type { Secret } from "../secret.ts";
import { openSealed, type SealingKey, type UndecryptableSecret } from "./sealing.ts";

/** A sealed box, and where it stands in its document, such as `desired.secrets.hcloud.token`. */
export interface SealedAt {
  readonly path: string;
  readonly box: string;
}

/** A secret position that holds something else than a sealed box. The message never shows it. */
export interface UnsealedSecret {
  readonly code: "unsealed_secret";
  readonly path: string;
  readonly message: string;
}

/** A value and where it stands. */
interface Placed {
  readonly path: string;
  readonly value: JsonValue;
}

/**
 * k3s settings that hold a secret and are refused in clear, whatever their value (protocol §2). `t` is
 * k3s's own short form of `token`.
 */
const CLEAR_CONFIG_KEYS: ReadonlySet<string> = new Set([
  "token",
  "t",
  "agent-token",
  "etcd-s3-access-key",
  "etcd-s3-secret-key",
  "etcd-s3-session-token",
  "datastore-endpoint",
  "vpn-auth",
]);

/**
 * The sealed boxes of an answer to `POST /enroll` (protocol §2). It reads the raw document, before any
 * schema, so that a secret in clear is told as such however odd the rest is.
 */
export function scanEnrollAnswer(
  body: JsonValue,
): Result<readonly SealedAt[], UnsealedSecret> {
  const root: Placed = { path: "", value: body };
  const clear = clearConfigKey(root);
  if (clear !== null) return unsealed(clear, "must not be in k3s.config in clear");
  return collect([
    ...members(root, ["k3s"], ["token", "agent_token"]),
    ...clusterSecrets(root),
  ]);
}

/** The sealed boxes of an answer to `POST /sync`: of its desired state and of its operation. */
export function scanSyncAnswer(body: JsonValue): Result<readonly SealedAt[], UnsealedSecret> {
  const root: Placed = { path: "", value: body };
  return collect([
    ...walk(root, ["desired"]).flatMap(clusterSecrets),
    ...walk(root, ["desired", "addons"]).flatMap(entries).flatMap(secretOptions),
    ...members(root, ["operation", "params"], ["access_key", "secret_key", "token"]),
  ]);
}

/** Opens every box, or tells the first that does not open. Keyed by path. */
export function openAll(
  found: readonly SealedAt[],
  keys: readonly SealingKey[],
): Result<ReadonlyMap<string, Secret<string>>, UndecryptableSecret> {
  const secrets = new Map<string, Secret<string>>();
  for (const { path, box } of found) {
    const secret = openSealed(box, keys);
    if (!secret.ok) {
      return fail({ ...secret.error, message: `${path}: ${secret.error.message}` });
    }
    secrets.set(path, secret.value);
  }
  return ok(secrets);
}

function clusterSecrets(holder: Placed): Placed[] {
  return [
    ...members(holder, ["secrets", "hcloud"], ["token"]),
    ...members(holder, ["secrets", "etcd_s3"], ["access_key", "secret_key"]),
  ];
}

/** Every value of an add-on's `secret_options`; the map itself where it is none but not absent. */
function secretOptions(addon: Placed): Placed[] {
  return walk(addon, ["secret_options"]).flatMap((options) =>
    isJsonObject(options.value) || options.value === null ? entries(options) : [options]
  );
}

/**
 * The path of a `k3s.config` key that may not be there. A trailing `+` is k3s's way to append, and a
 * `token=...` would reach k3s's command line as that flag; what follows the `=` is not shown.
 */
function clearConfigKey(root: Placed): string | null {
  const [config] = walk(root, ["k3s", "config"]);
  if (config === undefined || !isJsonObject(config.value)) return null;
  const names = Object.keys(config.value).map((key) => key.replace(/=.*$/s, ""));
  const clear = names.find((name) => CLEAR_CONFIG_KEYS.has(name.replace(/\++$/, "")));
  return clear === undefined ? null : join(config.path, clear);
}

/** Those of `names` that the object at `steps` has. */
function members(from: Placed, steps: readonly string[], names: readonly string[]): Placed[] {
  return walk(from, steps).flatMap((holder) => names.flatMap((name) => walk(holder, [name])));
}

/** The value at `steps` below `from`: one, or none where a step is missing or no object. */
function walk(from: Placed, steps: readonly string[]): Placed[] {
  let at = from;
  for (const step of steps) {
    const member = isJsonObject(at.value) && Object.hasOwn(at.value, step)
      ? at.value[step]
      : undefined;
    if (member === undefined) return [];
    at = { path: join(at.path, step), value: member };
  }
  return [at];
}

/** Every member of an object or a list. */
function entries({ path, value }: Placed): Placed[] {
  if (typeof value !== "object" || value === null) return [];
  const isList = Array.isArray(value);
  return Object.entries(value as JsonObject).map(([key, member]) => ({
    path: isList ? `${path}[${key}]` : join(path, key),
    value: member,
  }));
}

function collect(positions: readonly Placed[]): Result<readonly SealedAt[], UnsealedSecret> {
  const found: SealedAt[] = [];
  for (const { path, value } of positions) {
    const box = isJsonObject(value) ? value["sealed"] : undefined;
    if (typeof box !== "string") return unsealed(path, 'must be sealed: {"sealed": "<base64>"}');
    found.push({ path, box });
  }
  return ok(found);
}

function unsealed(path: string, rule: string): Result<never, UnsealedSecret> {
  const shown = path.slice(0, 200);
  return fail({ code: "unsealed_secret", path: shown, message: `${shown}: ${rule}` });
}

function join(path: string, step: string): string {
  return path === "" ? step : `${path}.${step}`;
}
