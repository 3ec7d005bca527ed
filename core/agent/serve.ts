import { type Leader, RENEW_MS } from "../cluster/leader.ts";
import { isOwed } from "../operations/outbox.ts";
import { definitionOf } from "../operations/registry.ts";
import { backoffMs } from "../protocol/backoff.ts";
import type { BoundContext } from "./context.ts";
import { guardedK8s } from "./custody.ts";
import { cycle, type CycleParts, openCycleParts } from "./cycle.ts";
import { dropToken } from "./drop_token.ts";
import { openFirstConfigs } from "./first_config.ts";
import { advanceFirstStart } from "./first_start.ts";
import { leadsCluster } from "./leads.ts";
import type { LifeEvent } from "./life.ts";
import { noteBoot } from "./note_boot.ts";
import { snapshotTask } from "./note_snapshots.ts";
import { operate } from "./operate.ts";
import { type InFlight, sendEvents } from "./send_events.ts";
import { isUpgrading, settleUpgrade } from "./settle_upgrade.ts";
import { openWaker, type Waker } from "./waker.ts";
import { runningOperation } from "../state/journal.ts";

/** A cycle comes up to this part of its length sooner or later: 30 s give or take 5 s (protocol §4). */
const SPREAD = 1 / 6;
/** What the other tasks get behind a cycle that took longer than cycles are apart: this part of that. */
const LEAST_PAUSE = 1 / 30;
/** How often the first start of k3s looks whether it can go on, milliseconds; no rarer than cycles are. */
const FIRST_START_MS = 2_000;
/** What is waited for is said at most this often, milliseconds. */
const SAY_MS = 60_000;

/** The longest pause between two attempts to do what a boot asks for, milliseconds. */
const MAX_BOOT_PAUSE_MS = 60_000;

/** How serving ended. `installed`: another version of the program is in place. */
export type ServeEnd = "revoked" | "aborted" | "installed";

/**
 * What runs beside serving, and longer than that: an operation that has stopped k3s goes to its end although
 * the identity was revoked, and must not be begun a second time once that counts again.
 */
export interface Running {
  operation: boolean;
}

/** A thing to do again and again. `due`: on the monotonic clock; null: nothing to do. */
interface Task {
  due(): number | null;
  run(): Promise<ServeEnd | null>;
}

/**
 * The life of an enrolled agent: cycles, the first start of k3s beside them, and events, each in its own
 * rhythm, one at a time. `moved` hears of the first start's end; `running` is of the whole program.
 */
export async function serve(
  bound: BoundContext,
  moved: (event: LifeEvent) => Promise<void>,
  running: Running = { operation: false },
): Promise<ServeEnd> {
  const context = { ...bound, ports: { ...bound.ports, k8s: guardedK8s(bound) } };
  const waker = openWaker(context.stop);
  const parts = openCycleParts(context);
  const operations = new AbortController();
  // In this order where two are due at once: what the first sync brings is there when k3s starts.
  const tasks = [
    bootTask(context),
    settleTask(context),
    tokenTask(context),
    leaderTask(context, parts.leader, waker),
    cycleTask(context, parts),
    firstStartTask(context, parts, moved),
    eventsTask(context),
    operationTask(context, { leader: parts.leader, waker, over: operations.signal, running }),
    snapshotTask(context, waker),
  ];
  const { clock } = context.ports;
  while (!context.stop.aborted) {
    // The request of an operation may have been refused beside the other tasks.
    if (context.store.state.revoked) {
      operations.abort();
      return "revoked";
    }
    let nextTask: Task | null = null;
    let nextDue = Number.POSITIVE_INFINITY;
    for (const task of tasks) {
      const due = task.due();
      if (due !== null && Math.max(due, clock.monotonic()) < nextDue) {
        nextTask = task;
        nextDue = Math.max(due, clock.monotonic());
      }
    }
    if (nextTask === null) break;
    if (nextDue > clock.monotonic()) {
      await clock.sleep(nextDue - clock.monotonic(), waker.signal());
      continue;
    }
    const end = await nextTask.run();
    if (end === null) continue;
    operations.abort();
    return end;
  }
  return "aborted";
}

/** What a boot asks for is tried again until it is done, with growing pauses, and never after that. */
function bootTask(context: BoundContext): Task {
  const { clock, log, random } = context.ports;
  let due: number | null = clock.monotonic();
  let failures = 0;
  let said = "";
  return {
    due: () => due,
    async run() {
      const noted = await noteBoot(context);
      if (noted.done) {
        due = null;
        return null;
      }
      const pause = Math.min(backoffMs(++failures, random.fraction()), MAX_BOOT_PAUSE_MS);
      due = clock.monotonic() + pause;
      if (noted.why !== said) {
        said = noted.why;
        log.write("warn", "k3s_not_started_after_boot", `${noted.why}; will try again`);
      }
      return null;
    },
  };
}

/** Clears up behind an upgrade: at the start, and after each one that ends; again until it is done. */
function settleTask(context: BoundContext): Task {
  const { clock } = context.ports;
  let due: number | null = clock.monotonic();
  return {
    due() {
      if (isUpgrading(context)) due = clock.monotonic();
      return isUpgrading(context) ? null : due;
    },
    async run() {
      due = await settleUpgrade(context) ? null : clock.monotonic() + context.cycleMs;
      return null;
    },
  };
}

/**
 * The used token leaves the configuration; tried again while the disk does not take it. Until an answer to
 * the enrollment has passed it stays, to ask for another one (trust.md T3).
 */
function tokenTask(context: BoundContext): Task {
  const { clock } = context.ports;
  let due: number | null = clock.monotonic();
  return {
    due: () => context.store.state.first_start === "configure" ? null : due,
    async run() {
      due = await dropToken(context) ? null : clock.monotonic() + context.cycleMs;
      return null;
    },
  };
}

/** The lease is renewed beside the other tasks: one that hangs must not cost it. */
function leaderTask(context: BoundContext, leader: Leader, waker: Waker): Task {
  const { clock, log } = context.ports;
  let due = clock.monotonic();
  let running = false;
  return {
    due() {
      const { desired, first_start } = context.store.state;
      const isOneOfSeveral = (desired?.state.servers ?? 1) > 1 && first_start === "done";
      return isOneOfSeveral && !running ? due : null;
    },
    run() {
      running = true;
      due = clock.monotonic() + RENEW_MS;
      void leader.renew()
        .catch((cause) => log.write("error", "leader_fault", String(cause)))
        .finally(() => {
          running = false;
          waker.wake();
        });
      return Promise.resolve(null);
    },
  };
}

function cycleTask(context: BoundContext, parts: CycleParts): Task {
  const { clock, random } = context.ports;
  // At a start one attempt is made at once, but for a running Retry-After (protocol §1).
  let due = clock.monotonic();
  return {
    due: () => due,
    async run() {
      // From one beginning to the next: a slow answer, or a slow API, does not make syncs rarer.
      const regular = clock.monotonic() +
        context.cycleMs * (1 + SPREAD * (2 * random.fraction() - 1));
      const end = await cycle(context, parts);
      const now = clock.monotonic();
      const wait = context.channels.waitMs("sync");
      const next = wait > 0 ? Math.min(now + wait, regular) : regular;
      due = Math.max(next, now + context.cycleMs * LEAST_PAUSE);
      if (end === "stop") return "revoked";
      return end === "aborted" || end === "installed" ? end : null;
    },
  };
}

function firstStartTask(
  context: BoundContext,
  { releases }: CycleParts,
  moved: (event: LifeEvent) => Promise<void>,
): Task {
  const { clock, log } = context.ports;
  let due = clock.monotonic();
  const configs = openFirstConfigs(releases);
  let said = { why: "", at: Number.NEGATIVE_INFINITY };
  return {
    due: () => context.store.state.first_start === "done" ? null : due,
    async run() {
      const step = await advanceFirstStart(context, configs);
      if (context.store.state.first_start === "done") await moved("k3s_started");
      due = clock.monotonic() + (step.moved ? 0 : Math.min(FIRST_START_MS, context.cycleMs));
      if (step.moved) return null;
      if (step.why !== said.why || clock.monotonic() - said.at >= SAY_MS) {
        said = { why: step.why, at: clock.monotonic() };
        log.write("info", "first_start_waits", step.why, { step: context.store.state.first_start });
      }
      return null;
    },
  };
}

function eventsTask(context: BoundContext): Task {
  const { clock } = context.ports;
  const inFlight: InFlight = { request: null };
  return {
    due() {
      const { operation } = context.store.state;
      return operation !== null && isOwed(operation)
        ? clock.monotonic() + context.channels.waitMs("events")
        : null;
    },
    async run() {
      const end = await sendEvents(context, inFlight);
      if (end === "stop") return "revoked";
      return end === "aborted" ? "aborted" : null;
    },
  };
}

/** What an operation runs beside. */
interface Beside {
  readonly leader: Leader;
  readonly waker: Waker;
  /** Aborts when serving is over: a revoked agent leaves the cluster alone. */
  readonly over: AbortSignal;
  readonly running: Running;
}

/** An operation runs beside the other tasks, which go on: a restore takes minutes. */
function operationTask(context: BoundContext, { leader, waker, over, running }: Beside): Task {
  const { clock, log } = context.ports;
  // Of one server the agent leads; that its API is up is what the call itself shows.
  const look = { seen: null, hold: null };
  const leads = () => leadsCluster(context.store.state, { leader, apiUp: true, look });
  const cut = { ...context, stop: eitherOf(context.stop, over) };
  return {
    due() {
      const waits = runningOperation(context.store.state) !== null && !running.operation;
      return waits ? clock.monotonic() : null;
    },
    run() {
      running.operation = true;
      const kind = context.store.state.operation?.kind ?? "";
      const goesOn = definitionOf(kind)?.stopsK3s !== undefined;
      void operate(goesOn ? context : cut, waker.wake, undefined, leads)
        .catch((cause) => log.write("error", "operation_fault", String(cause)))
        .finally(() => {
          running.operation = false;
          waker.wake();
        });
      return Promise.resolve(null);
    },
  };
}

/** Aborts with the first of two signals; not `AbortSignal.any`, which leaks below a long-lived one. */
function eitherOf(one: AbortSignal, other: AbortSignal): AbortSignal {
  const either = new AbortController();
  for (const signal of [one, other]) signal.addEventListener("abort", () => either.abort());
  if (one.aborted || other.aborted) either.abort();
  return either.signal;
}
