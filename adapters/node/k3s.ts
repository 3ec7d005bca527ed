import type { Clock } from "../../core/ports/clock.ts";
import type { K3s } from "../../core/ports/k3s.ts";
import { fail, ok } from "../../core/result.ts";
import { programFailed, runProgram } from "./program.ts";
import { createRoot } from "./root.ts";

/** k3s unpacks itself at its first run, which takes seconds on a slow disk. */
const VERSION_TIMEOUT_MS = 30_000;

/** The first line: `k3s version v1.36.3+k3s1 (866d743e)`. */
const VERSION_LINE = /^k3s version (v[0-9][0-9A-Za-z.+-]{0,62})(?: \(|$)/;

/** The k3s program of this node, `<root>/usr/local/bin/k3s`. */
export function createNodeK3s(options: { readonly root?: string; readonly clock: Clock }): K3s {
  const path = createRoot(options.root)("/usr/local/bin/k3s");
  return {
    async version() {
      const run = {
        path,
        args: ["--version"],
        timeoutMs: VERSION_TIMEOUT_MS,
        clock: options.clock,
      };
      const exit = await runProgram(run);
      if (!exit.ok) return exit;
      if (exit.value.code !== 0) return fail(programFailed(run, exit.value));
      const [line = ""] = exit.value.stdout.split("\n");
      const version = VERSION_LINE.exec(line)?.[1];
      if (version !== undefined) return ok(version);
      const message = `${path} --version: its first line is not "k3s version <version>"`;
      return fail({ code: "failed" as const, program: path, message });
    },
  };
}
