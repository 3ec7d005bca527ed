import type * as z from "zod";
import { decodeBase64 } from "../protocol/base64.ts";
import { describeIssue } from "../protocol/schema_error.ts";
import { EtcdS3 } from "../protocol/secrets.ts";
import { parseSshPublicKey, type SshPublicKey } from "../protocol/sshsig.ts";

/**
 * What config.yaml pins of who may order what (trust.md). It is written by cloud-init and nothing at run
 * time changes it. Without a member the agent works as protocol v1 says, and that power is unproven.
 */
export interface TrustConfig {
  /** Ed25519 keys, 32 bytes each; one of them signs every answer that counts. None: answers are not proven. */
  readonly portalKeys: readonly Uint8Array[];
  /** Keys of the owner, who approves what destroys, opens, or sends data elsewhere. None: nobody is asked. */
  readonly approvalKeys: readonly SshPublicKey[];
  /** How many different keys of the owner have to sign. */
  readonly approvals: number;
  /** Kinds of operations that need an approval beside those that always do. */
  readonly requireApproval: readonly string[];
  /** A sealed box without its position is refused. */
  readonly requireBoundBoxes: boolean;
  /** The server that k3s may join. */
  readonly join: string | null;
  /** Where the first snapshots go. */
  readonly s3Target: S3TargetConfig | null;
  /** Lower-case hex SHA-256 of the k3s token's text. */
  readonly k3sTokenSha256: string | null;
  /** Lower-case hex SHA-256 of the CA file that k3s serves at /cacerts. */
  readonly clusterCaSha256: string | null;
}

/** The pins of a configuration that has none. */
export const NO_TRUST: TrustConfig = {
  portalKeys: [],
  approvalKeys: [],
  approvals: 1,
  requireApproval: [],
  requireBoundBoxes: false,
  join: null,
  s3Target: null,
  k3sTokenSha256: null,
  clusterCaSha256: null,
};

const S3TargetConfig = EtcdS3.omit({ access_key: true, secret_key: true });
/** Where snapshots go, without the keys. */
export type S3TargetConfig = z.infer<typeof S3TargetConfig>;

/** The members of config.yaml that are read here. */
export const TRUST_MEMBERS = [
  "portal_keys",
  "approval_keys",
  "approvals",
  "require",
  "require_approval",
  "join",
  "s3_target",
  "k3s_token_sha256",
  "cluster_ca_sha256",
];

const MAX_PORTAL_KEYS = 2;
const MAX_APPROVAL_KEYS = 10;
const MAX_APPROVALS = 3;

/**
 * Reads the pins. A wrong one is a problem that stops the start: an agent that ran without it would prove
 * less than the file asks for.
 *
 * @param problems gets a line for each wrong member: its name, its value where that is short, and the way out
 */
export function readTrust(members: ReadonlyMap<string, unknown>, problems: string[]): TrustConfig {
  const get = (name: string) => members.get(name) ?? undefined;
  const approvalKeys = readApprovalKeys(get("approval_keys"), problems);
  return {
    portalKeys: readPortalKeys(get("portal_keys"), problems),
    approvalKeys,
    approvals: readApprovals(get("approvals"), approvalKeys.length, problems),
    requireApproval: readRequireApproval(get("require_approval"), approvalKeys.length, problems),
    requireBoundBoxes: readRequire(get("require"), problems),
    join: readJoin(get("join"), problems),
    s3Target: readS3Target(get("s3_target"), problems),
    k3sTokenSha256: readSha256("k3s_token_sha256", get("k3s_token_sha256"), problems),
    clusterCaSha256: readSha256("cluster_ca_sha256", get("cluster_ca_sha256"), problems),
  };
}

/** A list of texts that is not empty; null where it is something else. */
function textList(value: unknown): readonly string[] | null {
  return Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === "string")
    ? value
    : null;
}

function readPortalKeys(value: unknown, problems: string[]): readonly Uint8Array[] {
  if (value === undefined) return [];
  const keys = textList(value)?.map((text) => decodeBase64(text.trim())) ?? [];
  const good = keys.filter((key) => key?.length === 32) as Uint8Array[];
  const isGood = good.length > 0 && good.length === keys.length && keys.length <= MAX_PORTAL_KEYS;
  if (!isGood) {
    problems.push("'portal_keys' must be a list of one or two keys, each the base64 of 32 bytes");
  }
  return good;
}

function readApprovalKeys(value: unknown, problems: string[]): readonly SshPublicKey[] {
  if (value === undefined) return [];
  const lines = textList(value);
  if (lines === null || lines.length > MAX_APPROVAL_KEYS) {
    problems.push(
      `'approval_keys' must be a list of 1 to ${MAX_APPROVAL_KEYS} OpenSSH public keys`,
    );
    return [];
  }
  const keys: SshPublicKey[] = [];
  for (const [index, line] of lines.entries()) {
    const key = parseSshPublicKey(line);
    if (!key.ok) problems.push(`'approval_keys[${index}]' ${key.error}`);
    else if (keys.some(({ fingerprint }) => fingerprint === key.value.fingerprint)) {
      problems.push(
        `'approval_keys[${index}]' is there twice: remove one (${key.value.fingerprint})`,
      );
    } else keys.push(key.value);
  }
  return keys;
}

function readApprovals(value: unknown, keys: number, problems: string[]): number {
  if (value === undefined) return 1;
  const most = Math.min(MAX_APPROVALS, keys);
  if (Number.isInteger(value) && Number(value) >= 1 && Number(value) <= most) return Number(value);
  problems.push(
    keys === 0
      ? "'approvals' needs 'approval_keys'"
      : `'approvals' must be a whole number from 1 to ${most}, the number of approval_keys or 3`,
  );
  return 1;
}

function readRequireApproval(
  value: unknown,
  keys: number,
  problems: string[],
): readonly string[] {
  if (value === undefined) return [];
  const kinds = textList(value);
  if (kinds?.every((kind) => /^[a-z0-9_]+(?:\.[a-z0-9_]+)+$/.test(kind)) && keys > 0) return kinds;
  problems.push(
    keys === 0
      ? "'require_approval' needs 'approval_keys'"
      : "'require_approval' must be a list of kinds of operations, such as [k3s.restart]",
  );
  return [];
}

function readRequire(value: unknown, problems: string[]): boolean {
  if (value === undefined) return false;
  const isGood = Array.isArray(value) && value.every((one) => one === "bound_boxes");
  if (!isGood) problems.push("'require' must be a list; its only value is bound_boxes");
  return isGood && value.length > 0;
}

function readJoin(value: unknown, problems: string[]): string | null {
  if (value === undefined) return null;
  const url = typeof value === "string" && URL.canParse(value) ? new URL(value) : null;
  const isBare = url !== null && url.protocol === "https:" && url.pathname === "/" &&
    url.search === "" && url.hash === "" && url.username === "" && url.password === "";
  if (isBare) return url.origin;
  problems.push("'join' must be the https URL of a k3s server, such as https://10.0.0.2:6443");
  return null;
}

function readS3Target(value: unknown, problems: string[]): S3TargetConfig | null {
  if (value === undefined) return null;
  const target = S3TargetConfig.safeParse(value);
  if (target.success) return target.data;
  problems.push(`'${describeIssue(target.error, ["s3_target"])}'`);
  return null;
}

function readSha256(name: string, value: unknown, problems: string[]): string | null {
  if (value === undefined) return null;
  if (typeof value === "string" && /^[0-9a-f]{64}$/.test(value)) return value;
  problems.push(`'${name}' must be a SHA-256 in 64 lower-case hex digits, in quotes`);
  return null;
}
