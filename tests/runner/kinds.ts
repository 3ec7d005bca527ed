/** A timer, file or connection that a test leaves open fails it. */
const LEAKS = ["--sanitize-ops", "--sanitize-resources"];

/** The kinds of the default tests: the folders that hold each, and how they are run. */
export const KINDS = {
  unit: { paths: ["tests/unit"], args: ["--parallel", "-A", ...LEAKS] },
  contract: { paths: ["tests/contract"], args: ["--parallel", "-A", ...LEAKS] },
  abuse: { paths: ["tests/abuse"], args: ["--parallel", "-A"] },
  e2e: { paths: ["tests/e2e"], args: ["--parallel", "-A"] },
  architecture: { paths: ["tests/architecture", "tests/runner"], args: ["--parallel", "-A"] },
} as const;

/** The name of a kind of test. */
export type Kind = keyof typeof KINDS;
