import type { SyncRequest } from "../protocol/sync.ts";
import type { Identity } from "../state/identity.ts";
import type { TrustConfig } from "../state/trust_config.ts";

/** Which powers have to be proven on this node (trust.md), as the report and `status` say it. */
export function trustOf(
  { requireBoundBoxes, portalKeys, approvalKeys }: TrustConfig,
  identity: Pick<Identity, "bound_boxes"> | null,
): NonNullable<SyncRequest["node"]["trust"]> {
  const level = (isRequired: boolean) => isRequired ? "required" as const : "off" as const;
  return {
    boxes: level(requireBoundBoxes || identity?.bound_boxes === true),
    answers: level(portalKeys.length > 0),
    approvals: level(approvalKeys.length > 0),
  };
}
