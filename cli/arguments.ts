import { parseArgs } from "node:util";
import { fail, ok, type Result } from "../core/result.ts";
import { parseSince, type Since } from "./since.ts";

/** The program's commands. `rollback` is for the timer of an update and not in the usage text. */
export const COMMANDS = [
  "run",
  "status",
  "operations",
  "history",
  "plan",
  "version",
  "uninstall",
  "rollback",
  "help",
] as const;
/** One of them. */
export type Command = (typeof COMMANDS)[number];

/** What the program was asked to do. */
export interface Arguments {
  readonly command: Command;
  /** Every path is below this folder. */
  readonly root?: string;
  /** `status`: for people. */
  readonly text: boolean;
  /** `operations`, `history`, `plan`: for programs. */
  readonly json: boolean;
  /** `operations`: this one in detail. */
  readonly operation?: string;
  /** `history`: nothing older. */
  readonly since?: Since;
  /** `uninstall`: carry it out. */
  readonly yes: boolean;
  /** `uninstall`: where k3s is held, remove the agent and leave k3s held. */
  readonly leaveHeld: boolean;
  /** `run`, in labs only: this far apart are the cycles, milliseconds. */
  readonly cycleMs?: number;
  /** `run`, in labs only: a new version has this long to sync, milliseconds. */
  readonly trialMs?: number;
  /** `run`, in labs only: a new node image has this long to pass its health gate, milliseconds. */
  readonly gateMs?: number;
}

const USAGE = `usage: pbx-agent COMMAND [--root DIR]

  run                the service: enroll once, start k3s, keep the node in its desired state
  status [--text]    what the agent knows of this node, as JSON or for people; no secret in it
  operations [ID] [--json]
                     what the portal asked for and what came of it; one of them with steps and log
  history [--json] [--since TIME]
                     who ordered what and by which proof; TIME: 30m, 12h, 7d, a day or a time
  plan [--json]      what the next cycle would change in the cluster, and why; writes nothing
  version            the version, and the IDs of the built-in release keys
  uninstall [--yes] [--leave-k3s-held]
                     say what would be removed; with --yes remove it. k3s and its data stay. While
                     k3s is held by a restore it refuses, or leaves k3s held
  approval-text      the text that the owner signs for an operation or a change; --help
  simulate           a fleet of agents in memory against a portal, to test that; --help
  help               this text

  --root DIR         for labs and tests: every path and host program is looked for below DIR
`;

const LAB_USAGE = `  --cycle SECONDS    run, in labs only: cycles are this far apart instead of 30 s
  --trial SECONDS    run, in labs only: a new version has this long to sync instead of 10 minutes
  --gate SECONDS     run, in labs only: a new image has this long to be healthy instead of 20 minutes
`;

/** The usage text of the program that `lab` tells. */
export function usage(lab: boolean): string {
  return lab ? USAGE + LAB_USAGE : USAGE;
}

const SECONDS = /^[0-9]{1,3}(?:\.[0-9]{1,3})?$/;

/** Which flags belong to which command; --root is taken everywhere. */
const FLAGS: Readonly<Record<Command, readonly string[]>> = {
  run: ["cycle", "trial", "gate"],
  status: ["text", "json"],
  operations: ["json"],
  history: ["json", "since"],
  plan: ["json"],
  version: [],
  uninstall: ["yes", "leave-k3s-held"],
  rollback: [],
  help: [],
};

/**
 * Reads the arguments; the error says what is not understood. `lab`: the lab's program, which runs where
 * no command is named and whose rhythm can be set.
 */
export function parseArguments(args: readonly string[], lab: boolean): Result<Arguments, string> {
  let parsed;
  try {
    parsed = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        root: { type: "string" },
        text: { type: "boolean" },
        json: { type: "boolean" },
        since: { type: "string" },
        yes: { type: "boolean" },
        "leave-k3s-held": { type: "boolean" },
        cycle: { type: "string" },
        trial: { type: "string" },
        gate: { type: "string" },
        help: { type: "boolean", short: "h" },
      },
    });
  } catch (error) {
    return fail(error instanceof Error ? firstSentence(error.message) : String(error));
  }
  const { values, positionals } = parsed;
  if (values.help === true) {
    return ok({ command: "help", text: false, json: false, yes: false, leaveHeld: false });
  }
  const [name = lab ? "run" : undefined, ...rest] = positionals;
  if (name === undefined) return fail("no command is named");
  const command = COMMANDS.find((known) => known === name);
  if (command === undefined) return fail(`there is no command '${name}'`);
  const operation = command === "operations" ? rest.shift() : undefined;
  if (rest.length > 0) return fail(`'${rest[0]}' is one argument too many`);
  const stray = Object.keys(values).find((flag) =>
    flag !== "root" && !FLAGS[command].includes(flag)
  );
  if (stray !== undefined) return fail(`${command} has no flag --${stray}`);
  for (const flag of ["cycle", "trial", "gate"] as const) {
    const value = values[flag];
    if (value === undefined) continue;
    if (!lab) return fail(`${command} has no flag --${flag}`);
    if (!SECONDS.test(value)) return fail(`--${flag} ${value}: is no number of seconds`);
  }
  const since = values.since === undefined ? undefined : parseSince(values.since);
  if (since !== undefined && !since.ok) return since;
  if (values.root === "") return fail("--root needs a folder");
  return ok({
    command,
    // The machine itself is no lab.
    ...(values.root === undefined || values.root === "/" ? {} : { root: values.root }),
    text: values.text === true,
    json: values.json === true,
    ...(operation === undefined ? {} : { operation }),
    ...(since === undefined ? {} : { since: since.value }),
    yes: values.yes === true,
    leaveHeld: values["leave-k3s-held"] === true,
    ...(values.cycle === undefined ? {} : { cycleMs: Number(values.cycle) * 1000 }),
    ...(values.trial === undefined ? {} : { trialMs: Number(values.trial) * 1000 }),
    ...(values.gate === undefined ? {} : { gateMs: Number(values.gate) * 1000 }),
  });
}

/** Node's message goes on with advice about positionals that is of no use here. */
function firstSentence(message: string): string {
  return message.split(". ")[0] ?? message;
}
