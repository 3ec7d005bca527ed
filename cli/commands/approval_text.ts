import { parseArgs } from "node:util";
import { readFile } from "node:fs/promises";
import { text as readText } from "node:stream/consumers";
import type { JsonObject, JsonValue } from "../../core/json.ts";
import { approvalTexts } from "../../core/protocol/approval_request.ts";
import { EXIT, type ExitCode } from "../exit_codes.ts";
import { print } from "../print.ts";

const USAGE = `usage: pbx-agent approval-text --cluster C --node N --expires T [--accepted FILE]

  Prints the text that the owner signs, from an operation's or a desired state's JSON on stdin.

  --cluster C        the cluster's ID
  --node N           the node's name; * for access.issue and diag.collect on any node
  --expires T        such as 2026-01-02T12:00:00Z, at most 7 days ahead
  --accepted FILE    the accepted desired state: what changes are compared with, and the bucket
  --what CHANGE      which change, where several need an approval
  --older S:V        sequence and version of the older release that the desired
                     state names
  --newest S:V       those of the newest that ran; left out where the agent
                     says that it does not know them
`;

const RELEASE = /^([0-9]{1,15}):(.+)$/;
const EXPIRES = /^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$/;

/** `pbx-agent approval-text`: works on any machine, and reads nothing but what it is given. */
export async function approvalTextCommand(args: readonly string[]): Promise<ExitCode> {
  let values;
  try {
    const option = { type: "string" } as const;
    const options = {
      cluster: option,
      node: option,
      expires: option,
      accepted: option,
      what: option,
      newest: option,
      older: option,
      help: { type: "boolean", short: "h" },
    } as const;
    values = parseArgs({ args: [...args], options }).values;
  } catch (error) {
    return usage(error instanceof Error ? error.message : String(error));
  }
  if (values.help === true) {
    print("stdout", USAGE);
    return EXIT.OK;
  }
  const { cluster, node, expires, what } = values;
  if (cluster === undefined || node === undefined || expires === undefined) {
    return usage("--cluster, --node and --expires are needed");
  }
  if (!EXPIRES.test(expires) || Number.isNaN(Date.parse(expires))) {
    return usage(`--expires ${expires} is not a UTC time such as 2026-01-02T12:00:00Z`);
  }
  const [from, to] = [releaseOf(values.newest), releaseOf(values.older)];
  const isUnreadable = (values.newest !== undefined && (from === null || to === null)) ||
    (values.older !== undefined && to === null);
  if (isUnreadable) return usage("--older is SEQUENCE:VERSION, --newest too and only beside it");
  const accepted = values.accepted === undefined
    ? null
    : JSON.parse(await readFile(values.accepted, "utf8")) as JsonValue;
  const document = JSON.parse(await readText(process.stdin)) as JsonValue;
  const made = approvalTexts(document, {
    cluster,
    node,
    expires,
    accepted,
    olderRelease: to === null ? null : { from, to },
  });
  if (!made.ok) {
    print("stderr", `pbx-agent: ${made.error}\n`);
    return EXIT.FAILED;
  }
  const texts = what === undefined ? made.value : made.value.filter((one) => one.what === what);
  const [first] = texts;
  if (first === undefined) {
    print("stderr", "pbx-agent: nothing in it needs an approval\n");
    return EXIT.FAILED;
  }
  if (texts.length > 1) {
    const names = texts.map((one) => one.what).join(", ");
    return usage(`several changes need an approval, name one with --what: ${names}`);
  }
  print("stdout", first.text);
  return EXIT.OK;
}

function releaseOf(text: string | undefined): JsonObject | null {
  const [, sequence, version] = RELEASE.exec(text ?? "") ?? [];
  return version === undefined ? null : { sequence: Number(sequence), version };
}

function usage(why: string): ExitCode {
  print("stderr", `pbx-agent: ${why}\n\n${USAGE}`);
  return EXIT.USAGE;
}
