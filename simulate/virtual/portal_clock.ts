import type { Clock } from "../../core/ports/clock.ts";
import type { Random } from "../../core/ports/random.ts";
import { drawPause } from "../profile/node_profile.ts";
import { drawStep, inWords } from "./clock_steps.ts";
import type { Timeline } from "./timeline.ts";

/** The clock of one cluster's portal, which is the true time but for its steps. */
export interface PortalClock {
  readonly clock: Clock;
  /** Milliseconds that it is ahead of the true time. */
  ahead(): number;
  /** Lets it step from now on, so often an hour. */
  begin(perHour: number, until: number): void;
  /** Makes one answer, by whatever the clock shows then. */
  answer<T>(make: () => T): T;
  /** An operation has its result: what lasts as long as one is over. */
  operationEnded(): void;
  /** Shows the true time from now on. */
  settle(): void;
}

/** What a portal's clock is made of. */
export interface PortalClockOptions {
  readonly timeline: Timeline;
  readonly random: Random;
  /** Hears of a step, in words. */
  readonly say: (what: string) => void;
  /** It shows another time from now on. */
  readonly stepped: () => void;
}

/** Longest that a step lasts, milliseconds. */
const LONGEST_MS = 600_000;
/** One that lasts as long as an operation ends with this, where none ends, milliseconds. */
const OPERATION_MS = 900_000;

/** A clock that shows the true time. */
export function createPortalClock(options: PortalClockOptions): PortalClock {
  const { timeline, random, say, stepped } = options;
  let ahead = 0;
  let forOneAnswer: number | null = null;
  let endsWithOperation = false;
  /** Counts steps, so that the end of one does not end another. */
  let turn = 0;

  function set(ms: number): void {
    turn += 1;
    ahead = ms;
    forOneAnswer = null;
    endsWithOperation = false;
    stepped();
  }

  function setRight(): void {
    if (ahead === 0) return;
    say("its portal's clock is right again");
    set(0);
  }

  function step(): void {
    const ms = drawStep(random);
    const [how, long] = [random.fraction(), random.fraction()];
    setRight();
    if (how < 0.3) {
      forOneAnswer = ms;
      return say(`its portal's clock is ${inWords(ms)} off for one answer`);
    }
    const isOperation = how < 0.65;
    const lasts = isOperation ? OPERATION_MS : long * LONGEST_MS;
    const length = isOperation ? "until an operation ends" : `for ${Math.round(lasts / 1000)} s`;
    say(`its portal's clock is ${inWords(ms)} off, ${length}`);
    set(ms);
    endsWithOperation = isOperation;
    const mine = turn;
    timeline.after(lasts, () => mine === turn && setRight());
  }

  function again(perHour: number, until: number): void {
    const pause = drawPause(perHour, random);
    if (timeline.elapsed() + pause >= until) return;
    timeline.after(pause, () => {
      step();
      again(perHour, until);
    });
  }

  return {
    clock: { ...timeline.clock, now: () => timeline.clock.now() + ahead },
    ahead: () => ahead,
    begin: again,
    answer(make) {
      if (forOneAnswer === null) return make();
      const before = ahead;
      set(forOneAnswer);
      try {
        return make();
      } finally {
        set(before);
      }
    },
    operationEnded() {
      if (endsWithOperation) setRight();
    },
    settle: setRight,
  };
}
