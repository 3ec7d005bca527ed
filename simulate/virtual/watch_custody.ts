import type { JsonObject } from "../../core/json.ts";
import type { Journal } from "../../core/state/journal.ts";
import { storedState } from "./stored_state.ts";
import type { Watched } from "./watched.ts";

/** Operations that stop k3s, and the step in which they prove which cluster came up. */
const PROVING: Readonly<Record<string, string>> = {
  "cluster.restore": "wait_api",
  "server.rejoin": "wait_api",
};
const KUBE_SYSTEM = "/api/v1/namespaces/kube-system";

/** The agent writes only into a cluster that is proven to be its node's. */
export function watchCustody({ node, broken }: Pick<Watched, "node" | "broken">) {
  return {
    /** The agent applied or removed the object at `path`. */
    onWrite(path: string): void {
      const state = storedState(node);
      const metadata = node.cluster.api.read(KUBE_SYSTEM)?.["metadata"] as JsonObject | undefined;
      const shown = metadata?.["uid"];
      const known = state?.kube_system_uid ?? null;
      if (shown !== known) {
        broken("only_proven_clusters", `${path} is written into ${shown}, and ${known} is known`);
      }
      const unproven = provesStill(state?.operation ?? null);
      if (unproven !== null) {
        broken(
          "only_proven_clusters",
          `${path} is written before ${unproven} has proven its cluster`,
        );
      }
    },
  };
}

/** The operation that has not proven its cluster yet; null where there is none. */
function provesStill(journal: Journal | null): string | null {
  if (journal === null || journal.result !== undefined) return null;
  const proves = PROVING[journal.kind];
  if (proves === undefined) return null;
  const isProven = journal.steps.some(({ name, state }) =>
    name === proves && state === "succeeded"
  );
  return isProven ? null : `${journal.kind} ${journal.id}`;
}
