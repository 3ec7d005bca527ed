import type { K3s } from "../../core/ports/k3s.ts";
import { fail, ok } from "../../core/result.ts";

const PROGRAM = "/usr/local/bin/k3s";

/** A k3s program whose version is set by hand. */
export interface FakeK3s extends K3s {
  /** Replaces the program; null takes it away. */
  install(version: string | null): void;
}

/** @param first for example `v1.36.3+k3s1`; null where k3s is not installed */
export function createFakeK3s(first: string | null): FakeK3s {
  let installed = first;
  return {
    install: (version) => {
      installed = version;
    },
    version: () =>
      Promise.resolve(
        installed === null
          ? fail({ code: "missing", program: PROGRAM, message: `${PROGRAM} does not exist` })
          : ok(installed),
      ),
  };
}
