import { join } from "node:path";
import { UNIT } from "../../../cli/build/templates/unit.ts";
import { buildAgentProgram } from "../../lab/agent_program.ts";
import { type EspFiles, makeDisk } from "../../lab/vm/disk_image.ts";
import { forwards } from "../../lab/vm/forwards.ts";
import { type Image, makeImage } from "../../lab/vm/image.ts";
import { vmParts } from "../../lab/vm/parts.ts";
import { layOutState } from "../../lab/vm/state_partition.ts";
import { createVm, type Vm } from "../../lab/vm/vm.ts";
import {
  type ClusterBeside,
  FIRST_K3S_VERSION,
  k3sFiles,
  startClusterBeside,
} from "./k3s_stand_in.ts";
import { type HostPortal, startHostPortal } from "./portal.ts";

/** The image that the node comes with. */
export const FIRST_RELEASE = "1.0.0";
/** Room for three images and a bit. */
const ESP_MEBIBYTES = 96;
const STATE_MEBIBYTES = 400;

/** A node in a virtual machine, off as yet, its portal and its cluster. */
export interface World {
  readonly folder: string;
  readonly vm: Vm;
  /** Only while the machine is off. */
  readonly esp: EspFiles;
  readonly portal: HostPortal;
  readonly cluster: ClusterBeside;
  readonly first: Image;
  /** What is done before the next start of the machine, while it is off; once. */
  atNextStart: (() => Promise<void>) | null;
  stop(): Promise<void>;
}

/** Lays everything out. `flags` are the lab's, for the agent's `run`. */
export async function layOutWorld(flags: readonly string[]): Promise<World> {
  const parts = await vmParts();
  const folder = await Deno.makeTempDir({ prefix: "pbx-upgrade-" });
  const [program, portal] = await Promise.all([buildAgentProgram(), startHostPortal()]);
  // No bucket: the stand-in's snapshots stay on the node.
  const secrets = { etcd_s3: null };
  const clusterPath = `/admin/clusters/${portal.cluster}`;
  await portal.admin("PATCH", clusterPath, { bootstrap: { secrets } });
  await portal.admin("PATCH", `${clusterPath}/desired`, { secrets });
  const cluster = startClusterBeside(portal.node);
  const first = await makeImage(folder, {
    version: FIRST_RELEASE,
    files: k3sFiles(FIRST_K3S_VERSION, false),
  });
  const state = join(folder, "state");
  await layOutState(state, [
    { path: "var/lib/pbx-agent/bin/pbx-agent", copyOf: program, mode: 0o755 },
    { path: "etc/pbx-agent/config.yaml", text: portal.config, mode: 0o600 },
    {
      path: "etc/systemd/system/pbx-agent.service",
      text: UNIT.replace(/^(ExecStart=.* run)$/m, `$1 ${flags.join(" ")}`),
    },
    {
      path: "etc/systemd/system/multi-user.target.wants/pbx-agent.service",
      link: "../pbx-agent.service",
    },
    ...forwards([...portal.ports, Number(new URL(cluster.api.url).port)]),
    ...cluster.files,
  ]);
  await Deno.chmod(join(state, "var/lib/pbx-agent"), 0o700);
  await Deno.chmod(join(state, "etc/pbx-agent"), 0o700);
  const disk = join(folder, "disk");
  const sizes = { espMebibytes: ESP_MEBIBYTES, stateMebibytes: STATE_MEBIBYTES };
  const esp = await makeDisk(parts, { file: disk, state, ...sizes });
  await Deno.remove(state, { recursive: true });
  await esp.write(first.file, `EFI/Linux/${first.entry}`);
  const variables = join(folder, "variables");
  await Deno.copyFile(parts.firmware.variables, variables);
  const vm = createVm({
    ...{ parts, disk, variables, folder },
    onLine: cluster.hear,
    async beforeBoot() {
      const todo = world.atNextStart;
      world.atNextStart = null;
      await todo?.();
    },
  });
  const world: World = {
    folder,
    vm,
    esp,
    portal,
    cluster,
    first,
    atNextStart: null,
    async stop() {
      await vm.stop();
      await cluster.stop();
      await portal.stop();
      if (!Deno.env.has("PBX_KEEP")) await Deno.remove(folder, { recursive: true });
    },
  };
  return world;
}
