import { mustRun } from "../command.ts";

const NODE_ADDRESS = "10.88.0.2";
const GATEWAY = "10.88.0.1";

/** A bridge between containers, and a container's place on it. */
export interface BridgePlace {
  /** The bridge's device on the host; see {@link createBridge}. */
  readonly bridge: string;
  /** Of the container's `eth0`, in 10.88.0.0/24: 2 to 254 at its end. */
  readonly address: string;
}

/** Makes a bridge without an address: what is on it reaches each other and nothing else. */
export async function createBridge(
  name: string,
): Promise<{ readonly name: string; remove(): Promise<void> }> {
  await mustRun("ip", ["link", "add", name, "type", "bridge"]);
  await mustRun("ip", ["link", "set", name, "up"]);
  return { name, remove: async () => void await mustRun("ip", ["link", "delete", name]) };
}

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
 * of the cable has no address, so any number of containers can use the same ones. With a `place` that end
 * is on a bridge.
 */
export async function createNetwork(
  name: string,
  place?: BridgePlace,
): Promise<ContainerNetwork> {
  const address = place?.address ?? NODE_ADDRESS;
  const ip = async (...args: string[]) => void await mustRun("ip", args);
  const hostEnd = `h-${name}`.slice(0, 15);
  await ip("netns", "add", name);
  await ip("link", "add", hostEnd, "type", "veth", "peer", "name", "eth0", "netns", name);
  if (place !== undefined) await ip("link", "set", hostEnd, "master", place.bridge);
  await ip("link", "set", hostEnd, "up");
  await ip("-n", name, "link", "set", "lo", "up");
  await ip("-n", name, "address", "add", `${address}/24`, "dev", "eth0");
  const restore = async () => {
    await ip("link", "set", hostEnd, "up");
    await ip("-n", name, "link", "set", "eth0", "up");
    await ip("-n", name, "route", "replace", "default", "via", GATEWAY);
  };
  await restore();
  return {
    path: `/run/netns/${name}`,
    address,
    restore,
    cut: async () => {
      await ip("-n", name, "link", "set", "eth0", "down");
    },
    // The namespace's end of the pair goes with the namespace, and the host's end with that.
    remove: async () => await ip("netns", "delete", name),
  };
}
