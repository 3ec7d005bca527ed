import * as z from "zod";
import type { Disk } from "../../ports/disk.ts";
import { isOperationId } from "../../protocol/identifiers.ts";
import { fail, ok, type Result } from "../../result.ts";
import { FORMAT } from "../../state/json_document.ts";
import { readOwned, writeOwned } from "../../state/owner.ts";
import { OPERATIONS_DIRECTORY } from "../../state/paths.ts";

/**
 * Which reboots an operation has ordered. Written before systemd is told, because afterwards nothing may
 * be left to write it: an order that was lost in between is not given again. The file stands apart from
 * upgrade.json and state.json, so it still counts where one of those is lost or put back.
 */
const OrdersDocument = z.object({
  format: z.literal(FORMAT),
  /** By the step, into the new image. */
  there: z.boolean(),
  /** By the health gate, back into the old image. */
  back: z.boolean(),
});
/** The orders of one operation: one in each direction at most. */
export type RebootOrders = Omit<z.infer<typeof OrdersDocument>, "format">;

const ENDING = ".reboots";

function ordersPath(id: string): string {
  if (!isOperationId(id)) throw new RangeError("the operation's ID cannot be used as a file name");
  return `${OPERATIONS_DIRECTORY}/${id}${ENDING}`;
}

/** What was ordered. A file that cannot be read counts as both orders: nothing is ordered on a guess. */
export async function readOrders(disk: Disk, id: string): Promise<RebootOrders> {
  const found = await readOwned(disk, ordersPath(id), OrdersDocument);
  if (found.ok && found.value.kind === "absent") return { there: false, back: false };
  if (!found.ok || found.value.kind !== "loaded") return { there: true, back: true };
  const { there, back } = found.value.value;
  return { there, back };
}

/** Writes an order down, durably, before systemd is told. Refused where it was given before. */
export async function noteOrder(
  disk: Disk,
  id: string,
  which: keyof RebootOrders,
): Promise<Result<void, string>> {
  const before = await readOrders(disk, id);
  if (before[which]) {
    return fail(`this operation may have ordered this reboot before (${ordersPath(id)})`);
  }
  const orders = { format: FORMAT, ...before, [which]: true };
  const written = await writeOwned(disk, ordersPath(id), orders);
  return written.ok ? ok(undefined) : fail(written.error.message);
}
