import assert from "node:assert/strict";
import type { Shape } from "./file_server.ts";
import type { Row } from "./lanes.ts";
import { BIN, onMachine } from "./machine.ts";
import { mute, plain, type Program, type Programs, says, script } from "./programs.ts";
import { judge } from "./verdict.ts";

/** A program that must not take over. */
interface Bad {
  readonly name: string;
  readonly program: Program;
  /** What the condition and `status` say. */
  readonly says: RegExp;
  readonly reason: "check" | "run";
}

const VERSION = "0.2.0";

function bads(): readonly Bad[] {
  const good = mute(VERSION);
  const altered = new Uint8Array(good.bytes);
  altered[altered.length - 2] = 0x20;
  return [
    {
      name: "wrong checksum",
      program: { ...good, bytes: altered },
      says: /SHA-256 is [0-9a-f]{64}, not /,
      reason: "check",
    },
    {
      name: "wrong size",
      program: { ...good, size: good.size - 1 },
      says: /over \d+ bytes/,
      reason: "check",
    },
    {
      name: "truncated for good",
      program: { ...good, bytes: good.bytes.slice(0, -10) },
      says: /has \d+ bytes, not \d+/,
      reason: "check",
    },
    {
      name: "does not start",
      program: plain(VERSION, "this is no program of any machine"),
      says: /ExecMainStatus=203/,
      reason: "run",
    },
    {
      name: "says another version",
      program: script(VERSION, says("0.9.9")),
      says: /says that it is version 0\.9\.9/,
      reason: "run",
    },
    {
      name: "hangs where it shall say its version",
      program: script(VERSION, "exec sleep infinity"),
      says: /Result=timeout/,
      reason: "run",
    },
    {
      name: "fails to say its version",
      program: script(VERSION, `${says(VERSION)}\nexit 3`),
      says: /ExecMainStatus=3/,
      reason: "run",
    },
  ];
}

/** Good versions, and those that fail their check or their run and so never take over. */
export function checkRows(programs: Programs): readonly Row[] {
  const { first, second } = programs;
  const half = Math.floor(second.bytes.length / 2);
  const cuts: readonly { readonly name: string; readonly shapes: readonly Shape[] }[] = [
    { name: "good version", shapes: [] },
    { name: "download that is cut twice, and resumed", shapes: cutTwice(half) },
    { name: "download server that answers 429, then 503", shapes: busy() },
  ];
  return [
    ...cuts.map(({ name, shapes }) => ({
      name,
      play: () =>
        onMachine(programs, { trial: 60 }, async (machine) => {
          await machine.update(second, shapes);
          await judge(machine, { runs: second, previous: first, rolledBack: null });
          const asked = machine.files.asked(second.version);
          if (name.includes("resumed")) {
            assert.deepEqual(asked, ["all", `bytes=${half}-`, `bytes=${half + 1000}-`]);
          } else assert.deepEqual(asked, ["all", ...shapes.map(() => "all")]);
        }),
    })),
    ...bads().map((bad) => ({
      name: `program: ${bad.name}`,
      play: () => refuses(programs, bad),
    })),
  ];
}

function cutTwice(half: number): readonly Shape[] {
  return [{ cutAfter: half }, { cutAfter: 1000 }];
}

function busy(): readonly Shape[] {
  return [{ status: 429, headers: { "retry-after": "2" } }, { status: 503 }];
}

/** The program is fetched once, told of, held for six hours, and never in the way of the one that runs. */
async function refuses(programs: Programs, { program, says, reason }: Bad): Promise<void> {
  const { first } = programs;
  await onMachine(programs, { trial: 60 }, async (machine) => {
    const pid = ["systemctl", "show", "--property=MainPID", "pbx-agent.service"];
    const before = await machine.container.run(pid);
    await machine.update(program);
    await machine.until("the condition", () => {
      const condition = machine.report()?.conditions.find(({ code }) => code === "update_failed");
      return condition !== undefined && says.test(condition.message) || undefined;
    });
    // Wanted back and wanted again, as by a person who tries once more.
    await machine.update(first);
    await machine.until("a report without the condition", () => {
      const codes = machine.report()?.conditions.map(({ code }) => code) ?? [];
      return !codes.includes("update_failed") || undefined;
    });
    await machine.want(program.version);
    await machine.until("the condition again", () => {
      const codes = machine.report()?.conditions.map(({ code }) => code) ?? [];
      return codes.includes("update_failed") || undefined;
    });
    await judge(machine, { runs: first, previous: null, rolledBack: null });
    assert.equal(machine.files.asked(program.version).length, 1, "it is fetched again");
    assert.equal(await machine.container.run(pid), before, `${BIN} was started anew`);
    const status = await machine.statusText();
    const line = new RegExp(`^update +0\\.2\\.0 not before (\\S+) \\(${reason}\\): `, "m");
    const again = line.exec(status)?.[1] ?? "";
    const hours = (Date.parse(again) - Date.now()) / 3_600_000;
    assert.ok(hours > 5.9 && hours <= 6, status);
    assert.match(status, says);
  });
}
