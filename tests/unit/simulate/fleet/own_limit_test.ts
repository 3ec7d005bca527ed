import assert from "node:assert/strict";
import { OWN_LIMITS, ownLimitOf } from "../../../../simulate/fleet/own_limit.ts";

Deno.test("ownLimitOf: what the machine itself has no more of, by the runtime's words", () => {
  assert.equal(ownLimitOf(new Error("Too many open files (os error 24)")), "open_files");
  assert.equal(ownLimitOf(new Error("Too many open files in system (os error 23)")), "open_files");
  const ports = new Deno.errors.AddrNotAvailable("Cannot assign requested address (os error 99)");
  assert.equal(ownLimitOf(ports), "local_ports");
  for (const other of [new Error("Connection refused (os error 111)"), "24", null]) {
    assert.equal(ownLimitOf(other), null);
  }
});

Deno.test("OWN_LIMITS: each names the limit and a way out", () => {
  assert.match(OWN_LIMITS.open_files, /ulimit -n.*--shard/);
  assert.match(OWN_LIMITS.local_ports, /ip_local_port_range.*--portal/);
});
