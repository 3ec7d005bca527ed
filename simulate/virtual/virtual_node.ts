import { type AnswerKey, portalKeysOf } from "../../adapters/portal/answer_key.ts";
import { createFakeRandom } from "../../adapters/fake/random.ts";
import type { Answer } from "../../adapters/portal/http/message.ts";
import type { HttpRequest } from "../../core/ports/http.ts";
import type { KeyWork } from "../../core/protocol/key_work.ts";
import type { Random } from "../../core/ports/random.ts";
import type { Secret } from "../../core/secret.ts";
import type { NodeEvent } from "../node/node_event.ts";
import { createNode } from "../node/node.ts";
import { drawNode } from "../profile/node_profile.ts";
import type { Profile } from "../profile/profile.ts";
import type { CheapSigning } from "./cheap_signing.ts";
import type { Catalogue } from "./catalogue.ts";
import { makeClockTrouble } from "./clock_trouble.ts";
import { createClusterPortal, PORTAL } from "./cluster_portal.ts";
import { leftBehind, notConverged } from "./converged.ts";
import type { Front } from "./front.ts";
import { createLink } from "./network.ts";
import { createOwner } from "./owner.ts";
import { createPortalClock } from "./portal_clock.ts";
import type { Timeline } from "./timeline.ts";
import { describeEvent } from "./trace.ts";
import { makeTrouble } from "./trouble.ts";
import { createWatch, type Watch } from "./watch.ts";

/** One node of a virtual fleet, with its portal, its owner, its troubles, and what must hold for it. */
export interface VirtualNode {
  /** Its own, for what the run draws for it. */
  readonly random: Random;
  start(): void;
  /** Faults are over: nothing new is asked of it. */
  settle(): void;
  /** What it lacks to have converged. */
  lacks(): readonly string[];
  /** What a converged one must not have left behind. */
  left(): readonly string[];
}

/** What a virtual node is made of. */
export interface VirtualNodeOptions {
  readonly index: number;
  readonly seed: number;
  readonly profile: Profile;
  readonly timeline: Timeline;
  readonly catalogue: Catalogue;
  readonly front: Front;
  readonly releaseKeys: readonly [Secret<Uint8Array>, Secret<Uint8Array>];
  readonly publicKeys: readonly Uint8Array[];
  readonly signing: CheapSigning;
  /** What portals prove their answers with, where the profile says so. */
  readonly answerKey: AnswerKey;
  /** What agents and portals compute with keys. */
  readonly keyWork: Required<KeyWork>;
  /** Milliseconds since the beginning. */
  readonly faultsEnd: number;
  readonly tell: (what: string) => void;
  readonly broken: (rule: string, how: string) => void;
  readonly count: (what: string) => void;
}

/** A reset takes so long at most, milliseconds. */
const LONGEST_RESET_MS = 90_000;

/** A request of a process that was killed is under way for so long at most, milliseconds. */
const ON_ITS_WAY_MS = 4_000;

/** Whether the portal has taken the result of an operation. */
function endsOperation({ url, body }: HttpRequest, { status }: Answer): boolean {
  return status === 200 && url.endsWith("/events") &&
    Object.hasOwn(JSON.parse(new TextDecoder().decode(body)), "result");
}

/** A node that was not started yet. Its life depends on the seed and its index, not on other nodes. */
export function createVirtualNode(options: VirtualNodeOptions): VirtualNode {
  const { index, seed, profile, timeline, catalogue, front, faultsEnd } = options;
  const { tell, broken, count } = options;
  const randomOf = (purpose: number) =>
    createFakeRandom(Math.imul(seed, 0x9e3779b1) ^ Math.imul(index + 1, 0x85ebca6b) ^ purpose);
  const random = randomOf(1);
  const character = drawNode(profile, random);
  const name = {
    clusterId: `cluster-${index}`,
    nodeName: `node-${index}`,
    serverId: String(4_000_000 + index),
  };
  const say = (what: string) => {
    count("faults");
    tell(`fault     ${what}`);
  };

  const portalClock = createPortalClock({
    timeline,
    random: randomOf(8),
    say,
    stepped: () => watch?.onStep(),
  });
  let watch: Watch | null = null;
  const portal = createClusterPortal({
    ...name,
    clock: portalClock.clock,
    random: randomOf(2),
    verify: options.signing.verify,
    hashBody: options.signing.hashBody,
    seal: options.keyWork.seal,
    ...(profile.portal.signed ? { answerKey: options.answerKey } : {}),
    releaseKeys: options.releaseKeys,
    releases: catalogue.releases,
  });

  const wire = randomOf(3);
  const link = createLink({
    timeline,
    random: wire,
    node: character,
    network: profile.network,
    hasFaults: () => timeline.elapsed() < faultsEnd,
    onFault: say,
    onSend: (request) => watch?.onSend(request),
    onReceive: (request, answer) => watch?.onReceive(request, answer),
    deliver(request: HttpRequest, version: string, again: boolean) {
      const hindrance = front.hindrance(wire);
      if (hindrance === "away") return null;
      if (hindrance !== null) return hindrance;
      return portalClock.answer(() => {
        const answer = portal.answer(request, version);
        watch?.onAnswer(request, answer, again);
        if (endsOperation(request, answer)) portalClock.operationEnded();
        return answer;
      });
    },
  });

  const cuts = randomOf(7);
  /** The worst moment for the power to go. */
  function cutReset(): void {
    const [by, when, how] = [cuts.fraction(), cuts.fraction(), cuts.fraction()];
    if (timeline.elapsed() >= faultsEnd || by >= profile.faults.cut_resets) return;
    say("loses its power in the middle of a reset");
    timeline.after(when * LONGEST_RESET_MS, () => node.kill(how < 0.5 ? "lost" : "kept"));
  }

  function observe(event: NodeEvent): void {
    if (event.kind === "request") {
      count("requests");
      count(`requests_${event.status ?? event.error}`);
      if (event.path.endsWith("/sync")) count("syncs");
    }
    tell(describeEvent(event));
    if (event.kind === "effect" && event.what === "reset_begun") cutReset();
    watch?.onEvent(event);
  }

  const node = createNode({
    name: { ...name, token: portal.token },
    portal: PORTAL,
    portalKeys: portalKeysOf(portal.portal.answerKey),
    clock: timeline.clock,
    random: randomOf(4),
    http: (version) => link.http(version),
    releaseKeys: options.publicKeys,
    version: "0.1.0",
    keyWork: options.keyWork,
    programs: catalogue.programs,
    observe,
  });
  node.skew(character.skewMs);
  const owner = createOwner({
    timeline,
    random: randomOf(5),
    profile,
    portal,
    node,
    catalogue,
    say: (what) => tell(`owner     ${what}`),
  });
  const { keyWork } = options;
  watch = createWatch({ timeline, node, portal, portalClock, owner, broken, keyWork });

  function loseState(): void {
    watch?.onStateLost();
    // What the process before had sent may arrive until the next one starts.
    timeline.after(ON_ITS_WAY_MS, () => {
      portal.nodeForgot();
      watch?.onStateLost();
    });
  }

  return {
    random,
    start() {
      node.start();
      makeTrouble({
        timeline,
        random: randomOf(6),
        profile,
        factor: character.factor,
        node,
        link,
        until: faultsEnd,
        say,
      });
      makeClockTrouble({
        timeline,
        random: randomOf(9),
        profile,
        node,
        owner,
        link,
        until: faultsEnd,
        say,
        stepped: () => watch?.onStep(),
        stateLost: loseState,
      });
      portalClock.begin(profile.portal.clock_steps, faultsEnd);
    },
    settle() {
      owner.settle();
      node.atCall(null);
      node.skew(0);
      link.isCut = false;
      portalClock.settle();
    },
    lacks: () => notConverged(node, portal, owner),
    left: () => leftBehind(node, owner),
  };
}
