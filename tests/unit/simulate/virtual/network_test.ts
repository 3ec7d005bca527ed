import assert from "node:assert/strict";
import { createFakeRandom } from "../../../../adapters/fake/random.ts";
import { Profile } from "../../../../simulate/profile/profile.ts";
import { drawDelay } from "../../../../simulate/profile/node_profile.ts";
import { createLink } from "../../../../simulate/virtual/network.ts";
import { createTimeline, runTimelines } from "../../../../simulate/virtual/timeline.ts";
import { json } from "../../../../adapters/portal/http/message.ts";

const REQUEST = {
  method: "POST",
  url: "https://agents.example.com/agent/v1/sync",
  headers: {},
  totalMs: 30_000,
  connectMs: 10_000,
  maxBytes: 1_000,
} as const;

/** One request over a link with these shares of faults: what came of it, and how often it arrived. */
async function send(network: unknown, change: { isCut?: boolean } = {}) {
  const profile = Profile.parse({ network });
  const timeline = createTimeline(0);
  const arrived: boolean[] = [];
  const link = createLink({
    timeline,
    random: createFakeRandom(1),
    node: { factor: 1, delay: profile.network.delay, skewMs: 0 },
    network: profile.network,
    hasFaults: () => true,
    deliver: (_request, _version, again) => {
      arrived.push(again);
      return json(200, {});
    },
    onFault() {},
    onSend() {},
    onReceive() {},
  });
  link.isCut = change.isCut ?? false;
  let end = "";
  void link.http("0.1.0").request(REQUEST).then((result) => {
    end = `${result.ok ? result.value.status : result.error.code} after ${
      Math.round(timeline.elapsed())
    }`;
  });
  await runTimelines([timeline], 60_000);
  return { end, arrived };
}

Deno.test("link: an answer comes after the way there and back", async () => {
  const { end, arrived } = await send({ delay: { median: 100, p99: 100 } });
  assert.deepEqual({ end, arrived }, { end: "200 after 100", arrived: [false] });
});

Deno.test("link: a lost request never arrives, a lost answer did", async () => {
  const delay = { median: 100, p99: 100 };
  assert.deepEqual(await send({ delay, lost_requests: 1 }), {
    end: "timeout after 30000",
    arrived: [],
  });
  assert.deepEqual(await send({ delay, lost_answers: 1 }), {
    end: "cut after 100",
    arrived: [false],
  });
});

Deno.test("link: a duplicate arrives twice and is answered once; a cut link connects to nobody", async () => {
  const delay = { median: 100, p99: 100 };
  const twice = await send({ delay, duplicates: 1 });
  assert.equal(twice.end, "200 after 100");
  assert.deepEqual(twice.arrived.toSorted(), [false, true]);
  assert.deepEqual(await send({ delay }, { isCut: true }), {
    end: "connect after 10000",
    arrived: [],
  });
});

Deno.test("drawDelay: the median and the 99th percentile are those that were asked for", () => {
  const random = createFakeRandom(9);
  const drawn = Array.from({ length: 20_000 }, () => drawDelay({ median: 50, p99: 800 }, random))
    .toSorted((a, b) => a - b);
  assert.ok(Math.abs((drawn[10_000] ?? 0) - 50) < 3, String(drawn[10_000]));
  assert.ok(Math.abs((drawn[19_800] ?? 0) - 800) < 80, String(drawn[19_800]));
});
