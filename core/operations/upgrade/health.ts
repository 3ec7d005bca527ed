import { nodeReady } from "../../cluster/kubernetes_facts.ts";
import { at, conditionStatus } from "../../cluster/live.ts";
import type { JsonObject } from "../../json.ts";
import type { K8sError } from "../../ports/k8s.ts";
import type { Ports } from "../../ports/mod.ts";
import { ok, type Result } from "../../result.ts";

/** What a healthy node has to show. */
export interface Expected {
  readonly node: string;
  readonly k3sVersion: string;
  readonly bootId: string | null;
}

const DEPLOYMENTS = {
  apiVersion: "apps/v1",
  resource: "deployments",
  namespace: "kube-system",
} as const;

/** What of a node's health is missing (operations.md, health_gate), for people; empty where nothing is. */
export async function healthFindings(
  { k8s }: Pick<Ports, "k8s">,
  expected: Expected,
): Promise<readonly string[]> {
  if (!await k8s.ready()) return ["the Kubernetes API's /readyz does not say 200"];
  const { node: name } = expected;
  const node = await k8s.get({ apiVersion: "v1", resource: "nodes", name });
  if (!node.ok) return [node.error.message];
  if (node.value === null) return [`the API knows no Node ${name}`];
  const deployments = await deploymentFindings({ k8s });
  return deployments.ok ? [...nodeFindings(node.value, expected), ...deployments.value] : [
    deployments.error.message,
  ];
}

/** Which Deployments of kube-system are not available, for people. */
export async function deploymentFindings(
  { k8s }: Pick<Ports, "k8s">,
): Promise<Result<readonly string[], K8sError>> {
  const deployments = await k8s.list(DEPLOYMENTS);
  return deployments.ok ? ok((deployments.value ?? []).flatMap(deploymentFinding)) : deployments;
}

/**
 * What is missing of the Node. Its status is from before the reboot until the kubelet writes it anew, so
 * the boot that it tells counts.
 */
export function nodeFindings(
  node: JsonObject,
  { node: name, k3sVersion, bootId }: Expected,
): string[] {
  const told = at(node, "status", "nodeInfo", "bootID");
  if (typeof told === "string" && bootId !== null && told !== bootId) {
    return [`Node ${name} has not reported since the boot`];
  }
  const findings: string[] = [];
  if (nodeReady(node) !== true) findings.push(`Node ${name} is not Ready`);
  const version = at(node, "status", "nodeInfo", "kubeletVersion");
  if (version !== k3sVersion) {
    findings.push(
      `Node ${name} runs k3s ${version ?? "of no known version"} and not ${k3sVersion}`,
    );
  }
  return findings;
}

/**
 * A Deployment is believed where its status is not about an older spec; by its condition, and where it has
 * none by its counts.
 */
function deploymentFinding(deployment: JsonObject): string[] {
  const generation = at(deployment, "metadata", "generation");
  const observed = at(deployment, "status", "observedGeneration");
  const isObserved = generation === undefined || observed === undefined || generation === observed;
  const available = conditionStatus(deployment, "Available");
  const isAvailable = available === null ? hasEnough(deployment) : available === "True";
  if (isObserved && isAvailable) return [];
  return [`Deployment kube-system/${at(deployment, "metadata", "name")} is not available`];
}

/** As many replicas are available as are wanted: 1, where the spec does not say. */
function hasEnough(deployment: JsonObject): boolean {
  const wanted = Number(at(deployment, "spec", "replicas") ?? 1);
  return Number(at(deployment, "status", "availableReplicas") ?? 0) >= wanted;
}
