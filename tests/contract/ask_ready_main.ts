/** Prints whether the API below the root in the first argument is ready, and the proxy that is set. */
import { createNodeClock } from "../../adapters/node/clock.ts";
import { createNodeDisk } from "../../adapters/node/disk.ts";
import { createNodeK8s } from "../../adapters/node/k8s.ts";

const disk = createNodeDisk({ root: Deno.args[0] ?? "" });
const k8s = createNodeK8s({ disk, clock: createNodeClock(), version: "1.2.3" });
const line = `${await k8s.ready()} ${Deno.env.get("HTTP_PROXY")}`;
await Deno.stdout.write(new TextEncoder().encode(line));
k8s.close();
