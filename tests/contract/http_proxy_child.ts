/**
 * One request by the real client in a process of its own, whose environment the test chose.
 * Argument: the URL. Prints the answer's body or the error's code, then what NO_PROXY is afterwards.
 */
import { createNodeClock } from "../../adapters/node/clock.ts";
import { createNodeHttp } from "../../adapters/node/http.ts";

const http = createNodeHttp({ version: "1.2.3", clock: createNodeClock() });
const answer = await http.request({
  method: "GET",
  url: Deno.args[0] ?? "",
  headers: {},
  totalMs: 5_000,
  connectMs: 400,
  maxBytes: 1_000,
});
http.close();
const outcome = answer.ok ? new TextDecoder().decode(answer.value.body) : answer.error.code;
const lines = [outcome, `NO_PROXY=${Deno.env.get("NO_PROXY") ?? ""}`];
await Deno.stdout.write(new TextEncoder().encode(lines.join("\n")));
