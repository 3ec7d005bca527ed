import type { CollectionRef } from "../ports/k8s.ts";
import { ADDON_NAMESPACE, HELM_API } from "./allowed_object.ts";

/** The kinds that every add-on may have, as lists of kube-system. */
export const MANAGED_KINDS: readonly CollectionRef[] = [
  { apiVersion: HELM_API, resource: "helmcharts", namespace: ADDON_NAMESPACE },
  { apiVersion: HELM_API, resource: "helmchartconfigs", namespace: ADDON_NAMESPACE },
  { apiVersion: "v1", resource: "secrets", namespace: ADDON_NAMESPACE },
];
