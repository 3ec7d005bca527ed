import { readK3sSettings } from "../../host/k3s_settings.ts";
import type { Ports } from "../../ports/mod.ts";
import type { ServerView } from "../../ports/servers.ts";
import { fail, ok, type Result } from "../../result.ts";
import type { Secret } from "../../secret.ts";
import { K3S_DATABASE_DIRECTORY, K3S_SNAPSHOT_DIRECTORY } from "../../state/paths.ts";
import { configuredToken } from "../restore/tokens.ts";

/** The cluster that k3s joins at its next start with an empty database. */
export interface Target {
  /** Of the server that k3s's configuration names, without a slash at its end. */
  readonly url: string;
  readonly token: Secret;
}

/** What k3s's configuration says of it; the error is what is against a rejoin, for people. */
export async function findTarget(ports: Ports): Promise<Result<Target, string>> {
  const settings = await readK3sSettings(ports.disk);
  if (!settings.ok) return fail(settings.error);
  const { server, snapshotDirectory } = settings.value;
  if (server === null) {
    return fail(
      "k3s's configuration names no server to join: with an empty database it would begin a new " +
        "cluster; such a server is the one to restore on (cluster.restore)",
    );
  }
  const url = server.url.replace(/\/+$/, "");
  if (!URL.canParse(url) || new URL(url).protocol !== "https:") {
    return fail(`${server.file} has no https URL as the server to join`);
  }
  if (snapshotDirectory !== null && liesInDatabase(snapshotDirectory)) {
    return fail(
      `etcd-snapshot-dir is ${snapshotDirectory}, inside the database's folder: its snapshots would ` +
        "be lost; put it elsewhere",
    );
  }
  const token = await configuredToken(ports, settings.value);
  if (!token.ok) return token;
  if (token.value === null) {
    return fail("neither k3s's configuration nor its server has a token to join with");
  }
  return ok({ url, token: token.value });
}

/** The default folder is one that a rejoin keeps. */
function liesInDatabase(path: string): boolean {
  const isBelow = (folder: string) => path === folder || path.startsWith(`${folder}/`);
  return isBelow(K3S_DATABASE_DIRECTORY) && !isBelow(K3S_SNAPSHOT_DIRECTORY);
}

/**
 * Looks at the cluster to join, which has to be this node's own: a server whose restore failed can come
 * up as an empty cluster of the same certificates and token (k3s lab). The error is for people.
 *
 * @param uid kube-system's UID as this node knows it
 */
export async function lookAtTarget(
  { servers }: Ports,
  { url, token }: Target,
  uid: string,
): Promise<Result<ServerView, string>> {
  const view = await servers.look(url, token);
  if (!view.ok) return fail(`the cluster to join does not answer: ${view.error.message}`);
  const found = view.value.kubeSystemUid;
  if (found === uid) return ok(view.value);
  return fail(
    `the cluster at ${url} is another one: its kube-system has the UID ${found} and not ${uid}`,
  );
}

/**
 * Whether the cluster's API answers at the server to join: then a server whose own API is down can be
 * told to rejoin, which is what it is for.
 *
 * @param uid kube-system's UID as this node knows it; null where it does not
 */
export async function answersElsewhere(ports: Ports, uid: string | null): Promise<boolean> {
  if (uid === null) return false;
  const target = await findTarget(ports);
  return target.ok && (await lookAtTarget(ports, target.value, uid)).ok;
}
