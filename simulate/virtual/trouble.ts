import type { Random } from "../../core/ports/random.ts";
import type { SimulatedNode } from "../node/node.ts";
import type { Fuse } from "../node/process.ts";
import { drawPause } from "../profile/node_profile.ts";
import type { Profile } from "../profile/profile.ts";
import type { Timeline } from "./timeline.ts";

/** What goes wrong around one node. */
export interface TroubleOptions {
  /** Simulated or real. */
  readonly timeline: Pick<Timeline, "elapsed" | "after">;
  readonly random: Random;
  readonly profile: Profile;
  /** What this node's rates are multiplied with. */
  readonly factor: number;
  readonly node: SimulatedNode;
  /** Its link to the portal. */
  readonly link: { isCut: boolean };
  /** Nothing begins after this, and nothing lasts beyond it; milliseconds since the beginning. */
  readonly until: number;
  /** Hears what goes wrong, in words. */
  readonly say: (what: string) => void;
}

/** Longest that a trouble of the machine lasts, milliseconds. */
const LONGEST_MS = 600_000;
const WRITES = ["write", "append", "rename", "syncDirectory", "makeDirectory", "remove"] as const;
const PLENTY = 10 * 1024 ** 3;

/** Lets things go wrong from now on, as often as the profile says. */
export function makeTrouble(options: TroubleOptions): void {
  const { timeline, random, profile, factor, node, link, until, say } = options;
  const { faults, network } = profile;

  function again(perHour: number, work: () => void): void {
    const pause = drawPause(perHour * factor, random);
    if (timeline.elapsed() + pause >= until) return;
    timeline.after(pause, () => {
      work();
      again(perHour, work);
    });
  }

  /** Something that lasts a while, and is over when all faults are. */
  function forAWhile(words: string, longestMs: number, begin: () => void, end: () => void): void {
    const ms = Math.min(random.fraction() * longestMs, until - timeline.elapsed());
    say(`${words}, for ${Math.round(ms / 1000)} s`);
    begin();
    timeline.after(ms, () => {
      say(`over: ${words}`);
      end();
    });
  }

  function light(power: Fuse["power"]): void {
    // Most calls of a process come in bursts: a few calls ahead is within one, many is in a later cycle.
    const calls = 1 + Math.floor(random.fraction() ** 3 * 400);
    const moment = (["before", "during", "after"] as const)[Math.floor(random.fraction() * 3)] ??
      "after";
    say(
      `dies ${moment} its call ${calls} from now${power === null ? "" : `, power cut (${power})`}`,
    );
    node.setFuse({ calls, moment, power });
  }

  again(faults.kills, () => light(null));
  again(faults.power_cuts, () => light(random.fraction() < 0.5 ? "lost" : "kept"));
  again(faults.reboots, () => {
    say("an administrator reboots it");
    void node.reboot();
  });
  again(faults.clock_jumps, () => {
    const ms = Math.round((2 * random.fraction() - 1) * faults.clock_jump_s * 1000);
    say(`its clock is set to ${Math.round(ms / 1000)} s off`);
    node.skew(ms);
  });
  again(faults.disk_full, () =>
    forAWhile(
      "its disk is full",
      LONGEST_MS,
      () => node.disk.setCapacity(0),
      () => node.disk.setCapacity(PLENTY),
    ));
  again(faults.disk_errors, () => {
    const code = random.fraction() < 0.5 ? "io" : "full";
    const operation = WRITES[Math.floor(random.fraction() * WRITES.length)] ?? "write";
    say(`the next ${operation} of its disk fails (${code})`);
    node.disk.failNext(code, { operation });
  });
  again(faults.api_down, () => {
    const kind = (["down", "silent", "overloaded"] as const)[Math.floor(random.fraction() * 3)] ??
      "down";
    forAWhile(
      `its Kubernetes API is ${kind}`,
      LONGEST_MS,
      () => node.cluster.api.fault = kind,
      () => node.cluster.api.fault = null,
    );
  });
  again(faults.bucket_away, () =>
    forAWhile(
      "its bucket does not answer",
      LONGEST_MS,
      () => node.bucket.isAway = true,
      () => node.bucket.isAway = false,
    ));
  again(network.partitions, () =>
    forAWhile(
      "it is cut off",
      network.partition_minutes * 60_000,
      () => link.isCut = true,
      () => link.isCut = false,
    ));
}
