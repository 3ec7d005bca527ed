import { createFakeRandom } from "../../../../adapters/fake/random.ts";
import type { Admin } from "../../../../adapters/portal/admin/admin.ts";
import { serveAdmin } from "../../../../adapters/portal/admin/serve_admin.ts";
import { nativeKeyOf } from "../../../../adapters/portal/answer_key.ts";
import { answerAgent } from "../../../../adapters/portal/answer_agent.ts";
import type { ProofFault } from "../../../../adapters/portal/faults.ts";
import { firstRelease } from "../../../../adapters/portal/first_release.ts";
import type { Answer, WireRequest } from "../../../../adapters/portal/http/message.ts";
import { createPortalInProcess } from "../../../../adapters/portal/in_process.ts";
import type { Portal } from "../../../../adapters/portal/portal.ts";
import { prove } from "../../../../adapters/portal/prove.ts";
import { parseReleaseKeys } from "../../../../adapters/portal/release_keys.ts";
import { emptyState } from "../../../../adapters/portal/state.ts";
import type { JsonValue } from "../../../../core/json.ts";
import type { Clock } from "../../../../core/ports/clock.ts";
import type { HttpRequest } from "../../../../core/ports/http.ts";
import { signingPublicKey } from "../../../../core/protocol/signing.ts";
import keys from "../../../../fixtures/lab-release-keys.json" with { type: "json" };
import { type AdminCall, createAdminHands } from "../../../../simulate/conformance/admin_hands.ts";
import type { ConformanceOptions } from "../../../../simulate/conformance/options.ts";
import { type Conformance, runConformance } from "../../../../simulate/conformance/run.ts";

const ANSWER_KEY = nativeKeyOf(new Uint8Array(32).fill(9));
const RELEASE_KEYS = parseReleaseKeys(JSON.stringify(keys));

/** Time that passes only while somebody sleeps. */
function createJumpingClock(): Clock {
  let now = Date.UTC(2026, 2, 1, 12);
  return {
    now: () => now,
    monotonic: () => now,
    sleep: (ms) => Promise.resolve(void (now += ms)),
    deadline: () => ({ signal: new AbortController().signal, clear() {} }),
  };
}

/** What a portal with a fault does in place of the fake portal. */
export type Planted = (around: {
  readonly portal: Portal;
  readonly request: WireRequest & { readonly body: Uint8Array };
  /** The request's path below the base, without a query. */
  readonly path: string;
  /** What the fake portal answers, to this request or to another one. */
  answer(request?: WireRequest): Promise<Answer>;
}) => PlantedAnswer | Promise<PlantedAnswer>;

/** An answer that is signed after the fault, or in a wrong way. */
type PlantedAnswer = Answer & { readonly proof?: ProofFault };

/** Walks through a fake portal without sockets, on time that jumps; `planted` stands in its way. */
export async function walk(
  planted: Planted | null = null,
  differs: Partial<ConformanceOptions> = {},
): Promise<Conformance> {
  const clock = createJumpingClock();
  const random = createFakeRandom(11);
  const state = emptyState("salt");
  state.releases.set("1.0.0", firstRelease());
  const portal = createPortalInProcess({ state, clock, random, releaseKeys: RELEASE_KEYS });
  const signing = { ...portal, answerKey: ANSWER_KEY };
  // Two minutes off this side's clock: the kit has to learn the portal's time.
  state.clockOffsetMs = 120_000;
  const around = { portal, sleep: (ms: number) => clock.sleep(ms), log: { write() {} } };
  const admin: Admin = { portal, isDown: () => false, outage: () => Promise.resolve() };
  const call: AdminCall = async (method, path, body) => {
    const answer = await serveAdmin(admin, {
      method,
      target: path,
      headers: new Map([["host", "127.0.0.1"]]),
      body: new TextEncoder().encode(JSON.stringify(body)),
    });
    return answer.status === 200
      ? JSON.parse(new TextDecoder().decode(answer.body)) as JsonValue
      : null;
  };

  async function fakePortal(request: WireRequest): Promise<Answer> {
    const isTooLarge = request.body.length > 262_144;
    const reply = await answerAgent(
      around,
      isTooLarge ? { ...request, body: "too_large" } : request,
    );
    if (reply.kind !== "answer") throw new Error("no fault that cuts is planted here");
    return reply.answer;
  }

  const report = await runConformance({
    base: "https://agents.example.com/agent/v1",
    tokens: [],
    releaseKeys: RELEASE_KEYS.map(signingPublicKey),
    portalKeys: [ANSWER_KEY.publicKey],
    agentVersion: "0.1.0",
    arch: "amd64",
    patient: true,
    burst: 0,
    hands: createAdminHands(call, random),
    clock,
    random,
    http: {
      async request(sent) {
        const wired = onTheWire(sent);
        const path = wired.target.replace(/\?.*$/, "").replace("/agent/v1", "");
        const answer = (to: WireRequest = wired) => fakePortal(to);
        try {
          const given: PlantedAnswer = planted === null
            ? await answer()
            : await planted({ portal, request: wired, path, answer });
          const proven = prove(signing, wired, given, given.proof);
          return { ok: true, value: { ...proven, headers: { ...proven.headers } } };
        } catch (error) {
          if (!(error instanceof Error) || error.name !== "TimedOut") throw error;
          return { ok: false, error: { code: "timeout", message: "no answer within 30 s" } };
        }
      },
    },
    ...differs,
  });
  if (!report.ok) throw new Error(report.error);
  return report.value;
}

function onTheWire(request: HttpRequest): WireRequest & { readonly body: Uint8Array } {
  const url = new URL(request.url);
  const headers = Object.entries(request.headers).map(([name, value]) =>
    [name.toLowerCase(), value] as const
  );
  const body = request.body ?? new Uint8Array();
  return {
    method: request.method,
    target: url.pathname + url.search,
    headers: new Map([...headers, ["user-agent", "pbx-agent/0.1.0"]]),
    body,
  };
}
