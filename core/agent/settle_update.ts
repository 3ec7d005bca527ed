import { NEW_PROGRAM_FILE, PROGRAM_FILE } from "../state/paths.ts";
import { withEntry } from "../state/history.ts";
import { hold } from "../update/holds.ts";
import { forget, readStanding } from "../update/standing.ts";
import type { RolledBack } from "../state/update_record.ts";
import type { BoundContext } from "./context.ts";
import { raiseCondition, witnesses } from "./context.ts";
import { BY_AGENT, entryOf } from "./history_entry.ts";

/** What a start made of an update. */
export interface Settled {
  /** This program is the new one and still has to prove itself. */
  readonly onTrial: boolean;
  /** False where the disk did not take what was found: it is to be settled again. */
  readonly isStored: boolean;
}

/**
 * What a start makes of an update that it finds (operations.md, Own updates): one that was taken back is
 * noted and held for six hours, one that was cut short before its end is undone. Can be repeated.
 */
export async function settleUpdate(context: BoundContext): Promise<Settled> {
  const { ports, program, store } = context;
  const standing = await readStanding(ports, program.version);
  let isNew = false;
  if (standing.kind === "on_trial") {
    const { from, to, armed_at: since, deadline } = standing.trial;
    await store.keep((state) => ({
      ...state,
      update: { ...state.update, under_way: { from, to, step: "trial", since, deadline } },
    }));
    ports.log.write("info", "update_on_trial", `pbx-agent ${to} has until ${deadline} to sync`);
    return { onTrial: true, isStored: true };
  }
  if (standing.kind === "rolled_back") {
    const { how } = standing;
    const known = store.state.update.rolled_back;
    // Held since it was found, and not anew with every look at an update.json that could not go.
    if (known?.from !== how.from || known.at !== how.at) {
      isNew = true;
      const seen = witnesses(context);
      const held = {
        reason: "rollback",
        message: how.reason,
        witnesses: seen,
        fraction: 0,
      } as const;
      const event = { what: "update_rolled_back", from: how.from, to: how.to } as const;
      const entry = entryOf(context, BY_AGENT, event);
      await store.keep((state) =>
        withEntry({
          ...state,
          update: { ...hold(state.update, how.from, held), under_way: null, rolled_back: how },
        }, entry)
      );
    }
    // A start that was cut short may have stored that without its condition.
    if (isNew || !store.state.conditions.some(({ code }) => code === "rolled_back")) {
      await sayRolledBack(context, how);
    }
    // What is not written down stays in update.json, for the next look or the next start to find.
    const stored = await store.commit((state) => state);
    if (!stored.ok) return { onTrial: false, isStored: false };
  } else {
    if (standing.kind === "not_begun") {
      const { to } = standing.trial;
      ports.log.write("info", "update_undone", `the update to ${to} was cut short and begins anew`);
    }
    await store.keep((state) => ({ ...state, update: { ...state.update, under_way: null } }));
  }
  await ports.disk.remove(NEW_PROGRAM_FILE);
  const left = await forget(ports);
  if (left !== null) ports.log.write("warn", "update_not_tidied", left);
  return { onTrial: false, isStored: true };
}

/** Says that a version was taken back, and until when it is held as far as is known now. */
export async function sayRolledBack(context: BoundContext, how: RolledBack): Promise<void> {
  const again = context.store.state.update.holds[how.from]?.again_at ?? "";
  const message = `${PROGRAM_FILE} was taken back from ${how.from} to ${how.to}: ${how.reason}; ` +
    `not tried before ${again}`;
  await raiseCondition(context, "rolled_back", message);
}
