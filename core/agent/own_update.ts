import { counted, current, fullUntil, heldBy, hold, MAX_HELD } from "../update/holds.ts";
import { install } from "../update/install.ts";
import { readSaidVersion } from "../update/says_version.ts";
import { forget } from "../update/standing.ts";
import type { ArtifactFile } from "../ports/artifact.ts";
import type { Artifact } from "../protocol/release.ts";
import { withEntry } from "../state/history.ts";
import { NEW_PROGRAM_FILE, PROGRAM_FILE } from "../state/paths.ts";
import type { HoldReason, UpdateRecord, UpdateStep } from "../state/update_record.ts";
import type { BoundContext } from "./context.ts";
import { clearConditions, correctedNow, raiseCondition, timestamp, witnesses } from "./context.ts";
import { type Download, startDownload } from "./download.ts";
import { BY_AGENT, entryOf } from "./history_entry.ts";
import type { Releases } from "./releases.ts";
import { sayRolledBack, settleUpdate } from "./settle_update.ts";
import { updateWish } from "./update_wish.ts";
import { runningOperation } from "../state/journal.ts";

/** How a step of an update ended. `installed`: the program has to end, for the new one to start. */
export type UpdateEnd = "done" | "installed" | "stop" | "aborted";

/** The agent's own updates, from cycle to cycle (operations.md, Own updates). */
export interface OwnUpdate {
  /** Whether this version has not synced since it was installed. */
  isOnTrial(): boolean;
  /** Takes over what a start finds of an update, before a report; nothing where that is done. */
  settle(context: BoundContext): Promise<void>;
  /** A sync succeeded: this version stays, and the rollback's timer goes. */
  proven(context: BoundContext): Promise<void>;
  /** Goes as far as it can go in this cycle; a download goes on beside it. */
  advance(context: BoundContext, releases: Releases): Promise<UpdateEnd>;
}

/** What a download needs beside its own bytes, so that the node is not left with a full disk. */
const SPARE_BYTES = 64 * 1024 * 1024;
const PROGRAM_MODE = 0o755;

/** The updates of an agent that has just started. */
export function openOwnUpdate(): OwnUpdate {
  let settled = false;
  let onTrial = false;
  let download: Download | null = null;

  async function drop(context: BoundContext): Promise<void> {
    download?.cancel();
    await download?.ended;
    download = null;
    await context.ports.disk.remove(NEW_PROGRAM_FILE);
  }

  /** This version is the wanted one. */
  async function calm(context: BoundContext): Promise<void> {
    if (download !== null) await drop(context);
    await clearConditions(context, "update_failed", "rolled_back");
    if (isBlank(context.store.state.update)) return;
    const seen = witnesses(context);
    await note(context, (record) => ({
      ...record,
      holds: current(record.holds, seen),
      under_way: onTrial ? record.under_way : null,
      rolled_back: null,
    }));
  }

  async function failed(
    context: BoundContext,
    version: string,
    reason: HoldReason,
    message: string,
    leastMs = 0,
  ): Promise<void> {
    await drop(context);
    const fraction = context.ports.random.fraction();
    const how = { reason, message, witnesses: witnesses(context), fraction, leastMs };
    await note(context, (record) => ({ ...hold(record, version, how), under_way: null }));
    await sayHeld(context, version);
  }

  /** Whether the version has to wait; says so. */
  async function sayHeld(context: BoundContext, version: string): Promise<boolean> {
    const seen = witnesses(context);
    const { update: record } = context.store.state;
    const held = heldBy(record, version, seen);
    if (held === null) {
      const until = fullUntil(record, seen);
      if (until === null) return false;
      const message =
        `pbx-agent ${version}: ${MAX_HELD} other versions failed and are held; not tried before ${until}`;
      await raiseCondition(context, "update_failed", message);
      return true;
    }
    // The condition of the rollback says it already, until another version was wanted in between.
    if (held.reason === "rollback" && record.rolled_back?.from === version) {
      await clearConditions(context, "update_failed");
      // What it said may have been the time of a clock that was wrong.
      await sayRolledBack(context, record.rolled_back);
    } else {
      const why = held.reason === "rollback" ? `taken back at ${held.at}: ` : "";
      const message =
        `pbx-agent ${version}: ${why}${held.message}; not tried before ${held.again_at}`;
      await raiseCondition(context, "update_failed", message);
    }
    return true;
  }

  /** Fetches in the background; true once the file is there and right. */
  async function fetched(
    context: BoundContext,
    version: string,
    artifact: Artifact,
  ): Promise<boolean> {
    // What was begun for one manifest's artifact is nothing to another's, whatever they have in common.
    if (download !== null && !isSameArtifact(download.artifact, artifact)) await drop(context);
    if (download === null) {
      const free = await context.ports.disk.freeBytes(PROGRAM_FILE);
      if (free.ok && free.value < artifact.size + SPARE_BYTES) {
        const message =
          `no room: ${free.value} bytes are free, ${artifact.size} and some are needed`;
        await failed(context, version, "trouble", message);
        return false;
      }
      await step(context, version, "fetch");
      download = startDownload(context, artifact, NEW_PROGRAM_FILE, PROGRAM_MODE);
      return false;
    }
    const end = download.result();
    if (end === null || end.ok) return end !== null;
    if (end.error.code === "stopped") await drop(context);
    else {
      const isBad = end.error.code === "wrong_hash" || end.error.code === "wrong_size";
      const { message, waitMs } = end.error;
      await failed(context, version, isBad ? "check" : "trouble", message, waitMs);
    }
    return false;
  }

  /** Runs the new program and puts it in place. */
  async function replace(
    context: BoundContext,
    version: string,
    artifact: Artifact,
  ): Promise<UpdateEnd> {
    const { ports, program } = context;
    await step(context, version, "run");
    // It may have waited for an operation to end: what is run is what was checked.
    const hash = await ports.disk.sha256(NEW_PROGRAM_FILE);
    if (!hash.ok || hash.value !== artifact.sha256) {
      const message = hash.ok ? "the fetched file changed on disk" : hash.error.message;
      await failed(context, version, "trouble", message);
      return "done";
    }
    const output = await ports.programs.version(NEW_PROGRAM_FILE);
    const said = output.ok ? readSaidVersion(output.value, version) : output;
    if (!said.ok) {
      const why = typeof said.error === "string" ? said.error : said.error.message;
      // What could not be run has proven nothing.
      const isTried = output.ok || output.error.program === NEW_PROGRAM_FILE;
      const message = isTried ? "the new program does not run" : "it cannot be tried";
      await failed(context, version, isTried ? "run" : "trouble", `${message}: ${why}`);
      return "done";
    }
    await step(context, version, "arm");
    const installed = await install(ports, {
      from: program.version,
      to: version,
      now: correctedNow(context),
      trialMs: context.trialMs,
      async onTrial(deadline) {
        await clearConditions(context, "update_failed", "rolled_back");
        const entry = entryOf(context, BY_AGENT, {
          what: "update_installed",
          from: program.version,
          to: version,
          demanded: context.requests.demanded() !== null,
        });
        await context.store.keep((state) => withEntry(state, entry));
        await step(context, version, "trial", deadline);
        await note(context, (record) => ({ ...record, rolled_back: null }));
      },
    });
    if (!installed.ok) {
      await failed(context, version, "trouble", `it cannot be installed: ${installed.error}`);
      return "done";
    }
    const keys = said.value.keyIds.join(" ") || "none";
    ports.log.write("info", "update_installed", `pbx-agent ${version} takes over`, {
      from: program.version,
      to: version,
      release_keys: keys,
    });
    return "installed";
  }

  return {
    isOnTrial: () => onTrial,
    async settle(context) {
      if (settled) return;
      const found = await settleUpdate(context);
      onTrial = found.onTrial;
      settled = found.isStored;
    },
    async proven(context) {
      if (!onTrial) return;
      const left = await forget(context.ports);
      if (left !== null) {
        context.ports.log.write("warn", "update_not_confirmed", `${left}; tried again`);
        return;
      }
      onTrial = false;
      const { version } = context.program;
      const entry = entryOf(context, BY_AGENT, { what: "update_confirmed", version });
      await context.store.keep((state) => withEntry(state, entry));
      await note(context, (record) => ({
        ...record,
        under_way: null,
        holds: Object.fromEntries(Object.entries(record.holds).filter(([at]) => at !== version)),
      }));
      context.ports.log.write("info", "update_confirmed", `pbx-agent ${version} syncs and stays`);
    },
    async advance(context, releases) {
      await countHolds(context);
      const wish = await updateWish(context, releases, context.requests.demanded());
      switch (wish.kind) {
        case "none":
          await calm(context);
          return "done";
        case "impossible":
          if (download !== null) await drop(context);
          await raiseCondition(context, wish.code ?? "update_failed", wish.message);
          return "done";
        case "stop":
        case "aborted":
          return wish.kind;
        case "update":
          break;
      }
      const { version, artifact } = wish;
      if (onTrial) {
        // Only what has proven itself may become the program that a rollback goes back to.
        const message = `pbx-agent ${version} is wanted, and this version is still on trial`;
        await raiseCondition(context, "update_failed", message);
        return "done";
      }
      if (await sayHeld(context, version)) return "done";
      if (runningOperation(context.store.state) !== null) return "done";
      if (!await fetched(context, version, artifact)) return "done";
      return await replace(context, version, artifact);
    },
  };
}

/** Counts what is held by every witness; on nearly every day of an agent that is nothing. */
async function countHolds(context: BoundContext): Promise<void> {
  if (Object.keys(context.store.state.update.holds).length === 0) return;
  const seen = witnesses(context);
  await note(context, (record) => counted(record, seen));
}

/** Whether two manifests name the very same file, by all that they say of it. */
function isSameArtifact(a: ArtifactFile, b: ArtifactFile): boolean {
  return a.sha256 === b.sha256 && a.size === b.size && a.url === b.url &&
    a.encoding === b.encoding && a.encoded_size === b.encoded_size;
}

/** Whether a record tells of nothing, as on nearly every day of an agent. */
function isBlank({ under_way, holds, rolled_back }: UpdateRecord): boolean {
  return under_way === null && rolled_back === null && Object.keys(holds).length === 0;
}

async function note(
  { store }: BoundContext,
  change: (record: UpdateRecord) => UpdateRecord,
): Promise<void> {
  await store.keep((state) => {
    const update = change(state.update);
    // Where nothing is new the state stays the same one: there is nothing to write or to compare.
    return JSON.stringify(update) === JSON.stringify(state.update) ? state : { ...state, update };
  });
}

async function step(
  context: BoundContext,
  to: string,
  step: UpdateStep,
  deadline: string | null = null,
): Promise<void> {
  const before = context.store.state.update.under_way;
  if (before?.to === to && before.step === step) return;
  const since = before?.to === to ? before.since : timestamp(context);
  const under_way = { from: context.program.version, to, step, since, deadline };
  await note(context, (record) => ({ ...record, under_way }));
  context.ports.log.write("info", "update", `update to pbx-agent ${to}: ${step}`, { to, step });
}
