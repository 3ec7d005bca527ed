import type { Ports } from "../ports/mod.ts";
import { backoffMs } from "../protocol/backoff.ts";
import { openGate, portsBehind } from "./server_gate.ts";
import { APART_MS, judgeReading, NO_READING, type ServerReadings } from "./server_readings.ts";

/** How long a start waits for the metadata service before it goes on without an answer, milliseconds. */
const PATIENCE_MS = 2_000;
/** How often an agent on another server asks whether it still is one, milliseconds. */
const LOOK_AGAIN_MS = 600_000;

/** A life on the server that the identity was made for. It gets ports that stand still in doubt. */
export type LifeOnServer<T> = (ports: Ports, stop: AbortSignal) => Promise<T>;

/**
 * Runs `life` while the metadata service does not say that this is another server than `madeFor`: a copied
 * disk must not make two servers act as one agent. The service is asked at once and, without an answer,
 * again and again beside `life`. The first reading that differs stops everything where it is; the second
 * one decides. On another server nothing goes on, until two readings say that it is the right one after
 * all.
 *
 * @returns what `life` gave; null where it was ended on another server and has to begin anew; "stopped"
 * where the program has to end meanwhile
 */
export async function liveOnServer<T>(
  ports: Ports,
  stop: AbortSignal,
  madeFor: string,
  life: LifeOnServer<T>,
): Promise<T | "stopped" | null> {
  const { clock } = ports;
  const gate = openGate();
  const asking = linked(stop);
  const living = linked(stop);
  const answered = promised<void>();
  const onOther = promised<null>();
  const confirmed = promised<void>();
  let was: ServerReadings = NO_READING;

  function judge(id: string): ServerReadings {
    const now = judgeReading(was, id, clock.monotonic(), madeFor);
    sayVerdict(ports, was, now, id, madeFor);
    if (was.verdict === "other" && now.verdict === "same") confirmed.resolve();
    else if (now.verdict === "same") gate.open();
    else gate.close();
    if (now.verdict === "other") onOther.resolve(null);
    was = now;
    answered.resolve();
    return now;
  }

  void keepAsking(ports, asking.signal, judge);
  const patience = linked(stop);
  await Promise.race([answered.promise, clock.sleep(PATIENCE_MS, patience.signal)]);
  patience.abort();
  const stopped = promised<"stopped">();
  const stopsInDoubt = () => gate.isClosed && stopped.resolve("stopped");
  stop.addEventListener("abort", stopsInDoubt);
  if (stop.aborted) stopsInDoubt();
  const begin = () => life(portsBehind(gate, ports), living.signal);
  const lived = gate.isClosed ? gate.pass().then(begin) : begin();
  const end = await Promise.race([lived, onOther.promise, stopped.promise]);
  if (end === null) {
    // Whatever still runs of that life waits at the closed gate, and the gate stays closed.
    living.abort();
    await Promise.race([confirmed.promise, stopped.promise]);
  }
  stop.removeEventListener("abort", stopsInDoubt);
  asking.abort();
  return end === null && stop.aborted ? "stopped" : end;
}

/** Asks until it is the right server, or the program ends. Without an answer it asks again with backoff. */
async function keepAsking(
  { metadata, clock, random, log }: Ports,
  stop: AbortSignal,
  judge: (id: string) => ServerReadings,
): Promise<void> {
  let readings: ServerReadings = NO_READING;
  for (let failures = 0; !stop.aborted;) {
    const answer = await metadata.instanceId();
    if (stop.aborted) return;
    if (answer.ok) {
      failures = 0;
      readings = judge(answer.value);
      if (readings.verdict === "same") return;
    } else {
      failures += 1;
      if (failures === 1) {
        log.write(
          "warn",
          "server_id_unknown",
          `the metadata service did not say which server this is, and is asked again: ${answer.error.message}`,
        );
      }
    }
    await clock.sleep(pauseMs(readings, clock.monotonic(), failures, random.fraction), stop);
  }
}

/** How long until the next question, milliseconds. */
function pauseMs(
  { verdict, first }: ServerReadings,
  now: number,
  failures: number,
  fraction: () => number,
): number {
  const decidesAt = first === null ? now : first.at + APART_MS;
  if (failures > 0) return Math.max(decidesAt - now, backoffMs(failures, fraction()));
  return verdict === "other" && decidesAt <= now ? LOOK_AGAIN_MS : Math.max(decidesAt - now, 0);
}

function sayVerdict(
  { log }: Pick<Ports, "log">,
  before: ServerReadings,
  now: ServerReadings,
  id: string,
  madeFor: string,
): void {
  const ids = { made_for: madeFor, runs_on: id };
  if (now.verdict === before.verdict) return;
  switch (now.verdict) {
    case "doubt":
      return log.write(
        "warn",
        "server_in_doubt",
        `this agent was made for server ${madeFor}, and the metadata service says that this is server ` +
          `${id}: nothing is signed, written or started until a second reading, ${
            APART_MS / 1000
          } s later, decides`,
        ids,
      );
    case "other":
      return log.write("error", "other_server", otherServer(madeFor, id), {
        stage: "other_server",
        ...ids,
      });
    case "same":
      if (before.verdict === "unknown") return;
      return log.write(
        "info",
        "server_confirmed",
        `this is server ${madeFor}, which this agent was made for: it goes on`,
        ids,
      );
    case "unknown":
      return;
  }
}

/**
 * What it means that the metadata service names another server than the identity does, and the ways out. It
 * may be one reading that says so, which the agent alone does not believe.
 */
export function otherServer(madeFor: string, runsOn: string): string {
  return `this disk was made for server ${madeFor}, and the metadata service says that this is server ` +
    `${runsOn}. After two such answers ${
      APART_MS / 1000
    } s apart the agent signs, writes and starts ` +
    "nothing here. A new server needs an enrollment of its own: run `pbx-agent uninstall --yes`, then " +
    "install the agent with a new token. A disk that was copied by mistake belongs back in server " +
    `${madeFor}. A metadata service that was wrong needs nothing: the agent goes on by itself when it ` +
    `says ${madeFor} again`;
}

/** A controller of its own that also aborts with `signal`. */
function linked(signal: AbortSignal): AbortController {
  const own = new AbortController();
  const abort = () => own.abort();
  if (signal.aborted) abort();
  else {
    signal.addEventListener("abort", abort, { once: true });
    own.signal.addEventListener("abort", () => signal.removeEventListener("abort", abort), {
      once: true,
    });
  }
  return own;
}

interface Promised<T> {
  readonly promise: Promise<T>;
  resolve(value: T): void;
}

function promised<T>(): Promised<T> {
  return Promise.withResolvers<T>();
}
