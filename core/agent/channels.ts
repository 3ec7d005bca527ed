import type { Clock } from "../ports/clock.ts";
import type { Random } from "../ports/random.ts";
import { backoffMs, LONGEST_STEP } from "../protocol/backoff.ts";
import type { Channel, ChannelName } from "../state/state.ts";
import { CHANNELS } from "../state/state.ts";
import type { Store } from "../state/store.ts";

/**
 * When each kind of request may be tried again (protocol §1). Failures, what is left of a wait and a
 * running `Retry-After` survive a restart in the state file; the moments themselves are kept on the
 * monotonic clock.
 */
export interface Channels {
  /** Milliseconds until the channel may be used; 0 or less: now. */
  waitMs(name: ChannelName): number;
  /** A success: the backoff begins anew. */
  succeeded(name: ChannelName): Promise<void>;
  /** Trouble: the next step of the backoff; the longest one where `longest`. */
  failed(name: ChannelName, longest?: boolean): Promise<void>;
  /** The portal asked to wait `ms`. */
  asked(name: ChannelName, ms: number): Promise<void>;
}

/** What a start tries at once (protocol §1). */
const AT_ONCE: readonly ChannelName[] = ["sync", "enrollment"];

/** Longest that a stored `Retry-After` is honoured, whatever the clocks did in between. */
const LONGEST_ASKED_MS = 3_600_000;

/**
 * The channels as they were left. At a start `sync` and `enrollment` make one attempt at once,
 * but for a running `Retry-After`; the others keep their rhythm.
 */
export function openChannels(store: Store, clock: Clock, random: Random): Channels {
  const due = new Map<ChannelName, number>();
  for (const name of CHANNELS) {
    const channel = store.state.channels[name];
    const backoff = AT_ONCE.includes(name) ? 0 : leftMs(channel, clock.now(), random);
    due.set(name, clock.monotonic() + Math.max(backoff, askedMs(channel, clock.now())));
  }

  function change(name: ChannelName, to: Channel): Promise<void> {
    return store.keep((state) => ({ ...state, channels: { ...state.channels, [name]: to } }));
  }

  function failuresOf(name: ChannelName): number {
    return store.state.channels[name].failures;
  }

  return {
    waitMs: (name) => (due.get(name) ?? 0) - clock.monotonic(),
    succeeded(name) {
      due.set(name, clock.monotonic());
      const { failures, retry_after_until } = store.state.channels[name];
      if (failures === 0 && retry_after_until === null) return Promise.resolve();
      return change(name, { failures: 0, retry_after_until: null, next_at: null });
    },
    failed(name, longest = false) {
      // Beyond the last step the count says nothing more, and the file would change for nothing.
      const failures = longest
        ? LONGEST_STEP + 1
        : Math.min(failuresOf(name) + 1, LONGEST_STEP + 1);
      const wait = backoffMs(failures, random.fraction());
      due.set(name, clock.monotonic() + wait);
      // A start tries it at once, so the moment of the next attempt is worth no write.
      const next_at = AT_ONCE.includes(name) ? null : new Date(clock.now() + wait).toISOString();
      return change(name, { failures, retry_after_until: null, next_at });
    },
    asked(name, ms) {
      due.set(name, clock.monotonic() + ms);
      const until = new Date(clock.now() + ms).toISOString();
      return change(name, { failures: failuresOf(name), retry_after_until: until, next_at: null });
    },
  };
}

/**
 * What a start leaves of the wait before it: an agent that is restarted again and again must get through
 * all the same. Whatever the clock did in between, it is no longer than the step's longest.
 */
function leftMs({ failures, next_at }: Channel, now: number, random: Random): number {
  if (failures === 0) return 0;
  if (next_at === null) return backoffMs(failures, random.fraction());
  return Math.min(Date.parse(next_at) - now, backoffMs(failures, 1));
}

function askedMs(channel: Channel, now: number): number {
  if (channel.retry_after_until === null) return 0;
  return Math.min(Date.parse(channel.retry_after_until) - now, LONGEST_ASKED_MS);
}
