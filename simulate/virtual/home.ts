import { createFakeRandom } from "../../adapters/fake/random.ts";
import { createNativeKeyWork } from "../../adapters/native_key_work.ts";
import { createNativeSigning } from "../../adapters/native_signing.ts";
import { nativeKeyOf } from "../../adapters/portal/answer_key.ts";
import { envelopeOf } from "../../adapters/portal/manifest.ts";
import { Secret } from "../../core/secret.ts";
import type { Profile } from "../profile/profile.ts";
import { createCatalogue } from "./catalogue.ts";
import { createCheapSigning } from "./cheap_signing.ts";
import { ORIGIN } from "./cluster_portal.ts";
import { createFront } from "./front.ts";
import { createTimeline, type Timeline } from "./timeline.ts";
import { createTraceHash, describeTime } from "./trace.ts";
import { createVirtualNode } from "./virtual_node.ts";

/** Where nodes live that share what stands before their portals: the time, outages, overload. */
export interface Home {
  readonly timeline: Timeline;
  /** Faults are over: nothing new is asked of its nodes. */
  settle(): void;
  hasConverged(): boolean;
  /** The last look: what a node lacks is a broken rule. How many have converged. */
  judge(): number;
  /** Of each node, all that happened to it. */
  hashes(): readonly string[];
}

/** A rule that did not hold. */
export interface Violation {
  /** The rule's name, such as `destroys_once`. */
  readonly rule: string;
  readonly node: number;
  /** Simulated time, milliseconds since the beginning. */
  readonly at: number;
  readonly how: string;
}

/** What homes are made of. */
export interface HomeOptions {
  /** Length of the run, milliseconds of simulated time. */
  readonly durationMs: number;
  readonly seed: number;
  readonly profile: Profile;
  /** The node whose life is told; null, or one that is not here: nobody's. */
  readonly traced: number | null;
}

/** Hears what happens in homes. */
export interface HomeListener {
  /** A line of the traced node's life. */
  line(text: string): void;
  broken(violation: Violation): void;
  count(what: string): void;
}

/** The moment at which every run begins: a Thursday noon. */
const START = Date.UTC(2026, 0, 1, 12);
/** Agents begin within this time, milliseconds. */
const RAMP_MS = 60_000;

/** What every portal of a run signs with; the profile says whether it does. */
const ANSWER_SEED = new Uint8Array(32).fill(9);

/** Makes homes of one run: for nodes by their indices, which have not begun yet. */
export function createHomes(
  { durationMs, seed, profile, traced }: HomeOptions,
  listener: HomeListener,
): (nodes: readonly number[]) => Home {
  const random = createFakeRandom(seed);
  const releaseKeys = [new Secret(random.bytes(32)), new Secret(random.bytes(32))] as const;
  const { publicKey } = createNativeSigning();
  const signing = createCheapSigning(publicKey);
  const common = {
    seed,
    profile,
    catalogue: createCatalogue((release) => ({
      ...release,
      envelope: envelopeOf({ releaseKeys, random, origin: () => ORIGIN }, release),
    })),
    releaseKeys,
    publicKeys: releaseKeys.map(publicKey),
    keyWork: { ...createNativeKeyWork(), sign: signing.sign, hashBody: signing.hashBody },
    signing,
    answerKey: nativeKeyOf(ANSWER_SEED),
    faultsEnd: profile.faults.until * durationMs,
    count: listener.count,
  };

  return (nodes) => {
    const timeline = createTimeline(START);
    const front = createFront(profile, timeline, durationMs);

    function createLife(index: number) {
      const hash = createTraceHash();

      function tell(what: string): void {
        hash.add(`${timeline.elapsed()} ${what}\n`);
        if (traced === index) listener.line(`${describeTime(timeline.elapsed())}  ${what}`);
      }

      function broken(rule: string, how: string): void {
        tell(`BROKEN    ${rule}: ${how}`);
        listener.broken({ rule, node: index, at: timeline.elapsed(), how });
      }

      const node = createVirtualNode({ ...common, index, timeline, front, tell, broken });
      timeline.after(RAMP_MS * node.random.fraction(), node.start);
      return { node, broken, hash };
    }

    const lives = nodes.map(createLife);
    return {
      timeline,
      settle() {
        for (const { node } of lives) node.settle();
      },
      hasConverged: () => lives.every(({ node }) => node.lacks().length === 0),
      judge() {
        let converged = 0;
        for (const { node, broken } of lives) {
          const lacks = node.lacks();
          if (lacks.length > 0) {
            broken("converges", lacks.join("; "));
            continue;
          }
          converged += 1;
          for (const left of node.left()) broken("leaves_nothing_behind", left);
        }
        return converged;
      },
      hashes: () => lives.map(({ hash }) => hash.value()),
    };
  };
}
