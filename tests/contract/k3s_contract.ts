import assert from "node:assert/strict";
import type { K3s } from "../../core/ports/k3s.ts";

/** What the next runs of an installed k3s do, but for `--version`. */
export interface K3sScript {
  /** Printed line by line. */
  readonly lines: readonly string[];
  readonly code: number;
}

/** An adapter on a host whose k3s can be changed. */
export interface K3sWorld {
  readonly k3s: K3s;
  /** Puts a k3s of this version in place; null takes it away. */
  install(version: string | null, script?: K3sScript): Promise<void>;
  close(): Promise<void>;
}

/** What every {@link K3s} does. */
export function k3sContract(name: string, open: () => Promise<K3sWorld>): void {
  Deno.test(`k3s (${name}): tells the version that is installed now`, async () => {
    const { k3s, install, close } = await open();
    for (const version of ["v1.36.3+k3s1", "v1.37.0-rc1+k3s2"]) {
      await install(version);
      assert.deepEqual(await k3s.version(), { ok: true, value: version });
    }
    await close();
  });

  const runs = (k3s: K3s, onLine?: (line: string) => void) => [
    () => k3s.saveSnapshot("pbx-one", onLine),
    () => k3s.resetCluster({ snapshot: "/var/lib/snapshot", tokenFile: "/var/lib/token" }, onLine),
  ];

  Deno.test(`k3s (${name}): one that is not installed is missing`, async () => {
    const { k3s, install, close } = await open();
    await install(null);
    for (const run of [() => k3s.version(), ...runs(k3s)]) {
      const end = await run();
      assert.equal(end.ok ? "" : end.error.code, "missing");
      assert.ok(!end.ok && end.error.program.endsWith("/usr/local/bin/k3s"));
    }
    await close();
  });

  Deno.test(`k3s (${name}): an exit is a value, whatever its code, with what was printed`, async () => {
    const { k3s, install, close } = await open();
    for (const code of [0, 1, 2]) {
      await install("v1.36.3+k3s1", { lines: ["first", "second ü"], code });
      const lines: string[] = [];
      for (const run of runs(k3s, (line) => lines.push(line))) {
        lines.length = 0;
        const end = await run();
        const output = "first\nsecond ü\n";
        assert.deepEqual(end, { ok: true, value: { code, signal: null, output } });
        assert.deepEqual(lines, ["first", "second ü"]);
      }
    }
    await close();
  });
}
