import { createNodeClock } from "../../adapters/node/clock.ts";
import { createNodeHttp } from "../../adapters/node/http.ts";
import { createNodeMetadata } from "../../adapters/node/metadata.ts";
import { createNodeSystemd } from "../../adapters/node/systemd.ts";
import { lockHolder } from "../../adapters/node/lock.ts";
import { readSlots } from "../../core/agent/slots_view.ts";
import { readStatus } from "../../core/agent/status.ts";
import { K3S_UNIT, LOCK_FILE } from "../../core/state/paths.ts";
import type { Arguments } from "../arguments.ts";
import { EXIT, type ExitCode } from "../exit_codes.ts";
import { nodePorts } from "../node_ports.ts";
import { print } from "../print.ts";
import { statusText } from "../status_text.ts";
import { VERSION } from "../version.ts";

/** How long `status` waits for the metadata service, milliseconds. */
const PATIENCE_MS = 2_000;

/** Which server this is, as the metadata service says it now. */
async function askServer(url?: string): Promise<string | null> {
  const http = createNodeHttp({ version: VERSION, clock: createNodeClock() });
  const where = url === undefined ? {} : { url };
  const id = await createNodeMetadata({ http, ...where, timeoutMs: PATIENCE_MS }).instanceId();
  return id.ok ? id.value : null;
}

/** `pbx-agent status`: what the agent's files and the node say now. */
export async function status(args: Arguments): Promise<ExitCode> {
  const rooted = args.root === undefined ? {} : { root: args.root };
  const { disk, boot } = nodePorts(rooted);
  const [known, slots, holder, k3s] = await Promise.all([
    readStatus(disk, askServer),
    readSlots(disk, boot),
    lockHolder(LOCK_FILE, rooted),
    createNodeSystemd({ ...rooted, clock: createNodeClock() }).unitState(K3S_UNIT),
  ]);
  const whole = {
    version: VERSION,
    running: holder.held,
    pid: holder.pid,
    ...known,
    slots,
    k3s_unit: k3s,
  };
  print("stdout", args.text ? statusText(whole) : `${JSON.stringify(whole, null, 2)}\n`);
  return EXIT.OK;
}
