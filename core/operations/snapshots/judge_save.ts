import type { K3sExit } from "../../ports/k3s.ts";
import type { ProgramError } from "../../ports/systemd.ts";
import type { Result } from "../../result.ts";

/**
 * How a run of `k3s etcd-snapshot save` ended, as far as that tells for how long it makes sense to look
 * for the snapshot. `busy`: k3s takes one already, which may be this very one. `timeout`: the server may
 * go on. None of them is proof of anything (k3s fact C).
 */
export type SaveEnd = "saved" | "busy" | "timeout" | "failed";

/** Judges a run. */
export function judgeSave(exit: Result<K3sExit, ProgramError>): SaveEnd {
  if (!exit.ok) return exit.error.code === "timeout" ? "timeout" : "failed";
  if (/snapshot save already in progress/i.test(exit.value.output)) return "busy";
  if (/deadline exceeded|timed? ?out|request canceled/i.test(exit.value.output)) return "timeout";
  return exit.value.code === 0 ? "saved" : "failed";
}

/** How it ended, for people: with the last words of k3s. */
export function describeSave(exit: Result<K3sExit, ProgramError>): string {
  if (!exit.ok) return exit.error.message;
  const { code, signal, output } = exit.value;
  const how = code === null ? `was ended by ${signal}` : `ended with ${code}`;
  const words = output.trim().split("\n").at(-1)?.slice(-500) ?? "";
  return words === "" ? `k3s ${how} and said nothing` : `k3s ${how}: ${words}`;
}
