import type { Answer } from "../../adapters/portal/http/message.ts";
import type { JsonObject } from "../../core/json.ts";
import type { HttpRequest } from "../../core/ports/http.ts";
import type { NodeEvent } from "../node/node_event.ts";
import { isBroken } from "../node/program.ts";
import { watchAnswers } from "./watch_answers.ts";
import { watchCustody } from "./watch_custody.ts";
import { watchOperations } from "./watch_operations.ts";
import { watchSecrets } from "./watch_secrets.ts";
import { watchSending } from "./watch_sending.ts";
import { watchUpdates } from "./watch_updates.ts";
import { watchWindows } from "./watch_windows.ts";
import { storedRevision } from "./stored_state.ts";
import { secretIn, type Watched } from "./watched.ts";

/** What must hold at any time of a run, for one node. */
export interface Watch {
  /** Something happened on the machine. */
  onEvent(event: NodeEvent): void;
  /** The agent sends a request. */
  onSend(request: HttpRequest): void;
  /** The portal's rules answered it. `again`: it was a copy that the network made. */
  onAnswer(request: HttpRequest, answer: Answer, again: boolean): void;
  /** The agent got an answer, from whomever. */
  onReceive(request: HttpRequest, answer: Answer): void;
  /** The clock of the node or of its portal shows another time from now on. */
  onStep(): void;
  /** state.json is gone. */
  onStateLost(): void;
}

/** Watches one node. */
export function createWatch(watched: Watched): Watch {
  const { node, owner, broken } = watched;
  const operations = watchOperations(watched);
  const sending = watchSending(watched);
  const answers = watchAnswers(watched);
  const updates = watchUpdates(watched);
  const secrets = watchSecrets(watched);
  const custody = watchCustody(watched);
  const windows = watchWindows(watched);

  function onLog(event: NodeEvent & { kind: "log" }): void {
    if (event.event.endsWith("_fault")) broken("no_exceptions", `${event.event}: ${event.message}`);
    const text = `${event.message} ${JSON.stringify(event.fields)}`;
    const leak = secretIn(text, owner.secrets);
    if (leak !== null) broken("no_secret_in_log", `${event.event} holds ${leak}`);
    operations.onLog(event);
    updates.onLog(event);
    secrets.onLog(event);
    if (event.event === "k3s_restart") windows.onRestart();
  }

  /** What is in the cluster was offered, and is stored where a crash cannot take it back. */
  function onApplied(path: string): void {
    if (path !== HCLOUD) return;
    const data = node.cluster.api.read(path)?.["data"] as JsonObject | undefined;
    const applied = atob(String(data?.["token"] ?? ""));
    const revision = storedRevision(node);
    const from = revision === null ? null : owner.offered.get(revision);
    const wanted = from === undefined || from === null ? null : tokenOf(from);
    if (applied !== wanted && applied !== answers.bootstrapToken) {
      broken("only_what_is_stored", `the token of ${path} is not that of revision ${revision}`);
    }
  }

  return {
    onEvent(event) {
      windows.onEvent(event);
      switch (event.kind) {
        case "started":
          sending.onStart();
          answers.onStart();
          return;
        case "ended":
          if (event.how.startsWith("crashed") && !isBroken(node.version())) {
            broken("no_exceptions", event.how);
          }
          if (event.how.startsWith("unusable") && !updates.isLeftToThePrevious()) {
            broken("files_stay_usable", event.how);
          }
          return;
        case "log":
          return onLog(event);
        case "effect":
          if (event.what === "applied") onApplied(event.detail);
          if (event.what === "applied" || event.what === "removed") custody.onWrite(event.detail);
          return operations.onEffect(event.what, event.detail);
        default:
          return;
      }
    },
    onSend: sending.onSend,
    onAnswer(request, answer, again) {
      answers.onAnswer(request, answer, again);
      operations.onAnswer(request, answer);
      windows.onAnswer(request);
    },
    onReceive(request, answer) {
      sending.onReceive(request, answer);
      answers.onReceive(request, answer);
      windows.onReceive(request, answer);
    },
    onStep() {
      answers.onStep();
      windows.onStep();
    },
    onStateLost() {
      operations.onStateLost();
      answers.onStateLost();
      updates.onStateLost();
    },
  };
}

const HCLOUD = "/api/v1/namespaces/kube-system/secrets/hcloud";

function tokenOf(document: JsonObject): string {
  const secrets = document["secrets"] as JsonObject;
  return String(((secrets["hcloud"] as JsonObject)["token"] as JsonObject)["plain"]);
}
