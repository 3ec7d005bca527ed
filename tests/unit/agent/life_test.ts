import assert from "node:assert/strict";
import {
  type Evidence,
  type LifeEvent,
  next,
  stageAtStart,
  TRANSITIONS,
} from "../../../core/agent/life.ts";
import { type Stage, STAGES } from "../../../core/state/state.ts";

const MOVES: readonly [Stage, LifeEvent, Stage][] = [
  ["unenrolled", "keys_stored", "enrolling"],
  ["enrolling", "enrolled", "starting_k3s"],
  ["enrolling", "enrollment_refused", "refused"],
  ["starting_k3s", "k3s_started", "syncing"],
  ["starting_k3s", "identity_revoked", "revoked"],
  ["syncing", "identity_revoked", "revoked"],
  ["revoked", "identity_accepted", "starting_k3s"],
  ["enrolling", "server_differs", "other_server"],
  ["starting_k3s", "server_differs", "other_server"],
  ["syncing", "server_differs", "other_server"],
  ["revoked", "server_differs", "other_server"],
];

Deno.test("life: every move of the table, and no other", () => {
  const events = new Set(MOVES.map(([, event]) => event));
  assert.deepEqual(Object.keys(TRANSITIONS).sort(), [...STAGES].sort());
  for (const stage of STAGES) {
    for (const event of events) {
      const move = MOVES.find(([from, by]) => from === stage && by === event);
      if (move === undefined) assert.throws(() => next(stage, event), /no move from/);
      else assert.equal(next(stage, event), move[2]);
    }
    assert.ok(Object.keys(TRANSITIONS[stage]).every((event) => events.has(event as LifeEvent)));
  }
});

Deno.test("life: refused and identity_unreadable are left by a restart only", () => {
  for (const stage of ["refused", "identity_unreadable"] as const) {
    assert.deepEqual(TRANSITIONS[stage], {});
  }
});

Deno.test("stageAtStart: what the files say", () => {
  const bound: Evidence = {
    identity: "bound",
    laterFile: true,
    revoked: false,
    k3sStarted: false,
    answerLost: false,
  };
  const table: [Partial<Evidence>, Stage][] = [
    [{ identity: "absent", laterFile: false }, "unenrolled"],
    [{ identity: "absent" }, "identity_unreadable"],
    [{ identity: "unreadable" }, "identity_unreadable"],
    [{ identity: "unreadable", laterFile: false }, "identity_unreadable"],
    [{ identity: "keys_only" }, "enrolling"],
    [{ identity: "keys_only", laterFile: false }, "enrolling"],
    [{}, "starting_k3s"],
    [{ k3sStarted: true }, "syncing"],
    [{ revoked: true }, "revoked"],
    [{ revoked: true, k3sStarted: true }, "revoked"],
    [{ answerLost: true }, "enrolling"],
    [{ answerLost: true, revoked: true }, "revoked"],
  ];
  for (const [change, stage] of table) {
    assert.equal(stageAtStart({ ...bound, ...change }), stage, JSON.stringify(change));
  }
});
