import type { Random } from "../../core/ports/random.ts";
import { STATE_FILE } from "../../core/state/paths.ts";
import type { SimulatedNode } from "../node/node.ts";
import { drawPause } from "../profile/node_profile.ts";
import type { Profile } from "../profile/profile.ts";
import { drawStep, inWords } from "./clock_steps.ts";
import type { Owner } from "./owner.ts";
import type { Timeline } from "./timeline.ts";
import { storedState } from "./stored_state.ts";

/** What goes wrong with the clock of one node, and what a wrong clock is worst with. */
export interface ClockTroubleOptions {
  readonly timeline: Timeline;
  readonly random: Random;
  readonly profile: Profile;
  readonly node: SimulatedNode;
  readonly owner: Owner;
  /** The node's link to its portal. */
  readonly link: { isCut: boolean };
  /** Nothing begins after this, and nothing lasts beyond it; milliseconds since the beginning. */
  readonly until: number;
  readonly say: (what: string) => void;
  /** The node's clock shows another time from now on. */
  readonly stepped: () => void;
  /** state.json is gone. */
  readonly stateLost: () => void;
}

/** Longest that the portal is away around a step, milliseconds. */
const LONGEST_AWAY_MS = 1_200_000;
/** Longest until somebody sets a clock right again, milliseconds. */
const LONGEST_WRONG_MS = 2_400_000;
/** How soon an operation is offered again once state.json is gone, at most, milliseconds. */
const SOON_MS = 120_000;
/** Longest that a step in the middle of a call waits, milliseconds: a snapshot takes 2 to 20 s. */
const LONGEST_DURING_MS = 12_000;
/** Beyond the far ends of these, wall clocks show times that no clock of a machine does. */
const MOST_AHEAD_MS = 40 * 365 * 86_400_000;

/** Calls at which a step is worth a try, and how many of them go by before at most. */
const CALLS = [
  [null, 400],
  ["http.request", 6],
  ["disk.rename", 30],
  ["disk.write", 30],
  ["k3s.saveSnapshot", 1],
  ["k3s.resetCluster", 1],
  ["systemd.restart", 1],
  ["systemd.start", 1],
] as const;

/** Lets the clock step from now on, as often as the profile says. */
export function makeClockTrouble(options: ClockTroubleOptions): void {
  const { timeline, random, profile, node, owner, link, until, say, stepped } = options;
  const { faults } = profile;

  function again(perHour: number, work: () => void): void {
    const pause = drawPause(perHour, random);
    if (timeline.elapsed() + pause >= until) return;
    timeline.after(pause, () => {
      work();
      again(perHour, work);
    });
  }

  /** Only while faults last. */
  function later(ms: number, work: () => void): void {
    timeline.after(ms, () => timeline.elapsed() < until && work());
  }

  function set(ahead: number, words: string): void {
    if (timeline.elapsed() >= until) return;
    const ms = Math.abs(ahead) > MOST_AHEAD_MS ? 0 : ahead;
    node.skew(ms);
    say(`its clock steps ${words}: it is ${inWords(ms)} off now`);
    stepped();
  }

  function cutOff(): void {
    const ms = random.fraction() * LONGEST_AWAY_MS;
    say(`it is cut off, for ${Math.round(ms / 1000)} s`);
    link.isCut = true;
    timeline.after(ms, () => link.isCut = false);
  }

  /** What follows on a step at once. */
  function restart(by: number): void {
    if (by < 0.5) return;
    if (by < 0.7) return node.kill();
    if (by < 0.85) return node.kill(by < 0.775 ? "lost" : "kept");
    say("an administrator reboots it");
    void node.reboot();
  }

  function step(): void {
    const ms = drawStep(random);
    const [where, count, moment, during, then, back, wrong, away] = Array.from(
      { length: 8 },
      () => random.fraction(),
    ) as [number, number, number, number, number, number, number, number];
    if (away < 0.25) cutOff();
    const happen = (at: string) => {
      const before = node.clockAhead();
      set(before + ms, `by ${inWords(ms)} ${at}`);
      restart(then);
      if (back < 0.35) return;
      later(wrong ** 2 * LONGEST_WRONG_MS, () => {
        if (away >= 0.25 && away < 0.5) cutOff();
        set(back < 0.7 ? 0 : before, "back");
      });
    };
    if (where < 0.3) return happen("at no call");
    const [call, most] = CALLS[Math.floor((where - 0.3) / 0.7 * CALLS.length)] ?? CALLS[0];
    const at = moment < 0.25 ? "before" : moment < 0.75 ? "during" : "after";
    node.atCall({
      call,
      calls: 1 + Math.floor(count ** 3 * most),
      moment: at,
      duringMs: during * LONGEST_DURING_MS,
      work: (name) => happen(`${at} ${name}`),
    });
  }

  function loseState(): void {
    const [turned, soon, which] = [random.fraction(), random.fraction(), random.fraction()];
    // Before the first start is over there is no operation to lose. One that does not run is started soon.
    if (!node.isUp() || storedState(node)?.first_start !== "done") return;
    say("its state.json is destroyed");
    node.kill();
    node.disk.truncate(STATE_FILE);
    void node.disk.remove(`${STATE_FILE}.tmp`);
    options.stateLost();
    if (turned < 0.7) set(node.clockAhead() + drawStep(random), "meanwhile");
    const kind = which < 0.7 ? "cluster.restore" : null;
    later(soon * SOON_MS, () => owner.offerAgain(kind));
  }

  again(faults.clock_steps, step);
  again(faults.states_lost, loseState);
}
