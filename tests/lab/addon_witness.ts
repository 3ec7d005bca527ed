import { GenericKind, K8s, kind, RegisterKind } from "kubernetes-fluent-client";
import type { KubeApi } from "./kube_api.ts";

/** A HelmChart as k3s defines it. */
class HelmChart extends GenericKind {}
/** A HelmChartConfig as k3s defines it. */
class HelmChartConfig extends GenericKind {}
/** The Platform of the tests. */
class Platform extends GenericKind {}

const HELM = { group: "helm.cattle.io", version: "v1" };
const LABEL = "pbx.io/managed";

/** What another client than the agent's sees and does in the cluster. */
export interface AddonWitness {
  /** `<resource>/<name>` of everything with the agent's label, sorted. */
  objects(): Promise<string[]>;
  chart(name: string): Promise<SeenChart>;
  /** The data of a Secret in kube-system, decoded. */
  secretText(name: string): Promise<Record<string, string>>;
  platformSpec(name: string): Promise<unknown>;
  /** Sets the Platform's one condition, for the generation that it has. */
  setPlatform(name: string, type: string, message?: string): Promise<void>;
  /** What helm-controller and Helm leave once a chart is installed. */
  installed(chart: string): Promise<void>;
}

/** A HelmChart as the witness saw it. */
export interface SeenChart {
  readonly labels: Readonly<Record<string, string>>;
  /** Who owns fields of it. */
  readonly managers: readonly (string | undefined)[];
  readonly finalizers: readonly string[];
  readonly deleting: boolean;
  readonly spec: Readonly<Record<string, unknown>>;
}

/**
 * Opens kubernetes-fluent-client on the cluster: it shares no code with ours, so that a mistake of ours
 * cannot hide itself. It leaves a connection open for each call.
 *
 * @param platformApi apiVersion of the tests' Platform
 */
export function openAddonWitness(api: KubeApi, platformApi: string): AddonWitness {
  // It reads the variable when it is called; there is no other way to name a cluster.
  Deno.env.set("KUBECONFIG", api.kubeconfig);
  const [group = "", version = ""] = platformApi.split("/");
  RegisterKind(HelmChart, { ...HELM, kind: "HelmChart", plural: "helmcharts" });
  RegisterKind(HelmChartConfig, { ...HELM, kind: "HelmChartConfig", plural: "helmchartconfigs" });
  RegisterKind(Platform, { group, version, kind: "Platform", plural: "platforms" });

  return {
    async objects() {
      const lists = await Promise.all([
        named("helmcharts", K8s(HelmChart).WithLabel(LABEL, "true").Get()),
        named("helmchartconfigs", K8s(HelmChartConfig).WithLabel(LABEL, "true").Get()),
        named("secrets", K8s(kind.Secret).WithLabel(LABEL, "true").Get()),
        named("platforms", K8s(Platform).WithLabel(LABEL, "true").Get()),
      ]);
      return lists.flat().sort();
    },
    async chart(name) {
      const { metadata, ...chart } = await K8s(HelmChart).InNamespace("kube-system").Get(name);
      return {
        labels: metadata?.labels ?? {},
        managers: (metadata?.managedFields ?? []).map(({ manager }) => manager),
        finalizers: metadata?.finalizers ?? [],
        deleting: metadata?.deletionTimestamp !== undefined,
        spec: chart["spec"],
      };
    },
    async secretText(name) {
      const { data = {} } = await K8s(kind.Secret).InNamespace("kube-system").Get(name);
      return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, atob(value)]));
    },
    async platformSpec(name) {
      return (await K8s(Platform).Get(name))["spec"];
    },
    async setPlatform(name, type, message = "") {
      const { metadata } = await K8s(Platform).Get(name);
      const conditions = [{ type, status: "True", message }];
      const status = { observedGeneration: metadata?.generation, conditions };
      await K8s(Platform).PatchStatus({ metadata: { name }, status });
    },
    async installed(chart) {
      const place = { namespace: "kube-system" };
      const containers = [{ name: "helm", image: "example.com/helm:1" }];
      const job = { ...place, name: `helm-install-${chart}` };
      await K8s(kind.Job).Apply({
        metadata: job,
        spec: { template: { spec: { restartPolicy: "OnFailure", containers } } },
      });
      const at = new Date(Date.now() - 1_000);
      const condition = { status: "True", lastProbeTime: at, lastTransitionTime: at };
      await K8s(kind.Job).PatchStatus({
        metadata: job,
        status: {
          startTime: at,
          completionTime: at,
          succeeded: 1,
          conditions: [
            { ...condition, type: "SuccessCriteriaMet" },
            { ...condition, type: "Complete" },
          ],
        },
      });
      const labels = { owner: "helm", name: chart, status: "deployed", version: "1" };
      await K8s(kind.Secret).Apply({
        metadata: { ...place, name: `sh.helm.release.v1.${chart}.v1`, labels },
        type: "helm.sh/release.v1",
        data: { release: btoa("H4sI") },
      });
    },
  };
}

interface Listed {
  readonly items: readonly { readonly metadata?: { readonly name?: string } }[];
}

/** A kind that the cluster does not know has no objects. */
async function named(resource: string, list: Promise<Listed>): Promise<string[]> {
  try {
    return (await list).items.map(({ metadata }) => `${resource}/${metadata?.name}`);
  } catch (error) {
    if ((error as { readonly status?: number }).status === 404) return [];
    throw error;
  }
}
