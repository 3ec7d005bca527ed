/**
 * An agent that does nothing but lead where it can: `leader_main.ts KUBECONFIG NAME SPEED`. While it leads
 * it changes its own HelmChart again and again, so that the audit log shows when it wrote. Its time
 * runs SPEED times as fast. Prints a line after each turn, between two writes.
 */
import { createFakeLog } from "../../../adapters/fake/log.ts";
import { createLeader, RENEW_MS } from "../../../core/cluster/leader.ts";
import { addon, chart, templatesOf } from "../../unit/cluster/addon_world.ts";
import { connect, createRealCluster } from "./real_cluster.ts";

const [kubeconfig = "", name = "", speed = "1"] = Deno.args;
const fast = Number(speed);
const clock = {
  now: () => Date.now(),
  monotonic: () => performance.now() * fast,
  sleep: (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms / fast)),
  deadline(ms: number) {
    const controller = new AbortController();
    const timer = setTimeout(() => controller.abort(), ms / fast);
    return { signal: controller.signal, clear: () => clearTimeout(timer) };
  },
};
const k8s = await connect(kubeconfig, { clock, version: name });
const leader = createLeader({
  k8s,
  clock,
  log: createFakeLog(),
  holder: name,
  whyNot: () => Promise.resolve(null),
});
const cluster = createRealCluster(k8s);
Object.defineProperty(cluster, "leads", { get: () => leader.leads() });
cluster.templates = templatesOf({
  [name]: {
    options: { turn: { type: "number", required: true } },
    objects: [chart(name, { values: { turn: { $eval: "options.turn" } } })],
  },
});

async function renew(): Promise<never> {
  for (;;) {
    await leader.renew();
    await clock.sleep(RENEW_MS);
  }
}

async function write(): Promise<never> {
  for (let turn = 0;; turn++) {
    cluster.addons = [addon(name, true, { turn })];
    // One that stops leading in the middle says so by failing.
    if (leader.leads()) await cluster.turn().catch(() => null);
    await Deno.stdout.write(new TextEncoder().encode(leader.leads() ? "leads\n" : "waits\n"));
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}

await Promise.all([renew(), write()]);
