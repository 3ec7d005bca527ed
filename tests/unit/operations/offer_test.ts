import assert from "node:assert/strict";
import { z } from "zod";
import type { JsonObject } from "../../../core/json.ts";
import type { AnyDefinition } from "../../../core/operations/definition.ts";
import { begun } from "../../../core/operations/journal.ts";
import { judgeOffer, type OfferFacts } from "../../../core/operations/offer.ts";
import { MAX_REMEMBERED, withJournal } from "../../../core/operations/outbox.ts";
import { definitionOf } from "../../../core/operations/registry.ts";
import type { Operation } from "../../../core/protocol/operation.ts";
import { EMPTY_STATE, type State } from "../../../core/state/state.ts";
import type { Witnesses } from "../../../core/state/witnesses.ts";
import { step, toy } from "./toy.ts";

const NOW = Date.parse("2026-01-01T12:00:00Z");
const DAY = 24 * 3_600_000;
/** What witnesses say that agree. */
const at = (now: number): Witnesses => ({ now, isCertain: true, livedMs: now - START });
const START = NOW - DAY;
const FACTS: OfferFacts = {
  apiUp: true,
  otherCluster: null,
  hasOwner: false,
  knowsSnapshot: false,
  witnesses: at(NOW),
};
const PAST = "2026-01-01T11:59:59Z";
const CONSENT = { by: "ada", at: "2026-01-01T12:00:00Z" };

/** Refuses for every reason there is, each of which can be taken away. */
const PICKY: AnyDefinition = {
  ...toy({ only: step() }),
  params: z.strictObject({ name: z.string(), consent: z.json().optional() }),
  needsApi: true,
  needsConsent: true,
};

function offer(change: Partial<Operation> = {}): Operation {
  return { id: "op-1", kind: "toy", params: {}, ...change };
}

/** The result that an offer is answered with at once, or what else becomes of it. */
function answer(
  operation: Operation,
  definition: AnyDefinition | null = PICKY,
  facts: typeof FACTS = FACTS,
  state: State = EMPTY_STATE,
) {
  const verdict = judgeOffer(operation, state, definition, facts);
  if (verdict.kind !== "take") return verdict.kind;
  const { result } = verdict.journal;
  return result === undefined ? "runs" : `${result.state} ${result.code ?? ""}`.trim();
}

Deno.test("judgeOffer: the first refusal in the protocol's order counts", () => {
  const down = { ...FACTS, apiUp: false };
  const all = offer({ expires_at: PAST });
  assert.equal(answer(all, null, down), "unsupported");
  const foreign = { kind: "other_cluster", known: "own", seen: "other" } as const;
  assert.equal(answer(all, PICKY, { ...down, otherCluster: foreign }), "refused expired");
  assert.equal(answer(offer(), PICKY, { ...down, otherCluster: foreign }), "refused other_cluster");
  const rescue = { ...PICKY, isRescue: true };
  assert.equal(answer(offer(), rescue, { ...down, otherCluster: foreign }), "refused api_down");
  assert.equal(answer(offer(), PICKY, down), "refused api_down");
  assert.equal(answer(offer()), "refused consent_missing");
  assert.equal(answer(offer({ params: { consent: CONSENT } })), "refused invalid_params");
  assert.equal(answer(offer({ params: { consent: CONSENT, name: "x" } })), "runs");
});

Deno.test("judgeOffer: a consent that does not say who and when is none", () => {
  const none = [true, "ada", [], {}, { by: "ada" }, { at: CONSENT.at }, { ...CONSENT, by: "" }];
  for (const consent of [...none, { ...CONSENT, at: null }]) {
    const said = answer(offer({ params: { consent, name: "x" } }));
    assert.equal(said, "refused consent_missing", JSON.stringify(consent));
  }
});

Deno.test("judgeOffer: what is for several servers needs a desired state that says so", () => {
  const picky = { ...PICKY, needsServers: true };
  const down = { ...FACTS, apiUp: false };
  assert.equal(answer(offer(), picky, down), "refused api_down");
  assert.equal(answer(offer(), picky), "refused single_server", "no desired state is known");
  assert.equal(answer(offer(), picky, FACTS, withServers(1)), "refused single_server");
  assert.equal(answer(offer(), picky, FACTS, withServers(3)), "refused consent_missing");
});

function withServers(servers: number): State {
  const state = { servers } as NonNullable<State["desired"]>["state"];
  return { ...EMPTY_STATE, desired: { tag: "t", state } as NonNullable<State["desired"]> };
}

Deno.test("judgeOffer: an expires_at that is no time is a wrong parameter, after every other refusal", () => {
  const odd = { expires_at: "tomorrow" };
  assert.equal(answer(offer(odd), PICKY, { ...FACTS, apiUp: false }), "refused api_down");
  assert.equal(answer(offer(odd)), "refused consent_missing");
  const params = { consent: CONSENT, name: "x" };
  assert.equal(answer(offer({ ...odd, params })), "refused invalid_params");
  assert.equal(answer(offer({ ...odd, params }), null), "unsupported");
});

Deno.test("judgeOffer: expiry is by the corrected clock, and exact", () => {
  const until = offer({
    expires_at: "2026-01-01T12:00:00Z",
    params: { consent: CONSENT, name: "x" },
  });
  assert.equal(answer(until, PICKY, { ...FACTS, witnesses: at(NOW - 1) }), "runs");
  assert.equal(answer(until, PICKY, FACTS), "refused expired");
  const zoned = { ...until, expires_at: "2026-01-01T14:00:00+02:00" };
  assert.equal(answer(zoned, PICKY, { ...FACTS, witnesses: at(NOW - 1) }), "runs");
  assert.equal(answer(zoned, PICKY, FACTS), "refused expired");
});

Deno.test("judgeOffer: an ID that cannot name a log file is never used, not even to be refused", () => {
  const ids = [
    "",
    "../x",
    "a/b",
    "__proto__",
    "-a",
    "a.b",
    "a b",
    "ä",
    "a\n",
    "x".repeat(65),
    "a\0",
  ];
  for (const id of ids) {
    assert.equal(answer(offer({ id })), "invalid_id", JSON.stringify(id));
    assert.equal(answer(offer({ id }), null), "invalid_id", JSON.stringify(id));
  }
  for (const id of ["a", "0", "constructor", "toString", "a_b-C", "x".repeat(64)]) {
    assert.notEqual(answer(offer({ id })), "invalid_id", id);
  }
});

Deno.test("judgeOffer: names of Object's own members are IDs like any other", () => {
  for (const id of ["constructor", "toString", "hasOwnProperty", "valueOf"]) {
    const verdict = judgeOffer(offer({ id }), EMPTY_STATE, null, FACTS);
    assert.ok(verdict.kind === "take" && verdict.journal.result?.state === "unsupported");
    const state = { ...withJournal(EMPTY_STATE, verdict.journal, at(NOW)), operation: null };
    assert.ok(Object.hasOwn(state.finished, id));
    assert.equal(answer(offer({ id }), PICKY, FACTS, state), "unsupported", "the stored result");
  }
});

Deno.test("judgeOffer: while one is under way every offer is ignored, the same and another", () => {
  const running = judgeOffer(offer(), EMPTY_STATE, toy({ only: step() }), FACTS);
  assert.ok(running.kind === "take");
  const state = withJournal(EMPTY_STATE, running.journal, at(NOW));
  assert.equal(answer(offer(), PICKY, FACTS, state), "ignore");
  assert.equal(answer(offer({ id: "op-2" }), null, FACTS, state), "ignore");
  // Not even one that is done, until the portal has acknowledged that.
  const done = withJournal(state, { ...running.journal, result: { state: "succeeded" } }, at(NOW));
  assert.equal(answer(offer(), PICKY, FACTS, done), "ignore");
  assert.equal(answer(offer({ id: "op-2" }), PICKY, FACTS, done), "ignore");
});

Deno.test("judgeOffer: an ID that finished within 30 days is answered with its result, whatever is offered now", () => {
  const result = { state: "succeeded", output: { a: 1 } } as const;
  const journal = {
    id: "op-1",
    kind: "toy",
    params: {},
    begun_at: new Date(NOW).toISOString(),
    step: "only",
    steps: [],
    handed: {},
    events: [],
    seq: 2,
    result,
  };
  const state = { ...withJournal(EMPTY_STATE, journal, at(NOW)), operation: null };
  const late = { ...FACTS, apiUp: false, witnesses: at(NOW + 30 * DAY - 1) };
  for (const definition of [PICKY, null]) {
    const verdict = judgeOffer(offer({ expires_at: PAST }), state, definition, late);
    assert.ok(verdict.kind === "take");
    assert.deepEqual(verdict.journal.result, result);
    assert.deepEqual(verdict.journal.events, []);
  }
  const params = { consent: CONSENT, name: "x" };
  const later = { ...FACTS, witnesses: at(NOW + 30 * DAY) };
  assert.equal(answer(offer({ params }), PICKY, later, state), "runs");
});

Deno.test("judgeOffer: an ID is forgotten only when every clock says that it is 30 days old", () => {
  const result = { state: "succeeded" } as const;
  const journal = {
    ...begun({ id: "op-1", kind: "toy", params: {} }, new Date(NOW).toISOString()),
    result,
  };
  const state = { ...withJournal(EMPTY_STATE, journal, at(NOW)), operation: null };
  const params = { consent: CONSENT, name: "x" };
  const ages = [0, 40 * DAY];
  for (const portal of ages) {
    for (const lived of ages) {
      for (const isCertain of [true, false]) {
        const witnesses = { now: NOW + portal, livedMs: at(NOW).livedMs + lived, isCertain };
        const isOver = portal > 0 && lived > 0 && isCertain;
        const said = answer(offer({ params }), PICKY, { ...FACTS, witnesses }, state);
        assert.equal(said, isOver ? "runs" : "succeeded", JSON.stringify(witnesses));
        // Another result in between does not forget it either.
        const other = { ...journal, id: "op-2" };
        const next = { ...withJournal(state, other, witnesses), operation: null };
        assert.equal(Object.hasOwn(next.finished, "op-1"), !isOver, JSON.stringify(witnesses));
      }
    }
  }
});

Deno.test("judgeOffer: with 10,000 IDs remembered new operations are refused, but for what helps a node", () => {
  const entry = {
    kind: "toy",
    begun_at: new Date(NOW).toISOString(),
    at: new Date(NOW).toISOString(),
    lived_ms: at(NOW).livedMs,
    steps: [],
    result: { state: "succeeded" as const },
  };
  const full: State = {
    ...EMPTY_STATE,
    finished: Object.fromEntries(
      Array.from({ length: MAX_REMEMBERED }, (_, n) => [`op-${n}`, entry]),
    ),
  };
  const params = { consent: CONSENT, name: "x" };
  assert.equal(MAX_REMEMBERED, 10_000);
  assert.equal(answer(offer({ id: "new", params }), PICKY, FACTS, full), "refused history_full");
  assert.equal(answer(offer({ id: "new" }), PICKY, FACTS, full), "refused consent_missing");
  const odd = { consent: CONSENT, odd: 1 };
  assert.equal(
    answer(offer({ id: "new", params: odd }), PICKY, FACTS, full),
    "refused history_full",
  );
  const rescue = { ...PICKY, isRescue: true };
  assert.equal(answer(offer({ id: "new", params }), rescue, FACTS, full), "runs");
  // The oldest ID still has its result, and one entry less makes room.
  assert.equal(answer(offer({ id: "op-0", params }), PICKY, FACTS, full), "succeeded");
  const { "op-0": _gone, ...rest } = full.finished;
  assert.equal(
    answer(offer({ id: "new", params }), PICKY, FACTS, { ...full, finished: rest }),
    "runs",
  );

  // What is refused never ran and takes no room; what ran is remembered beyond the limit.
  const began = begun({ id: "new", kind: "toy", params: {} }, new Date(NOW).toISOString());
  const refused = { ...began, result: { state: "refused" as const, code: "history_full" } };
  assert.equal(Object.keys(withJournal(full, refused, at(NOW)).finished).length, MAX_REMEMBERED);
  const ran = { ...began, result: { state: "failed" as const } };
  const after = withJournal(full, ran, at(NOW)).finished;
  assert.equal(Object.keys(after).length, MAX_REMEMBERED + 1);
  assert.ok(Object.hasOwn(after, "op-0") && Object.hasOwn(after, "new"));
});

Deno.test("judgeOffer: a kind that is not ours is told shortened, and kept so", () => {
  const verdict = judgeOffer(offer({ kind: "x".repeat(10_000) }), EMPTY_STATE, null, FACTS);
  assert.ok(verdict.kind === "take");
  assert.ok(JSON.stringify(verdict.journal).length < 500);
});

const KEY = btoa("k".repeat(32));
const BOX = { sealed: KEY };
const BUCKET = { endpoint: "s3.example.com", bucket: "bkt", region: "eu", folder: "f" };
const ACCESS = { person: "ada", role: "view", lifetime_s: 600, recipient: KEY };

for (
  const [kind, params, name] of [
    ["agent.rotate_key", { force: true }, "force"],
    ["access.issue", { ...ACCESS, person: undefined }, "person"],
    ["access.issue", { ...ACCESS, person: "ada lovelace" }, "person"],
    ["access.issue", { ...ACCESS, person: "" }, "person"],
    ["access.issue", { ...ACCESS, role: "root" }, "role"],
    ["access.issue", { ...ACCESS, role: "constructor" }, "role"],
    ["access.issue", { ...ACCESS, lifetime_s: 599 }, "lifetime_s"],
    ["access.issue", { ...ACCESS, lifetime_s: 86_401 }, "lifetime_s"],
    ["access.issue", { ...ACCESS, lifetime_s: 600.5 }, "lifetime_s"],
    ["access.issue", { ...ACCESS, lifetime_s: "600" }, "lifetime_s"],
    ["access.issue", { ...ACCESS, namespace: "kube/system" }, "namespace"],
    ["access.issue", { ...ACCESS, role: "cluster-admin", namespace: "default" }, "namespace"],
    ["access.issue", { ...ACCESS, recipient: "AAAA" }, "recipient"],
    ["access.issue", { ...ACCESS, recipient: `${KEY}\n` }, "recipient"],
    ["access.issue", { ...ACCESS, extra: 1 }, "extra"],
    ["access.revoke", {}, "person"],
    ["access.revoke", { person: "ada", everyone: true }, "person"],
    ["access.revoke", { everyone: false }, "everyone"],
    ["access.revoke", { person: "a,b" }, "person"],
    ["s3.verify", { ...BUCKET, access_key: BOX }, "secret_key"],
    ["s3.verify", { ...BUCKET, access_key: BOX, secret_key: BOX, port: 1 }, "port"],
    ["cluster.restore", { from: "local", snapshot: "a..b" }, "snapshot"],
    ["cluster.restore", { from: "local", snapshot: "x".repeat(201) }, "snapshot"],
    ["cluster.restore", { from: "local", snapshot: `${"x".repeat(245)}-1772449205` }, "snapshot"],
    [
      "cluster.restore",
      { from: "local", snapshot: `../${"x".repeat(220)}-1772449205` },
      "snapshot",
    ],
    ["snapshot.save", { name: "x".repeat(201) }, "name"],
    ["diag.collect", { consent: { ...CONSENT, at: "now" } }, "consent.at"],
    ["diag.collect", { consent: CONSENT, lines: 1_001 }, "lines"],
    ["diag.collect", { consent: CONSENT, lines: 0 }, "lines"],
    ["diag.collect", { consent: CONSENT, recipient: "x" }, "recipient"],
  ] as const
) {
  Deno.test(`${kind}: ${JSON.stringify(params).slice(0, 90)} is refused for ${name}`, () => {
    // Through JSON, as it comes: what is undefined is not there.
    const wire: JsonObject = JSON.parse(JSON.stringify(params));
    const verdict = judgeOffer(
      offer({ kind, params: wire }),
      EMPTY_STATE,
      definitionOf(kind),
      FACTS,
    );
    assert.ok(verdict.kind === "take");
    assert.equal(verdict.journal.result?.code, "invalid_params");
    const { message = "" } = verdict.journal.result ?? {};
    assert.ok(message.includes(name), message);
  });
}

Deno.test("judgeOffer: right parameters of every kind run", () => {
  const kinds: [string, JsonObject][] = [
    ["agent.rotate_key", {}],
    ["access.issue", ACCESS],
    ["access.issue", { ...ACCESS, namespace: "default", lifetime_s: 86_400 }],
    ["access.issue", { ...ACCESS, role: "cluster-admin" }],
    ["access.revoke", { person: "ada" }],
    ["access.revoke", { everyone: true }],
    ["s3.verify", { ...BUCKET, access_key: BOX, secret_key: BOX, bucket_lookup: "path" }],
    ["snapshot.save", { name: "x".repeat(200) }],
    ["cluster.restore", { from: "local", snapshot: "x".repeat(200) }],
    ["cluster.restore", { from: "s3", snapshot: `${"x".repeat(200)}-orchard-1-1772449205.zip` }],
    ["cluster.restore", { from: "s3", snapshot: `${"x".repeat(244)}-1772449205` }],
    ["diag.collect", { consent: CONSENT }],
    ["diag.collect", { consent: CONSENT, recipient: KEY, lines: 1_000 }],
  ];
  for (const [kind, params] of kinds) {
    assert.equal(answer(offer({ kind, params }), definitionOf(kind)), "runs", kind);
  }
});

Deno.test("diag.collect: is refused without a consent, and with the owner's approval needs none", () => {
  const asked = offer({ kind: "diag.collect", params: { lines: 10 } });
  const definition = definitionOf("diag.collect");
  assert.equal(answer(asked, definition), "refused consent_missing");
  assert.equal(answer(asked, definition, { ...FACTS, hasOwner: true }), "runs");
});

Deno.test("judgeOffer: of what is implemented only diag.collect and cluster.restore go without the API", () => {
  const kinds = ["agent.rotate_key", "access.issue", "access.revoke", "s3.verify", "snapshot.save"];
  for (const kind of kinds) assert.notEqual(definitionOf(kind)?.needsApi, false, kind);
  assert.equal(definitionOf("diag.collect")?.needsApi, false);
});
