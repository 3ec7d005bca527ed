import { isJsonObject, type JsonValue } from "../../core/json.ts";
import { SyncRequest } from "../../core/protocol/sync.ts";
import type { Signer } from "./authenticate.ts";
import { type Asker, noteBreach } from "./breach.ts";
import { type Answer, json, refuse } from "./http/message.ts";
import { lookupIn } from "./memory.ts";
import { hashText, type Portal } from "./portal.ts";
import { readDocument } from "./read_document.ts";
import { type PositionOf, sealDocument } from "./seal_document.ts";
import { desiredPosition, operationPosition } from "../../core/protocol/secret_positions.ts";
import { type Agent, clusterOf, type DesiredSetting, type QueuedOperation } from "./state.ts";

/** `POST /sync` (protocol §4). `version` is the agent's, as its User-Agent says. */
export function sync(
  portal: Portal,
  asker: Asker,
  signer: Signer,
  body: Uint8Array,
  version: string,
): Answer {
  const document = readDocument(portal, asker, body, SyncRequest);
  if (!document.ok) return refuse(400, "invalid_request", document.error);
  const { raw, value: report } = document.value;
  const { agent } = signer;
  const fault = faultOf(agent, report);
  if (fault !== null) return refuse(400, "invalid_request", fault);
  if (report.agent.version !== version) {
    noteBreach(portal, asker, "user_agent", "agent.version is not what User-Agent says");
  }

  if (signer.key === "current" && agent.previous !== null) {
    // The new key works: from here on the old one is refused (protocol §7).
    agent.previous = null;
    portal.touch();
  }
  agent.lastSyncAt = portal.now();
  agent.report = raw;
  const setting = clusterOf(portal.state, agent.clusterId).desired;
  const tag = tagOf(portal, setting);
  const known = setting.document === null || report.desired.tag === tag;
  const operation = nextOperation(portal, agent);
  const sealed = (content: JsonValue, positionOf: PositionOf) =>
    sealDocument(content, agent.keys.sealing, positionOf, portal);
  return json(200, {
    time: portal.time(),
    desired: known
      ? null
      : sealed(setting.document, (steps) => desiredPosition(steps, setting.document)),
    operation: operation === null
      ? null
      : sealed(operation.offer, (steps) => operationPosition(steps, operationId(operation))),
    desired_tag: tag,
  });
}

function operationId({ offer }: QueuedOperation): string {
  return isJsonObject(offer) ? String(offer["id"]) : "";
}

/** The desired state's name: from its content, and opaque. Null where there is no desired state. */
export function tagOf(portal: Portal, setting: DesiredSetting): JsonValue {
  const { document, tag } = setting;
  if (tag !== undefined) return tag;
  if (document === null) return null;
  const { salt } = portal.state;
  const make = () => hashText(salt + JSON.stringify(document)).slice(0, 32);
  return lookupIn(portal).of(document, "tag", make);
}

/** The oldest operation without a result; the next one waits for that (protocol §5). */
function nextOperation(portal: Portal, agent: Agent): QueuedOperation | null {
  const operation = lookupIn(portal).operationsOf(agent.clusterId).find((queued) =>
    queued.nodeName === agent.nodeName && (queued.result === null || queued.again)
  );
  if (operation === undefined) return null;
  if (operation.offeredAt === null) {
    operation.offeredAt = portal.now();
    portal.touch();
  }
  return operation;
}

/** What the schema cannot see, or null. */
function faultOf(agent: Agent, report: SyncRequest): string | null {
  if (report.agent.arch !== agent.arch) return `agent.arch: enrolled as ${agent.arch}`;
  if (report.node.name !== agent.nodeName) return `node.name: enrolled as ${agent.nodeName}`;
  if (report.node.server_id !== agent.serverId) {
    return `node.server_id: enrolled as ${agent.serverId}`;
  }
  const { revision, tag } = report.desired;
  if ((revision === null) !== (tag === null)) {
    return "desired: revision and tag come from one document, so both are null or none is";
  }
  const codes = report.conditions.map((condition) => condition.code);
  if (new Set(codes).size < codes.length) return "conditions: one condition per code";
  if (codes.includes("identity_unreadable")) {
    return "conditions: who has no readable identity cannot sign this";
  }
  const addons = report.addons.map((addon) => addon.name);
  return new Set(addons).size < addons.length ? "addons: one entry per add-on" : null;
}
