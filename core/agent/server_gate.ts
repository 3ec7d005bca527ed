import type { Ports } from "../ports/mod.ts";
import type { SnapshotReceiver } from "../ports/snapshot_file.ts";
import { fail, ok } from "../result.ts";

/** Closed while it is in doubt whether the agent runs on the server that it was made for. */
export interface Gate {
  readonly isClosed: boolean;
  open(): void;
  close(): void;
  /** Resolves as soon as the gate is open; never, where it stays closed. */
  pass(): Promise<void>;
}

/** An open gate. */
export function openGate(): Gate {
  let closed = false;
  const waiting: (() => void)[] = [];
  return {
    get isClosed() {
      return closed;
    },
    open() {
      closed = false;
      for (const goOn of waiting.splice(0)) goOn();
    },
    close() {
      closed = true;
    },
    async pass() {
      // It may have been closed again before the one who waited had its turn.
      while (closed) await new Promise<void>((resolve) => waiting.push(resolve));
    },
  };
}

/**
 * The ports behind a gate: everything that signs, writes, starts or stops waits while it is closed, so that
 * whatever is under way stands still where it is, and goes on when the gate opens again. Reading goes on.
 *
 * A request and a change in the cluster rest on a question that was asked just before (the time that was
 * signed, who leads), so one that had to wait is not sent any more but fails as trouble that passes.
 */
export function portsBehind(gate: Gate, ports: Ports): Ports {
  function waits<A extends unknown[], R>(call: (...args: A) => Promise<R>) {
    return (...args: A): Promise<R> =>
      gate.isClosed ? gate.pass().then(() => call(...args)) : call(...args);
  }
  function fails<A extends unknown[], R>(call: (...args: A) => Promise<R>, late: () => R) {
    return (...args: A): Promise<R> => gate.isClosed ? gate.pass().then(late) : call(...args);
  }
  const isLate = () => fail({ code: "unreachable" as const, message: LATE });

  const { disk, http, systemd, k3s, k8s, servers, snapshotFile, artifacts, programs, boot } = ports;
  return {
    ...ports,
    disk: {
      ...disk,
      write: waits(disk.write),
      append: waits(disk.append),
      rename: waits(disk.rename),
      syncDirectory: waits(disk.syncDirectory),
      makeDirectory: waits(disk.makeDirectory),
      remove: waits(disk.remove),
      restrict: waits(disk.restrict),
    },
    http: {
      ...http,
      request: fails(http.request, () => fail({ code: "cut" as const, message: LATE })),
    },
    systemd: {
      ...systemd,
      start: waits(systemd.start),
      restart: waits(systemd.restart),
      stop: waits(systemd.stop),
      enable: waits(systemd.enable),
      disable: waits(systemd.disable),
      reboot: waits(systemd.reboot),
      daemonReload: waits(systemd.daemonReload),
    },
    k3s: {
      ...k3s,
      saveSnapshot: waits(k3s.saveSnapshot),
      resetCluster: waits(k3s.resetCluster),
    },
    k8s: {
      ...k8s,
      create: fails(k8s.create, isLate),
      remove: fails(k8s.remove, isLate),
      apply: fails(k8s.apply, isLate),
    },
    servers: { ...servers, removeMember: fails(servers.removeMember, isLate) },
    snapshotFile: {
      ...snapshotFile,
      unpack: waits(snapshotFile.unpack),
      receive: waits(async (path, look) => {
        const receiver = await snapshotFile.receive(path, look);
        return receiver.ok ? ok(receiverBehind(receiver.value)) : receiver;
      }),
    },
    artifacts: { ...artifacts, fetch: waits(artifacts.fetch) },
    programs: {
      ...programs,
      version: waits(programs.version),
      link: waits(programs.link),
    },
    boot: {
      ...boot,
      setOneShot: waits(boot.setOneShot),
      setDefault: waits(boot.setDefault),
    },
  };

  function receiverBehind(receiver: SnapshotReceiver): SnapshotReceiver {
    return {
      write: waits(receiver.write),
      finish: waits(receiver.finish),
      discard: waits(receiver.discard),
    };
  }
}

const LATE = "held back until it was certain that this is the server the agent was made for";
