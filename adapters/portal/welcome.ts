import { stringify } from "yaml";
import type { JsonObject } from "../../core/json.ts";
import { portalKeysOf } from "./answer_key.ts";
import { firstCluster } from "./first_cluster.ts";
import { issueToken } from "./issue_token.ts";
import type { RunningPortal } from "./server.ts";

const CLUSTER = "demo";
const NODE = "demo-1";
const SERVER_ID = "4711001";

/** Where `config_yaml` expects `ca_pem` to be put. */
const CA_FILE = "/etc/pbx-agent/ca.pem";

/**
 * What a started portal says about itself: where it is, a cluster, and a new token for that cluster's
 * first node, ready to be written into an agent's `/etc/pbx-agent/config.yaml`.
 */
export function welcome(running: RunningPortal): JsonObject {
  const { portal, url, adminUrl, caPem } = running;
  const { clusters } = portal.state;
  const cluster = [...clusters.values()][0] ?? firstCluster(CLUSTER, portal.random);
  clusters.set(cluster.id, cluster);
  const [nodeName, node] = [...cluster.nodes][0] ?? [NODE, { serverId: SERVER_ID }];
  cluster.nodes.set(nodeName, node);
  const { serverId } = node;
  const issued = issueToken(portal, { clusterId: cluster.id, nodeName, serverId, expiresAt: null });
  portal.store.save(portal.state);
  const portalKeys = portalKeysOf(portal.answerKey);
  const config = {
    portal: url,
    cluster_id: cluster.id,
    node_name: nodeName,
    enrollment_token: issued.reveal(),
    metadata_url: adminUrl,
    ...(portalKeys.length === 0 ? {} : { portal_keys: portalKeys }),
    ...(caPem === undefined ? {} : { ca_file: CA_FILE }),
  };
  return {
    url,
    admin: adminUrl,
    cluster: cluster.id,
    node: nodeName,
    server_id: serverId,
    token: issued.reveal(),
    metadata_url: adminUrl,
    portal_keys: portalKeys,
    config_yaml: stringify(config),
    ...(caPem === undefined ? {} : { ca_pem: caPem }),
  };
}
