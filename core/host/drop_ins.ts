import { Document, Scalar } from "yaml";
import type { HostSettings } from "../protocol/desired_state.ts";

/** k3s reads every `.yaml` file of this folder after its config.yaml, in the order of their names (k3s fact A). */
export const DROP_IN_DIRECTORY = "/etc/rancher/k3s/config.yaml.d";

/** A drop-in of k3s's configuration as it has to be on the disk. */
export interface DropIn {
  readonly path: string;
  /** The whole file, UTF-8. */
  readonly content: string;
}

const SNAPSHOTS = `${DROP_IN_DIRECTORY}/50-pbx-snapshots.yaml`;
const INGRESS = `${DROP_IN_DIRECTORY}/50-pbx-ingress.yaml`;

/** Every drop-in that the agent writes. */
export const DROP_IN_PATHS: readonly string[] = [SNAPSHOTS, INGRESS];

/** The comment that every file of the agent in k3s's configuration begins with. */
export const HEADER =
  " Managed by pbx-agent. Changes made here are overwritten; change it in the portal.";

/**
 * The two drop-ins that carry out the host settings. The same settings give the same bytes, so whether a
 * file has to be written is a comparison of bytes. Endpoint and keys of the bucket come from the Secret
 * `kube-system/pbx-etcd-s3`: k3s ignores that Secret when a drop-in sets any of them (k3s fact B).
 */
export function dropIns(host: HostSettings): readonly DropIn[] {
  return [
    dropIn(SNAPSHOTS, {
      "etcd-s3": true,
      "etcd-s3-config-secret": "pbx-etcd-s3",
      "etcd-snapshot-schedule-cron": quoted(host.snapshots.schedule),
      "etcd-snapshot-retention": host.snapshots.retention,
      "etcd-snapshot-compress": host.snapshots.compress,
    }),
    // With a bare `disable` this file would replace what config.yaml disables; `disable+` adds to it.
    dropIn(INGRESS, host.ingress === "none" ? { "disable+": ["traefik"] } : {}),
  ];
}

function dropIn(path: string, settings: Record<string, unknown>): DropIn {
  const document = new Document(settings, { version: "1.1" });
  document.commentBefore = HEADER;
  return { path, content: document.toString({ lineWidth: 0 }) };
}

/** A string that no reader can take for an alias, a number or anything else, whatever it looks like. */
function quoted(text: string): Scalar<string> {
  const scalar = new Scalar(text);
  scalar.type = Scalar.QUOTE_DOUBLE;
  return scalar;
}
