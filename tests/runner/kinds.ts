/** A timer, file or connection that a test leaves open fails it. */
const LEAKS = ["--sanitize-ops", "--sanitize-resources"];

/**
 * The kinds of the default tests: the folders that hold each, and how they are run. `covers`: its reach of
 * the core counts. Only what states the core's rules does: being measured doubles a test's time.
 * `computes`: it takes what it gets of the processors; the others mostly wait.
 */
export const KINDS = {
  unit: {
    paths: ["tests/unit"],
    args: ["--parallel", "-A", ...LEAKS],
    covers: true,
    computes: true,
  },
  contract: {
    paths: ["tests/contract"],
    args: ["--parallel", "-A", ...LEAKS],
    covers: false,
    computes: false,
  },
  abuse: { paths: ["tests/abuse"], args: ["--parallel", "-A"], covers: false, computes: true },
  e2e: { paths: ["tests/e2e"], args: ["--parallel", "-A"], covers: false, computes: false },
  architecture: {
    paths: ["tests/architecture", "tests/runner"],
    args: ["--parallel", "-A"],
    covers: false,
    computes: false,
  },
} as const;

/** The name of a kind of test. */
export type Kind = keyof typeof KINDS;
