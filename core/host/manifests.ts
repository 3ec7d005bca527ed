import { DnsLabel } from "../protocol/identifiers.ts";

/** The folder whose manifests k3s applies: at its start and then every 15 s (k3s fact E). */
export const MANIFEST_DIRECTORY = "/var/lib/rancher/k3s/server/manifests";

/**
 * Where the first-start manifest `name` stands. k3s names its Addon after the file up to the first dot, so
 * the prefix keeps it apart from k3s's own, which a file of the same name would replace.
 *
 * k3s must never see half a manifest. The durable write goes through `<path>.tmp` and a rename; k3s reads
 * only .yaml, .yml and .json, so that the temporary name is as invisible to it as a dotfile would be.
 *
 * @throws ZodError for a name that is no DNS label: it would leave the folder or hide the file.
 */
export function manifestPath(name: string): string {
  return `${MANIFEST_DIRECTORY}/pbx-${DnsLabel.parse(name)}.yaml`;
}

/**
 * The file beside a manifest that makes k3s take it for absent, without deleting anything (k3s fact E). Only
 * its existence counts. Written once the add-on is managed through the API.
 */
export function skipPath(name: string): string {
  return `${manifestPath(name)}.skip`;
}
