import * as z from "zod";
import { DnsLabel, ServerId } from "../../core/protocol/identifiers.ts";
import { describeIssue } from "../../core/protocol/schema_error.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import type { NodeName } from "../node/node_name.ts";
import type { PortalAdmin } from "./admin.ts";
import { inTurn } from "./in_turn.ts";

/** Where the agents of a fleet get their names and tokens from. */
export interface Tokens {
  /** Who the agent of this number is, with its token. Rejects where no token is to be had. */
  of(index: number): Promise<NodeName>;
  /** How many agents there are tokens for; null: any number. */
  readonly count: number | null;
}

const Line = z.object({
  token: z.string().min(1),
  cluster_id: DnsLabel,
  node_name: DnsLabel,
  server_id: ServerId,
});

/**
 * Tokens from the text of a file: a JSON object a line, with `token`, `cluster_id`, `node_name` and
 * `server_id`. The agent of number 0 gets the first line, whatever shard it is in.
 */
export function tokensFrom(text: string): Result<Tokens, string> {
  const names: NodeName[] = [];
  for (const [index, line] of text.split("\n").entries()) {
    if (line.trim() === "") continue;
    let document: unknown;
    try {
      document = JSON.parse(line);
    } catch {
      return fail(`line ${index + 1} is no JSON object`);
    }
    const parsed = Line.safeParse(document);
    // What the line says is a secret, and stays out of the error.
    if (!parsed.success) return fail(`line ${index + 1}: ${describeIssue(parsed.error)}`);
    const { token, cluster_id, node_name, server_id } = parsed.data;
    names.push({ token, clusterId: cluster_id, nodeName: node_name, serverId: server_id });
  }
  return ok({
    count: names.length,
    of(index) {
      const name = names[index];
      return name === undefined
        ? Promise.reject(new Error(`there is no token for agent ${index}`))
        : Promise.resolve(name);
    },
  });
}

/** The first server's ID of a simulated fleet; the others follow. */
const FIRST_SERVER = 9_000_000;

/**
 * Tokens from the admin API of the fake portal, or of several in turn, one when an agent's turn comes.
 * Every agent is the one node of a cluster of its own. `run` makes the names of one run differ from those
 * of another.
 */
export function tokensBy(admins: readonly PortalAdmin[], run: string): Tokens {
  return {
    count: null,
    async of(index) {
      const clusterId = `${run}-${String(index).padStart(6, "0")}`;
      const nodeName = `${clusterId}-1`;
      const serverId = String(FIRST_SERVER + index);
      const token = await inTurn(admins, index).token({ clusterId, nodeName, serverId });
      return { clusterId, nodeName, serverId, token };
    },
  };
}
