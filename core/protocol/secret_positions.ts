import { isJsonObject, type JsonObject, type JsonValue } from "../json.ts";
import { fail, ok, type Result } from "../result.ts";
import {
  boundText,
  type BoxPolicy,
  type BoxText,
  judgePlaces,
  type KnownBoxes,
  type MisplacedSecret,
  readBoxText,
} from "./bound_box.ts";
import { SEALED_CREDENTIALS } from "./registries.ts";
import { openWhole, type SealingKey, type UndecryptableSecret } from "./sealing.ts";

/** A sealed box, and where it stands in its document, such as `desired.secrets.hcloud.token`. */
export interface SealedAt {
  readonly path: string;
  /** The same as keys and indexes, from the document's root. */
  readonly steps: readonly string[];
  /** Where its secret may be used, such as `desired:secrets.hcloud.token` (trust.md T1). */
  readonly position: string;
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
  readonly steps: readonly string[];
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
  const root: Placed = { path: "", steps: [], value: body };
  const clear = clearConfigKey(root);
  if (clear !== null) return unsealed(clear, "must not be in k3s.config in clear");
  return collect([
    ...members(root, ["k3s"], ["token", "agent_token"]),
    ...clusterSecrets(root),
  ], ({ steps }) => enrollPosition(steps));
}

/** The sealed boxes of an answer to `POST /sync`: of its desired state and of its operation. */
export function scanSyncAnswer(body: JsonValue): Result<readonly SealedAt[], UnsealedSecret> {
  const root: Placed = { path: "", steps: [], value: body };
  const [desired] = walk(root, ["desired"]);
  const ofDesired = collect([
    ...walk(root, ["desired"]).flatMap(clusterSecrets),
    ...walk(root, ["desired", "addons"]).flatMap(entries).flatMap(secretOptions),
    ...walk(root, ["desired", "host", "registries", "configs"]).flatMap(entries)
      .flatMap((credentials) => members(credentials, [], SEALED_CREDENTIALS)),
  ], ({ steps }) => desiredPosition(steps.slice(1), desired?.value ?? null));
  if (!ofDesired.ok) return ofDesired;
  const [id] = walk(root, ["operation", "id"]);
  const ofOperation = collect(
    members(root, ["operation", "params"], ["access_key", "secret_key", "token"]),
    ({ steps }) => operationPosition(steps.slice(1), String(id?.value)),
  );
  return ofOperation.ok ? ok([...ofDesired.value, ...ofOperation.value]) : ofOperation;
}

/** The position of a secret in the answer to an enrollment, from the answer's root (trust.md T1). */
export function enrollPosition(steps: readonly string[]): string {
  return `enroll:${steps.join(".")}`;
}

/**
 * The same in a desired state; an add-on goes by its name there, not by its place in the list, and a registry
 * by its host alone.
 */
export function desiredPosition(steps: readonly string[], desired: JsonValue): string {
  const [first, index = "", ...rest] = steps;
  if (first === "host" && index === "registries" && rest[0] === "configs") {
    return `desired:host.registries.${rest.slice(1).join(".")}`;
  }
  if (first !== "addons") return `desired:${steps.join(".")}`;
  const addons = isJsonObject(desired) ? desired["addons"] : undefined;
  const addon = Array.isArray(addons)
    ? addons[Number(index)]
    : isJsonObject(addons)
    ? addons[index]
    : undefined;
  const name = isJsonObject(addon) ? addon["name"] : undefined;
  return `desired:addons.${String(name)}.${rest.join(".")}`;
}

/** The same in an operation. */
export function operationPosition(steps: readonly string[], id: string): string {
  return `operation:${id}:${steps.join(".")}`;
}

/** Opens every box, or tells the first that does not open. Keyed by path. */
export function openAll(
  found: readonly SealedAt[],
  keys: readonly SealingKey[],
): Result<ReadonlyMap<string, BoxText>, UndecryptableSecret> {
  const texts = new Map<string, BoxText>();
  for (const { path, box } of found) {
    const text = openWhole(box, keys);
    if (!text.ok) return fail({ ...text.error, message: `${path}: ${text.error.message}` });
    texts.set(path, readBoxText(text.value));
  }
  return ok(texts);
}

/**
 * Opens every box and judges whether it may stand where it does (trust.md T1). Gives the unbound ones by
 * their ID.
 */
export function openInPlace(
  found: readonly SealedAt[],
  keys: readonly SealingKey[],
  policy: BoxPolicy,
): Result<KnownBoxes, UndecryptableSecret | MisplacedSecret> {
  const texts = openAll(found, keys);
  if (!texts.ok) return texts;
  const placed = found.flatMap(({ path, position, box }) => {
    const text = texts.value.get(path);
    return text === undefined ? [] : [{ path, position, box, text }];
  });
  return judgePlaces(placed, policy);
}

/** Whether a box is bound to a position; one that does not open is left to those who look at it. */
export function isBound(box: string, keys: readonly SealingKey[]): boolean {
  const text = openWhole(box, keys);
  return !text.ok || readBoxText(text.value).position !== null;
}

/**
 * A document in which each box of `found` is bound to its position: those that are already stay as they are.
 * `sealTo` seals a text to this agent. A box that does not open stays too.
 */
export function bindBoxes(
  document: JsonValue,
  found: readonly SealedAt[],
  keys: readonly SealingKey[],
  sealTo: (plaintext: Uint8Array) => string,
): JsonValue {
  return found.reduce((bound, { steps, position, box }) => {
    const text = openWhole(box, keys);
    if (!text.ok || readBoxText(text.value).position !== null) return bound;
    const bytes = new TextEncoder().encode(boundText(position, text.value.reveal()));
    return replacedAt(bound, steps, { sealed: sealTo(bytes) });
  }, document);
}

function replacedAt(value: JsonValue, steps: readonly string[], by: JsonValue): JsonValue {
  const [step, ...rest] = steps;
  if (step === undefined) return by;
  if (Array.isArray(value)) {
    return value.map((item, index) => String(index) === step ? replacedAt(item, rest, by) : item);
  }
  if (!isJsonObject(value)) return value;
  return { ...value, [step]: replacedAt(value[step] ?? null, rest, by) };
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
    at = { path: join(at.path, step), steps: [...at.steps, step], value: member };
  }
  return [at];
}

/** Every member of an object or a list. */
function entries({ path, steps, value }: Placed): Placed[] {
  if (typeof value !== "object" || value === null) return [];
  const isList = Array.isArray(value);
  return Object.entries(value as JsonObject).map(([key, member]) => ({
    path: isList ? `${path}[${key}]` : join(path, key),
    steps: [...steps, key],
    value: member,
  }));
}

function collect(
  positions: readonly Placed[],
  positionOf: (placed: Placed) => string,
): Result<readonly SealedAt[], UnsealedSecret> {
  const found: SealedAt[] = [];
  for (const placed of positions) {
    const { path, steps, value } = placed;
    const box = isJsonObject(value) ? value["sealed"] : undefined;
    if (typeof box !== "string") return unsealed(path, 'must be sealed: {"sealed": "<base64>"}');
    found.push({ path, steps, position: positionOf(placed), box });
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
