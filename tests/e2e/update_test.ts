import assert from "node:assert/strict";
import { BIN, inUpdateWorld, isThere, offer, stub, want } from "./update_world.ts";

const TIMER = "pbx-agent-rollback.timer";
const UNITS = "/etc/systemd/system";
const TRIAL = "/var/lib/pbx-agent/update.json";

for (const gzip of [false, true]) {
  Deno.test(`update: a ${gzip ? "gzip" : "plain"} program is fetched, run, put in place, and taken back when it never syncs`, async () => {
    await inUpdateWorld(async (world) => {
      const program = await world.startSynced();
      const text = stub("0.2.0", "# the new one");
      await offer(world, { version: "0.2.0", text, gzip });
      await want(world, "0.2.0");
      assert.deepEqual(await program.ended(), { code: 0, signal: null }, program.stderr());
      assert.equal(await world.read(BIN), text);
      assert.equal(await world.read(`${BIN}.prev`), stub("0.1.0"));
      assert.equal(((await Deno.stat(world.root + BIN)).mode ?? 0) & 0o777, 0o755);
      assert.equal(await isThere(world, `${BIN}.new`), false);
      const calls = await world.node.systemctlCalls();
      assert.deepEqual(calls.filter((call) => /rollback|reload/.test(call)), [
        `stop ${TIMER}`,
        "daemon-reload",
        `enable ${TIMER}`,
        `start ${TIMER} --no-block`,
        `is-active ${TIMER}`,
      ]);
      assert.match(await world.read(`${UNITS}/${TIMER}`), /^OnActiveSec=600s$/m);
      assert.match(
        await world.read(`${UNITS}/pbx-agent-rollback.service`),
        /^ExecStart=\/var\/lib\/pbx-agent\/bin\/pbx-agent\.prev rollback$/m,
      );
      const status = JSON.parse((await world.cli("status")).stdout);
      assert.equal(status.update.under_way.step, "trial");
      assert.equal(status.update.under_way.to, "0.2.0");
      assert.ok(Date.parse(status.update.under_way.deadline) > Date.now() + 500_000);
      assert.deepEqual(world.running.portal.memory.breaches, [], "no header of the portal's");

      const taken = await world.cli("rollback");
      assert.equal(taken.code, 0, taken.stderr);
      assert.equal(await world.read(BIN), stub("0.1.0"));
      assert.equal(await isThere(world, `${UNITS}/${TIMER}`), false);
      const after = (await world.node.systemctlCalls()).filter((call) =>
        /agent\.service/.test(call)
      );
      assert.deepEqual(after.slice(-3), [
        "stop pbx-agent.service",
        "restart pbx-agent.service --no-block",
        "is-active pbx-agent.service",
      ]);

      const again = world.start();
      await world.until(
        "the report of the rollback",
        () => world.report()?.agent.rolled_back !== undefined,
      );
      const { from, to, reason } = world.report()?.agent.rolled_back ?? {};
      assert.deepEqual({ from, to }, { from: "0.2.0", to: "0.1.0" });
      assert.match(reason ?? "", /no successful sync/);
      const fetches = world.requests("/artifacts/pbx-agent-2.0.0").length;
      const syncs = world.requests("/sync").length;
      await world.until("five more cycles", () => world.requests("/sync").length >= syncs + 5);
      assert.equal(world.requests("/artifacts/pbx-agent-2.0.0").length, fetches, "six hours");
      assert.deepEqual(world.report()?.conditions.map(({ code }) => code), ["rolled_back"]);
      assert.equal(await isThere(world, TRIAL), false);
      const held = (await world.state())["update"] as {
        holds: Record<string, { again_at: string }>;
      };
      const left = Date.parse(held.holds["0.2.0"]?.again_at ?? "") - Date.now();
      assert.ok(left > 5.9 * 3_600_000 && left <= 6 * 3_600_000, `${left}`);

      const shown = (await world.cli("status", "--text")).stdout;
      assert.match(shown, /^update +taken back from 0\.2\.0 to 0\.1\.0 at /m);
      assert.match(shown, /^update +0\.2\.0 not before .* \(rollback\)/m);

      await want(world, "0.1.0", "1.0.0");
      await world.until(
        "no word of it once this version is wanted",
        () =>
          world.report()?.agent.rolled_back === undefined &&
          world.report()?.conditions.length === 0,
      );
      await again.stop();
    });
  });
}

Deno.test("update: the first successful sync of the new version disarms the timer; a later rollback does nothing", async () => {
  await inUpdateWorld(async (world) => {
    await (await world.startSynced()).stop();
    // As it is after the swap: this version is the new one.
    await world.write(`${BIN}.prev`, stub("0.0.9"), 0o755);
    await world.write(
      TRIAL,
      JSON.stringify({
        format: 1,
        from: "0.0.9",
        to: "0.1.0",
        armed_at: "2026-01-01T00:00:00Z",
        deadline: "2026-01-01T00:10:00Z",
      }),
    );
    await world.write(`${UNITS}/${TIMER}`, "[Timer]\n", 0o644);
    await world.write(`${UNITS}/pbx-agent-rollback.service`, "[Service]\n", 0o644);
    world.fault({ match: { path: "/sync" }, count: null, action: { status: 503 } });
    const program = world.start();
    await program.event("update_on_trial");
    await world.until(
      "a sync that fails",
      () => world.requests("/sync").some(({ status }) => status === 503),
    );
    assert.ok(await isThere(world, TRIAL), "an outage proves nothing");
    await program.stop();
    world.mend();
    const next = world.start();
    await next.event("update_confirmed");
    assert.equal(await isThere(world, TRIAL), false);
    assert.equal(await isThere(world, `${UNITS}/${TIMER}`), false);
    assert.equal(await world.node.unitState(TIMER), "inactive");
    const taken = await world.cli("rollback");
    assert.match(taken.stdout, /nothing was changed/);
    assert.equal(await world.read(BIN), stub("0.1.0"));
    await next.stop();
  });
});

const BAD = [
  {
    what: "has another hash",
    served: new TextEncoder().encode(stub("0.2.0", "#AAAA")),
    text: stub("0.2.0", "#BBBB"),
    says: /SHA-256/,
  },
  {
    what: "is too long",
    served: new TextEncoder().encode(`${stub("0.2.0")}##`),
    text: stub("0.2.0"),
    says: /over \d+ bytes/,
  },
  {
    what: "is too short",
    served: new TextEncoder().encode(stub("0.2.0").slice(0, -3)),
    text: stub("0.2.0"),
    says: /bytes, not/,
  },
  { what: "says another version", text: stub("0.3.0"), says: /is version 0\.3\.0/ },
  { what: "does not start", text: "#!/nowhere\n", says: /does not run/ },
  { what: "fails", text: "#!/bin/sh\nexit 3\n", says: /exit code 3/ },
];

Deno.test("update: a program that fails its check or its run changes nothing and is held for six hours", async () => {
  await inUpdateWorld(async (world) => {
    const program = await world.startSynced();
    for (const [index, { what, text, served, says }] of BAD.entries()) {
      const version = `0.2.${index}`;
      const release = `2.0.${index}`;
      const mine = (old: string) => old.replaceAll("0.2.0", version);
      await offer(world, {
        version,
        release,
        text: mine(text),
        ...(served === undefined
          ? {}
          : { served: new TextEncoder().encode(mine(new TextDecoder().decode(served))) }),
      });
      await want(world, version, release);
      await world.until(`what ${what} is told`, () => {
        const [one] = world.report()?.conditions ?? [];
        return one?.code === "update_failed" && one.message.includes(version) &&
          says.test(one.message);
      });
      const syncs = world.requests("/sync").length;
      await world.until("more cycles", () => world.requests("/sync").length >= syncs + 3);
      assert.equal(world.requests(`/artifacts/pbx-agent-${release}`).length, 1, what);
      assert.equal(await world.read(BIN), stub("0.1.0"));
      assert.equal(await isThere(world, `${BIN}.new`), false);
      assert.equal(await isThere(world, TRIAL), false);
    }
    await program.stop();
  });
});

Deno.test("update: a 426 installs the agent of the release that it names", async () => {
  await inUpdateWorld(async (world) => {
    const program = await world.startSynced();
    const text = stub("0.5.0");
    await offer(world, { version: "0.5.0", release: "5.0.0", text });
    const error = { code: "protocol_too_old", message: "m", release: "5.0.0" };
    world.fault({
      match: { path: "/sync" },
      count: null,
      action: { status: 426, body: { error } },
    });
    assert.deepEqual(await program.ended(), { code: 0, signal: null }, program.stderr());
    assert.equal(await world.read(BIN), text);
  });
});

Deno.test("update: a download that is cut goes on where it was", async () => {
  await inUpdateWorld(async (world) => {
    const program = await world.startSynced();
    const text = stub("0.2.0", `# ${"x".repeat(200_000)}`);
    await offer(world, { version: "0.2.0", text });
    world.fault({ match: { path: "/artifacts/*" }, count: 2, action: { cut: "midway" } });
    await want(world, "0.2.0");
    assert.deepEqual(await program.ended(), { code: 0, signal: null }, program.stderr());
    assert.equal(await world.read(BIN), text);
    const statuses = world.requests("/artifacts/pbx-agent-2.0.0").map(({ status }) => status);
    assert.deepEqual(statuses.slice(-2), [206, 206]);
  });
});
