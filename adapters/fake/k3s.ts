import type { ClusterReset, K3s, K3sExit, OnLine } from "../../core/ports/k3s.ts";
import type { ProgramError } from "../../core/ports/systemd.ts";
import { fail, ok, type Result } from "../../core/result.ts";

const PROGRAM = "/usr/local/bin/k3s";

/** What the program does when it runs; what it gives is how it ended. */
export interface FakeK3sWork {
  save?(name: string, onLine: OnLine): K3sEnd | Promise<K3sEnd>;
  reset?(reset: ClusterReset, onLine: OnLine): K3sEnd | Promise<K3sEnd>;
}

/** An exit, or that the program was stopped at its time limit. */
export type K3sEnd = Pick<K3sExit, "code"> | "timeout";

/** A k3s program whose version is set by hand. */
export interface FakeK3s extends K3s {
  /** Replaces the program; null takes it away. */
  install(version: string | null): void;
  /** What it was run for, in order: `save <name>`, `reset <snapshot>`. */
  readonly runs: readonly string[];
}

/**
 * @param first for example `v1.36.3+k3s1`; null where k3s is not installed
 * @param work what it does; without a word of it a run prints nothing and ends with 1
 */
export function createFakeK3s(first: string | null, work: FakeK3sWork = {}): FakeK3s {
  let installed = first;
  const runs: string[] = [];

  async function run(
    what: string,
    program: ((onLine: OnLine) => K3sEnd | Promise<K3sEnd>) | undefined,
    onLine: OnLine = () => {},
  ): Promise<Result<K3sExit, ProgramError>> {
    if (installed === null) return missing();
    runs.push(what);
    const output: string[] = [];
    const end = await program?.((line) => {
      output.push(`${line}\n`);
      onLine(line);
    }) ?? { code: 1 };
    if (end !== "timeout") return ok({ code: end.code, signal: null, output: output.join("") });
    const message = `${PROGRAM} did not end in time and was stopped`;
    return fail({ code: "timeout", program: PROGRAM, message });
  }

  return {
    runs,
    install: (version) => {
      installed = version;
    },
    version: () => Promise.resolve(installed === null ? missing() : ok(installed)),
    saveSnapshot: (name, onLine) =>
      run(`save ${name}`, (print) => work.save?.(name, print) ?? { code: 1 }, onLine),
    resetCluster: (reset, onLine) =>
      run(`reset ${reset.snapshot}`, (print) => work.reset?.(reset, print) ?? { code: 1 }, onLine),
  };
}

function missing(): Result<never, ProgramError> {
  return fail({ code: "missing", program: PROGRAM, message: `${PROGRAM} does not exist` });
}
