import assert from "node:assert/strict";
import { createNodeClock } from "../../adapters/node/clock.ts";
import { versionByUnit } from "../../adapters/node/version_unit.ts";
import { openStubHost } from "./stub_host.ts";

/** Runs a unit as systemd runs a oneshot one, with its words for how that went. */
const SYSTEMCTL = String.raw`
here=$(dirname "$0")
echo "$*" >> "$here/calls"
unit="$here/units/pbx-agent-version.service"
value() { sed -n "s/^$1=//p" "$unit"; }
case $1 in
  start)
    [ -f "$unit" ] || { echo "Failed to start: Unit not found." >&2; exit 5; }
    out=$(value StandardOutput) err=$(value StandardError)
    $(value ExecStart) > "$(echo "$out" | cut -d: -f2)" 2> "$(echo "$err" | cut -d: -f2)"
    code=$?
    echo "$code" > "$here/code"
    [ "$code" = 0 ] || { echo "Job failed." >&2; exit 1; } ;;
  show)
    code=$(cat "$here/code" || echo 0)
    if [ "$code" = 0 ]; then echo Result=success; else echo Result=exit-code; fi
    echo "ExecMainStatus=$code" ;;
esac
`;

async function world() {
  const host = await openStubHost();
  await host.program("/systemctl", SYSTEMCTL);
  await host.write("/units/.keep", "");
  const options = {
    clock: createNodeClock(),
    timeoutMs: 10_000,
    systemctl: `${host.root}/systemctl`,
    units: `${host.root}/units`,
    outputs: `${host.root}/outputs`,
  };
  return {
    host,
    options,
    program: `${host.root}/program`,
    left: async () =>
      (await Array.fromAsync(Deno.readDir(host.root))).map(({ name }) => name)
        .concat((await Array.fromAsync(Deno.readDir(options.units))).map(({ name }) => name))
        .filter((name) => /outputs|service/.test(name)),
  };
}

Deno.test("versionByUnit: gives what the program prints to stdout, and leaves nothing", async () => {
  const { host, options, program, left } = await world();
  await host.program("/program", '[ "$*" = version ] && echo noise >&2 && echo "pbx-agent 1.0.0"');
  assert.deepEqual(await versionByUnit(program, options), { ok: true, value: "pbx-agent 1.0.0\n" });
  assert.deepEqual(await left(), []);
  assert.deepEqual((await host.text("/calls")).trim().split("\n"), [
    "daemon-reload",
    "start pbx-agent-version.service",
    "daemon-reload",
    "reset-failed pbx-agent-version.service",
  ]);
  await host.close();
});

Deno.test("versionByUnit: a program that fails is to blame, with its words", async () => {
  const { host, options, program, left } = await world();
  await host.program("/program", "echo cannot work here >&2; exit 7");
  const failed = await versionByUnit(program, options);
  assert.ok(!failed.ok);
  assert.equal(failed.error.program, program);
  assert.match(failed.error.message, /ExecMainStatus=7: cannot work here$/);
  assert.deepEqual(await left(), []);
  await host.close();
});

Deno.test("versionByUnit: a systemd that runs nothing puts no blame on the program", async () => {
  const { host, options, program } = await world();
  await host.program("/program", "exit 7");
  for (const systemctl of ["echo no bus >&2; exit 1", '[ "$1" = start ] && exit 1; exit 0']) {
    await host.program("/systemctl", systemctl);
    const failed = await versionByUnit(program, options);
    assert.ok(!failed.ok);
    assert.equal(failed.error.program, options.systemctl);
  }
  const missing = await versionByUnit(program, { ...options, systemctl: "/no/systemctl" });
  assert.equal(!missing.ok && missing.error.code, "missing");
  assert.equal(!missing.ok && missing.error.program, "/no/systemctl");
  await host.close();
});

Deno.test("versionByUnit: a program that is not there is missing, and nothing is started", async () => {
  const { host, options } = await world();
  const missing = await versionByUnit("/no/program", options);
  assert.deepEqual(!missing.ok && [missing.error.code, missing.error.program], [
    "missing",
    "/no/program",
  ]);
  assert.doesNotMatch(await host.text("/calls"), /start /);
  await host.close();
});
