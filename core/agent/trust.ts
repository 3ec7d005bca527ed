import type { SyncRequest } from "../protocol/sync.ts";
import type { Identity } from "../state/identity.ts";
import type { TrustConfig } from "../state/trust_config.ts";

/** Whether a box has to be bound to its position: the portal has said so once, or config.yaml does. */
export function requiresBound(
  { requireBoundBoxes }: TrustConfig,
  identity: Pick<Identity, "bound_boxes"> | null,
): boolean {
  return requireBoundBoxes || identity?.bound_boxes === true;
}

/** Which powers have to be proven on this node (trust.md), as the report and `status` say it. */
export function trustOf(
  trust: TrustConfig,
  identity: Pick<Identity, "bound_boxes"> | null,
): NonNullable<SyncRequest["node"]["trust"]> {
  const level = (isRequired: boolean) => isRequired ? "required" as const : "off" as const;
  return {
    boxes: level(requiresBound(trust, identity)),
    answers: level(trust.portalKeys.length > 0),
    approvals: level(trust.approvalKeys.length > 0),
  };
}
