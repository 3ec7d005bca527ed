import { createNodeDisk } from "../../adapters/node/disk.ts";
import { readOperationLog, readOperations } from "../../core/agent/operations_view.ts";
import type { Arguments } from "../arguments.ts";
import { EXIT, type ExitCode } from "../exit_codes.ts";
import { operationDetail, operationList } from "../operations_text.ts";
import { print } from "../print.ts";

/** `pbx-agent operations`: the list, or one in detail with its steps, evidence and log. */
export async function operations(args: Arguments): Promise<ExitCode> {
  const disk = createNodeDisk(args.root === undefined ? {} : { root: args.root });
  const known = await readOperations(disk);
  if (!known.ok) {
    print("stderr", `pbx-agent: ${known.error}\n`);
    return EXIT.FAILED;
  }
  if (args.operation === undefined) {
    print("stdout", args.json ? json(known.value) : operationList(known.value));
    return EXIT.OK;
  }
  const found = known.value.find(({ id }) => id === args.operation);
  if (found === undefined) {
    const all = known.value.map(({ id }) => id).join(", ") || "none";
    print("stderr", `pbx-agent: there is no operation '${args.operation}' here; known: ${all}\n`);
    return EXIT.FAILED;
  }
  const log = await readOperationLog(disk, found.id);
  print("stdout", args.json ? json({ ...found, log }) : operationDetail(found, log));
  return EXIT.OK;
}

function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
