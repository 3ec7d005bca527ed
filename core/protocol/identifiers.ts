import * as z from "zod";

/**
 * Identifiers (protocol §8). Each is checked before it becomes part of a path, a URL, a command line or
 * an object name; the patterns admit no separator, no dot-dot and no blank.
 */

const DNS_LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;
const AGENT_OR_OPERATION_ID = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;
const SNAPSHOT_NAME = /^(?!.*\.\.)[A-Za-z0-9][A-Za-z0-9._-]{0,199}$/;
const RELEASE_VERSION = /^[0-9A-Za-z][0-9A-Za-z.+-]{0,63}$/;

/** A DNS-1123 label: cluster, node, add-on and first-start manifest names. */
export const DnsLabel = z.string().regex(DNS_LABEL, "is no DNS-1123 label");

/** A value of a Kubernetes label that is not empty: whoever is named by it. */
export const LabelValue = z.string().regex(
  /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/,
  "is no label value",
);

/** The ID that the portal gave this agent. */
export const AgentId = z.string().regex(AGENT_OR_OPERATION_ID, "is no agent ID");

/** A release's version; also the version of an agent program. */
export const ReleaseVersion = z.string().regex(RELEASE_VERSION, "is no release version");

/** A Hetzner server's ID: decimal digits. */
export const ServerId = z.string().regex(/^[0-9]{1,20}$/, "is no server ID (decimal digits)");

/** Lower-case hex SHA-256. */
export const Sha256Hex = z.string().regex(/^[0-9a-f]{64}$/, "is no lower-case hex SHA-256");

/** An RFC 3339 time: with a zone, and with its seconds, which the schema library would let go. */
export const Rfc3339 = z.iso.datetime({ offset: true }).regex(
  /^[^T]*T[0-9]{2}:[0-9]{2}:[0-9]{2}/,
  "is no RFC 3339 time",
);

/** Whether `text` may name a snapshot: what k3s is given as `--name`. */
export function isSnapshotName(text: string): boolean {
  return SNAPSHOT_NAME.test(text);
}

/** Whether `text` may name an operation, and with it a log file (protocol §5). */
export function isOperationId(text: string): boolean {
  return AGENT_OR_OPERATION_ID.test(text);
}
