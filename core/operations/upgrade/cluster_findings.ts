import { memberOfNode, nodeReady } from "../../cluster/kubernetes_facts.ts";
import type { StepTools } from "../definition.ts";
import { lookFor } from "../look_for.ts";
import { ownView } from "../rejoin/own_view.ts";
import { lookAtQuorum } from "../rejoin/quorum.ts";
import { deploymentFindings } from "./health.ts";
import type { UpgradeParams } from "./params.ts";

type Tools = StepTools<UpgradeParams>;

/** How long what is not well has to become so, milliseconds: a Pod may be starting just now. */
const WELL_MS = 60_000;

/**
 * What is not well in the cluster before an upgrade, for people. The health gate would wait for it in
 * vain, and etcd would stand still while this node restarts.
 */
export async function clusterFindings(tools: Tools): Promise<readonly string[]> {
  let findings: readonly string[] = [];
  await lookFor(tools, "the cluster to be well", WELL_MS, async () => {
    findings = await look(tools);
    return findings.length === 0 ? true : null;
  });
  return findings;
}

async function look(tools: Tools): Promise<readonly string[]> {
  const { ports, node } = tools;
  const { node_name: name } = node.binding;
  const own = await ports.k8s.get({ apiVersion: "v1", resource: "nodes", name });
  if (!own.ok) return [own.error.message];
  const deployments = await deploymentFindings(ports);
  if (!deployments.ok) return [deployments.error.message];
  const isMember = own.value !== null && memberOfNode(own.value) !== null;
  return [
    ...(own.value !== null && nodeReady(own.value) === false ? [`Node ${name} is not Ready`] : []),
    ...deployments.value.map((found) =>
      `${found}: the new image's health gate would wait for it in vain; mend it, or scale it to 0`
    ),
    ...(isMember ? await memberFindings(tools) : []),
  ];
}

/**
 * Whether etcd would lose its majority while this server restarts. Of two servers it always does, which is
 * none of this server's faults; where another one is down, it need not.
 */
async function memberFindings({ ports, node }: Tools): Promise<readonly string[]> {
  if ((node.desired?.servers ?? 1) === 1) return [];
  const view = await ownView(ports);
  if (!view.ok) return [`etcd does not tell of its members: ${view.error}`];
  const { own, healthyOthers, isSafe, words } = await lookAtQuorum(ports, node, view.value);
  const isOther = ({ id }: { readonly id: string }) => !own.some((member) => member.id === id);
  const others = view.value.members.filter((member) => !member.isLearner && isOther(member));
  const answering = healthyOthers.filter(({ isLearner }) => !isLearner).length;
  if (isSafe || answering === others.length) return [];
  return [
    `${words}: the cluster would stand still while this node restarts; bring the other servers back, ` +
    "or forget those that are gone (node.forget)",
  ];
}
