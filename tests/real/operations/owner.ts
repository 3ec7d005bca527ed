import { inSeconds, type Owner } from "../../../cli/demo/owner.ts";
import type { Node } from "../first_start/node.ts";

/** An operation that waits at the portal. */
export interface Queued {
  readonly id: string;
  readonly kind: string;
  readonly params: Record<string, unknown>;
}

/** An approval as it is offered. */
export interface Approval {
  readonly node: string;
  readonly expires: string;
  readonly signature: string;
}

/** The portal's operations. */
function operationsOf({ portal }: Node): string {
  return `/admin/clusters/${portal.cluster}/operations`;
}

/** Takes an operation back: one that waits for its approval holds up those behind it. */
export async function withdraw(node: Node, id: string): Promise<void> {
  await node.portal.admin("DELETE", `${operationsOf(node)}/${id}`);
}

/** Offers an operation under its own ID, in the place of what was offered under it before. */
export async function queue(
  node: Node,
  operation: Queued,
  approvals: readonly Approval[] = [],
): Promise<void> {
  await withdraw(node, operation.id).catch(() => {});
  await node.portal.admin("POST", operationsOf(node), { ...operation, approvals });
}

/** The text that the portal shows for a queued operation. */
export async function shownText(
  { portal }: Node,
  request: { readonly operation: string; readonly node: string; readonly expires: string },
): Promise<string> {
  const path = `/admin/clusters/${portal.cluster}/approval-text`;
  const { texts } = await portal.admin<{ texts: { text: string }[] }>("POST", path, request);
  return texts[0]?.text ?? "";
}

/** The owner's approval of an operation that is queued. `change`: what is signed in place of the true text. */
export async function approve(
  node: Node,
  owner: Owner,
  operation: Queued,
  { expires = inSeconds(3_600), signedFor = node.portal.node, change = (text: string) => text } =
    {},
): Promise<Approval> {
  const text = await shownText(node, { operation: operation.id, node: signedFor, expires });
  return { node: signedFor, expires, signature: await owner.sign(change(text)) };
}
