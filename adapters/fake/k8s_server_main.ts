/**
 * The fake Kubernetes API as a process, for demos and tests that need one to start and to end:
 * `--kubeconfig FILE` (required) is written once it listens; `--definitions-after MS` is when k3s's own
 * definitions appear (0); `--port PORT` (any). Prints one JSON line `{"url", "pid"}`; SIGTERM ends it.
 */
import { parseArgs } from "node:util";
import { startFakeK8sServer } from "./k8s_server.ts";

const { values } = parseArgs({
  args: Deno.args,
  options: {
    "kubeconfig": { type: "string" },
    "definitions-after": { type: "string", default: "0" },
    "port": { type: "string", default: "0" },
  },
});
if (values.kubeconfig === undefined) throw new Error("--kubeconfig FILE is missing");

const server = startFakeK8sServer({ port: Number(values.port) });
await server.writeKubeconfig(values.kubeconfig);
const later = setTimeout(server.installK3sDefinitions, Number(values["definitions-after"]));
Deno.addSignalListener("SIGTERM", async () => {
  clearTimeout(later);
  await server.stop();
  Deno.exit(0);
});
const line = JSON.stringify({ url: server.url, pid: Deno.pid });
await Deno.stdout.write(new TextEncoder().encode(`${line}\n`));
