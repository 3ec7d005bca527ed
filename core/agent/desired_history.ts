import type { JsonValue } from "../json.ts";
import { type ChangedMember, changedMembers } from "../protocol/changed_members.ts";
import type { DesiredState } from "../protocol/desired_state.ts";
import type { VerifiedRelease } from "../protocol/dsse.ts";
import { sequenceOf } from "../protocol/release_age.ts";
import type { Changed, HistoryEvent, UsedKey } from "../state/history.ts";

/** What of a desired state is told with its values: nothing that could be secret, and nothing long. */
const SHOWN =
  /^(?:release|agent\.version|servers|maintenance\..*|host\.(?:snapshots|ingress|registries\.mirrors)\b.*|secrets\.etcd_s3\.(?:endpoint|bucket|region|folder|bucket_lookup)|addons\.[^.]+\.enabled)$/;

/** Longest value, as JSON. */
const MAX_VALUE = 200;
/** Changes that are listed. */
const MAX_CHANGES = 40;
/** Longest path: names of options are the template's. */
const MAX_PATH = 200;

/** What is accepted. */
export interface Accepted {
  readonly before: DesiredState | null;
  readonly state: DesiredState;
  readonly tag: string;
  readonly release: VerifiedRelease;
  readonly approvals: readonly UsedKey[];
}

/** A desired state is accepted: its release, and what it changes. */
export function desiredEvent(accepted: Accepted): HistoryEvent {
  const { before, state, tag, release, approvals } = accepted;
  const changed = before === null
    ? null
    : changedMembers(comparable(before), comparable(state)).map(shown);
  const more = (changed?.length ?? 0) - MAX_CHANGES;
  return {
    what: "desired_accepted",
    revision: state.revision,
    tag,
    release: { version: release.version, sequence: sequenceOf(release), key: release.verified_by },
    changed: changed?.slice(0, MAX_CHANGES) ?? null,
    ...(more > 0 ? { more } : {}),
    ...(approvals.length === 0 ? {} : { approvals }),
  };
}

/** Add-ons by their names; without what the entry tells in other words. */
function comparable(desired: DesiredState): JsonValue {
  const { revision: _revision, approvals: _approvals, addons, ...rest } = desired;
  const byName = Object.fromEntries(addons.map(({ name, ...addon }) => [name, addon]));
  return { ...rest, addons: byName } as unknown as JsonValue;
}

function shown({ path, from, to }: ChangedMember): Changed {
  const name = path.slice(0, MAX_PATH);
  return SHOWN.test(path) ? { path: name, ...valuesOf({ path, from, to }) } : { path: name };
}

/** Both values of a member, where they are short: `most` characters as JSON. */
export function valuesOf(
  { from, to }: ChangedMember,
  most = MAX_VALUE,
): Pick<Changed, "from" | "to"> {
  const isShort = [from, to].every((value) =>
    value === undefined || JSON.stringify(value).length <= most
  );
  if (!isShort) return {};
  return { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) };
}
