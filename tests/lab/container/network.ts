import { mustRun } from "../command.ts";

const NODE_ADDRESS = "10.88.0.2";
const GATEWAY = "10.88.0.1";

/** A network namespace that a container and the host programs around it share. */
export interface ContainerNetwork {
  /** The namespace's file, for `nsenter --net` and systemd-nspawn. */
  readonly path: string;
  /** The address of the namespace's `eth0`. */
  readonly address: string;
  /** Cuts `eth0`: everything but loopback is unreachable at once. */
  cut(): Promise<void>;
  /** Undoes {@link ContainerNetwork.cut}. */
  restore(): Promise<void>;
  remove(): Promise<void>;
}

/**
 * Makes a namespace with loopback, one address and a default route. The route leads nowhere: k3s
 * refuses to start without one, and a test that reaches the real network is no test. The host's end
 * of the cable has no address, so any number of containers can use the same ones.
 */
export async function createNetwork(name: string): Promise<ContainerNetwork> {
  const ip = async (...args: string[]) => void await mustRun("ip", args);
  const hostEnd = `h-${name}`.slice(0, 15);
  await ip("netns", "add", name);
  await ip("link", "add", hostEnd, "type", "veth", "peer", "name", "eth0", "netns", name);
  await ip("link", "set", hostEnd, "up");
  await ip("-n", name, "link", "set", "lo", "up");
  await ip("-n", name, "address", "add", `${NODE_ADDRESS}/24`, "dev", "eth0");
  const restore = async () => {
    await ip("link", "set", hostEnd, "up");
    await ip("-n", name, "link", "set", "eth0", "up");
    await ip("-n", name, "route", "replace", "default", "via", GATEWAY);
  };
  await restore();
  return {
    path: `/run/netns/${name}`,
    address: NODE_ADDRESS,
    restore,
    cut: async () => {
      await ip("-n", name, "link", "set", "eth0", "down");
    },
    // The namespace's end of the pair goes with the namespace, and the host's end with that.
    remove: async () => await ip("netns", "delete", name),
  };
}
