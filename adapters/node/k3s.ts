import { SnapshotName } from "../../core/operations/snapshots/snapshot_name.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { K3s, K3sExit, OnLine } from "../../core/ports/k3s.ts";
import type { ProgramError } from "../../core/ports/systemd.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { programFailed, runProgram } from "./program.ts";
import { createRoot } from "./root.ts";

const MINUTE = 60_000;
/** k3s unpacks itself at its first run, which takes seconds on a slow disk. */
const VERSION_TIMEOUT_MS = 30_000;
/** k3s itself waits for its server 2 minutes and the time that an upload may take, 5 (k3s fact C). */
const SAVE_TIMEOUT_MS = 9 * MINUTE;
const RESET_TIMEOUT_MS = 60 * MINUTE;

/** The first line: `k3s version v1.36.3+k3s1 (866d743e)`. */
const VERSION_LINE = /^k3s version (v[0-9][0-9A-Za-z.+-]{0,62})(?: \(|$)/;

/**
 * The k3s program of this node, `<root>/usr/local/bin/k3s`. Throws a RangeError for a name that is none
 * for a snapshot, and for a path that is not absolute.
 */
export function createNodeK3s(options: { readonly root?: string; readonly clock: Clock }): K3s {
  const { clock } = options;
  const at = createRoot(options.root);
  const path = at("/usr/local/bin/k3s");

  async function run(
    args: readonly string[],
    timeoutMs: number,
    onLine?: OnLine,
  ): Promise<Result<K3sExit, ProgramError>> {
    const exit = await runProgram({
      path,
      args,
      timeoutMs,
      clock,
      ...(onLine === undefined ? {} : { onLine }),
    });
    if (!exit.ok) return exit;
    const { code, signal, stdout, stderr } = exit.value;
    return ok({ code, signal, output: stdout + stderr });
  }

  return {
    async version() {
      const program = { path, args: ["--version"], timeoutMs: VERSION_TIMEOUT_MS, clock };
      const exit = await runProgram(program);
      if (!exit.ok) return exit;
      if (exit.value.code !== 0) return fail(programFailed(program, exit.value));
      const [line = ""] = exit.value.stdout.split("\n");
      const version = VERSION_LINE.exec(line)?.[1];
      if (version !== undefined) return ok(version);
      const message = `${path} --version: its first line is not "k3s version <version>"`;
      return fail({ code: "failed" as const, program: path, message });
    },
    saveSnapshot(name, onLine) {
      if (!SnapshotName.safeParse(name).success) {
        throw new RangeError(`"${name}" is no name of a snapshot`);
      }
      return run(["etcd-snapshot", "save", "--name", name], SAVE_TIMEOUT_MS, onLine);
    },
    resetCluster({ snapshot, tokenFile }, onLine) {
      const token = tokenFile === undefined ? [] : [`--token-file=${at(tokenFile)}`];
      return run(
        [
          "server",
          "--cluster-reset",
          `--cluster-reset-restore-path=${at(snapshot)}`,
          "--etcd-s3=false",
          ...token,
        ],
        RESET_TIMEOUT_MS,
        onLine,
      );
    },
  };
}
