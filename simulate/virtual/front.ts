import { type Answer, json, refuse } from "../../adapters/portal/http/message.ts";
import type { Random } from "../../core/ports/random.ts";
import type { Profile } from "../profile/profile.ts";
import type { Timeline } from "./timeline.ts";

/** What stands before all portals of a simulation: outages and overload meet every node. */
export interface Front {
  /** An answer in place of the portal's, null for none, or `away` where nobody answers. */
  hindrance(random: Random): Answer | "away" | null;
}

/** A front as the profile says. `runMs`: length of the run. */
export function createFront(
  { portal, faults }: Profile,
  timeline: Timeline,
  runMs: number,
): Front {
  const outages = portal.outages.map(({ at, minutes }) => ({
    from: at * runMs,
    to: Math.min(at * runMs + minutes * 60_000, faults.until * runMs),
  }));
  let second = 0;
  let inSecond = 0;

  return {
    hindrance(random) {
      const now = timeline.elapsed();
      if (outages.some(({ from, to }) => now >= from && now < to)) return "away";
      if (Math.floor(now / 1000) !== second) {
        second = Math.floor(now / 1000);
        inSecond = 0;
      }
      inSecond += 1;
      if (portal.capacity !== null && inSecond > portal.capacity) return tooMany(random);
      if (now >= faults.until * runMs) return null;
      return spoilt(portal, random);
    },
  };
}

function spoilt(portal: Profile["portal"], random: Random): Answer | null {
  let by = random.fraction();
  if ((by -= portal.errors_503) < 0) return refuse(503, "internal", "the portal is in trouble");
  if ((by -= portal.errors_429) < 0) return tooMany(random);
  if ((by -= portal.garbled) < 0) return garbled(random);
  return null;
}

function tooMany(random: Random): Answer {
  const seconds = String(1 + Math.floor(120 * random.fraction()));
  const answer = refuse(429, "too_many_requests", "come back later");
  return { ...answer, headers: { ...answer.headers, "retry-after": seconds } };
}

/** Something that is no answer of this protocol, as a proxy or a fault in a portal may give. */
function garbled(random: Random): Answer {
  const html = { "content-type": "text/html" };
  const bytes = (text: string) => new TextEncoder().encode(text);
  const kinds: readonly Answer[] = [
    { status: 200, headers: html, body: bytes("<html>Welcome</html>") },
    { ...json(200, {}), body: bytes('{"time": "2026-01-01T00:') },
    json(200, { time: "soon", desired: null, operation: null, desired_tag: null }),
    json(200, { time: "2026-01-01T00:00:00Z", desired: {}, operation: null, desired_tag: "" }),
    { status: 502, headers: html, body: bytes("<html>Bad Gateway</html>") },
    json(200, { padding: "x".repeat(262_144) }),
  ];
  return kinds[Math.floor(random.fraction() * kinds.length)] as Answer;
}
