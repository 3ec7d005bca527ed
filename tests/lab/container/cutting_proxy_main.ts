/**
 * A cutting proxy as a program, for the network of a container. Arguments: the port to pass on to, and
 * after how many bytes each connection is cut. Prints `{"port"}` first, then a line for each connection.
 */
import { startCuttingProxy } from "../cutting_proxy.ts";

const LOOK_MS = 100;

const [target, limit] = Deno.args.map(Number);
if (target === undefined || limit === undefined) throw new Error("usage: PORT BYTES");
const proxy = startCuttingProxy(target);
proxy.cutAfter = limit;
await say({ port: proxy.port });
await tell(0);

async function tell(told: number): Promise<void> {
  for (let count = told + 1; count <= proxy.connections; count++) await say({ connection: count });
  const { connections } = proxy;
  setTimeout(() => void tell(connections), LOOK_MS);
}

async function say(line: unknown): Promise<void> {
  await Deno.stdout.write(new TextEncoder().encode(`${JSON.stringify(line)}\n`));
}
