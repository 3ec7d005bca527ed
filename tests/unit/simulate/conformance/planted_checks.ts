import { json, refuse } from "../../../../adapters/portal/http/message.ts";
import { hashText, type Portal } from "../../../../adapters/portal/portal.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../../core/json.ts";
import { decodeBase64, encodeBase64 } from "../../../../core/protocol/base64.ts";
import {
  agentOf,
  bodyOf,
  edited,
  explain,
  type Explanation,
  rewritten,
  trusting,
  under,
  type Whole,
} from "./bypass.ts";
import type { Planted } from "./world.ts";

/** One fault each, by the rule that it breaks: in what is looked at before something is answered. */
export const PLANTED_CHECKS: Readonly<Record<string, () => Planted>> = {
  "request.largest": () => async ({ request, answer }) =>
    request.body.length === 262_144 ? refuse(413, "too_large", "over 200 kB") : await answer(),
  "request.too_large": () => trust((request) => request.body.length > 262_144),
  "request.no_json": () => async ({ portal, path, request, answer }) => {
    const given = await answer();
    return given.status === 400 && path === "/sync" && isCut(request) ? nothing(portal) : given;
  },
  "request.schema": () => async ({ portal, path, request, answer }) => {
    const given = await answer();
    const isPartial = path === "/sync" && request.headers.has("pbx-signature") &&
      bodyOf(request)["protocol"] === 1 && bodyOf(request)["node"] === undefined;
    return given.status === 400 && isPartial ? nothing(portal) : given;
  },
  "request.forbidden_keys": () => async ({ portal, request, answer }) => {
    const given = await answer();
    const text = new TextDecoder().decode(request.body);
    return given.status === 400 && text.includes('"prototype":') ? nothing(portal) : given;
  },
  "request.unknown_fields": () => async ({ request, answer }) =>
    bodyOf(request)["conformance"] === undefined ? await answer() : refuse(500, "internal", "oh"),
  "request.protocol": () => async ({ request, answer }) =>
    await answer(under(request, { "pbx-protocol": "1" })),

  "signature.accepted": () => {
    let count = 0;
    return async ({ path, answer }) =>
      path === "/sync" && count++ === 0 ? refuse(503, "internal", "not now") : await answer();
  },
  "signature.required": () =>
    trust((request) => request.method === "GET" && !request.headers.has("pbx-agent")),
  "signature.headers": () => async ({ portal, request, answer }) => {
    if (request.headers.has("pbx-timestamp") || !request.headers.has("pbx-agent")) {
      return await answer();
    }
    const now = Math.floor(portal.now() / 1000);
    for (let second = now; second < now + 60; second++) {
      const given = await answer(under(request, { "pbx-timestamp": String(second) }));
      if (given.status === 200) return given;
    }
    return await answer();
  },
  "signature.body": () => trustWhere("another body"),
  "signature.method": () => trustWhere("another method"),
  "signature.path": () => trustWhere("another path"),
  "signature.query": () => async ({ request, answer }) =>
    await answer({ ...request, target: request.target.replace(/\?.*/, "") }),
  "signature.timestamp": () => trustWhere("another second"),
  "signature.key": () => trustWhere("a stranger"),
  "signature.agent": () => trustWhere("another agent"),
  "signature.unknown_agent": () => async ({ portal, request, answer }) => {
    const given = await answer();
    const isUnknown = given.status === 401 && agentOf(portal, request) === undefined;
    return isUnknown && request.headers.has("pbx-agent")
      ? refuse(404, "unknown_agent", "nobody has this ID")
      : given;
  },
  "signature.encoding": () => async ({ request, answer }) => {
    const text = request.headers.get("pbx-signature") ?? "";
    const padded = decodeBase64(text.padEnd(88, "="));
    if (padded?.length !== 64) return await answer();
    return await answer(under(request, { "pbx-signature": encodeBase64(padded) }));
  },
  "signature.strict": () => trustWhere("a changed signature"),
  "identity.revoked": () => async ({ portal, request, path, answer }) => {
    const given = await answer();
    const isRevoked = agentOf(portal, request)?.revoked === true;
    return isRevoked && given.status === 401 ? trusting(portal, request, path) : given;
  },

  "clock.late": () => trustOff((off) => off < 0),
  "clock.early": () => trustOff((off) => off > 0),
  "clock.tolerance": () => async ({ portal, request, answer }) => {
    const off = Number(request.headers.get("pbx-timestamp")) * 1000 - portal.now();
    const given = await answer();
    return given.status === 200 && off < -30_000
      ? refuse(409, "clock_skew", "over 30 s", { time: portal.time() })
      : given;
  },
  "clock.time": () => async ({ portal, path, answer }) => {
    const given = await answer();
    const time = new Date(portal.now() + 3_600_000).toISOString();
    const isSkew = given.status === 409 && path === "/sync";
    return isSkew ? refuse(409, "clock_skew", "off", { time }) : given;
  },
  "replay.refused": () => forgetting((age) => age < 60_000),
  "replay.memory": () => forgetting((age) => age > 60_000),
  "replay.next_second": () => {
    const seen = new Set<string>();
    return async ({ path, request, answer }) => {
      const text = new TextDecoder().decode(request.body);
      const given = await answer();
      if (path !== "/sync" || given.status !== 200) return given;
      if (seen.has(text)) return refuse(400, "replayed", "this body was here before");
      seen.add(text);
      return given;
    };
  },

  "enroll.accepted": () => async ({ path, answer }) => {
    const given = await answer();
    return path === "/enroll" && given.status === 200 ? refuse(503, "internal", "no") : given;
  },
  "enroll.other_keys": () => again((isSameKeys, isSameServer) => !isSameKeys && isSameServer),
  "enroll.other_server_later": () =>
    again((isSameKeys, isSameServer) => isSameKeys && !isSameServer),
  "enroll.other_server": () =>
    enrolling(({ portal, request }) => {
      const { token, clusterId } = tokenOf(portal, request);
      return clusterId === bodyOf(request)["cluster_id"] && token?.used === null
        ? { server_id: token.serverId }
        : {};
    }),
  "enroll.other_cluster": () =>
    enrolling(({ portal, request }) => {
      const { token, clusterId } = tokenOf(portal, request);
      return token === undefined || clusterId === undefined ? {} : { cluster_id: clusterId };
    }),
  "enroll.other_node": () =>
    enrolling(({ portal, request }) => {
      const { token } = tokenOf(portal, request);
      return token === undefined ? {} : { node_name: token.nodeName };
    }),
  "enroll.unknown_token": () => recoding("invalid_token", 404, "invalid_token"),
  "enroll.expired_token": () => recoding("token_expired", 401, "invalid_token"),
  "enroll.image": () => recoding("image_mismatch", 409, "conflict"),
  "enroll.key_length": () =>
    enrolling(({ request }) => {
      const keys = bodyOf(request)["public_keys"] as JsonObject;
      const isShort = decodeBase64(String(keys["signing"]))?.length === 31;
      const signing = encodeBase64(new Uint8Array(32).fill(7));
      return isShort ? { public_keys: { ...keys, signing } } : {};
    }),

  "sync.every_report": () => async ({ request, answer }) =>
    JSON.stringify(bodyOf(request)["conditions"] ?? "").includes("disk_full")
      ? refuse(400, "invalid_request", "no such condition")
      : await answer(),

  "events.acked": () =>
    onEvents((_request, sent, given) => edited(given, () => ({ acked: sent.length }))),
  "events.repeated": () => {
    let highest = 0;
    return onEvents((request, sent, given) => {
      const last = Number(sent.at(-1)?.["seq"] ?? 0);
      const isOld = last > 0 && last <= highest && bodyOf(request)["result"] === undefined;
      highest = Math.max(highest, last);
      return isOld ? refuse(400, "invalid_request", "these were sent before") : given;
    });
  },
  "events.every_event": () =>
    onEvents((_request, sent, given) =>
      JSON.stringify(sent).includes('"total":null')
        ? refuse(400, "invalid_request", "total")
        : given
    ),
  "events.result_alone": () =>
    onEvents((_request, sent, given) =>
      sent.length === 0 ? edited(given, () => ({ acked: 1 })) : given
    ),
  "events.result_repeated": () => {
    const seen = new Set<string>();
    return onEvents((request, _sent, given) => {
      const result = JSON.stringify(bodyOf(request)["result"]) ?? "";
      if (result !== "" && seen.has(result)) return refuse(400, "invalid_request", "known already");
      seen.add(result);
      return given;
    });
  },
  "events.unknown": () => async ({ path, answer }) => {
    const given = await answer();
    return given.status === 404 && path.includes("pbx-conformance-none")
      ? refuse(404, "not_found", "nothing here")
      : given;
  },
  "events.other_agent": () => async ({ path, answer }) => {
    const given = await answer();
    return given.status === 404 && path.endsWith("/events") && !path.includes("conformance-none")
      ? json(200, { acked: 1 })
      : given;
  },

  "manifest.available": () => async ({ path, answer }) => {
    const given = await answer();
    return path === "/releases/1.0.0/manifest" && given.status === 200
      ? refuse(404, "unknown_release", "no")
      : given;
  },
  "manifest.unknown": () => async ({ path, answer }) => {
    const given = await answer();
    return given.status === 404 && path.startsWith("/releases/")
      ? refuse(503, "internal", "no")
      : given;
  },

  "rotate.proof": () => async ({ path, request, answer }) => {
    const given = await answer();
    const isProven = bodyOf(request)["proof"] !== undefined;
    return path === "/rotate-key" && given.status === 400 && isProven ? json(200, {}) : given;
  },
  "rotate.accepted": () => async ({ path, answer }) => {
    const given = await answer();
    return path === "/rotate-key" && given.status === 200 ? refuse(409, "later", "no") : given;
  },
  "rotate.again_old": () => repeatedRotation("previous"),
  "rotate.again_new": () => repeatedRotation("current"),
  "rotate.new_key": () => async ({ portal, path, request, answer }) =>
    path === "/sync" && (agentOf(portal, request)?.retired.length ?? 0) > 0
      ? refuse(401, "bad_signature", "no")
      : await answer(),
  "rotate.seals": () => {
    let old: string | null = null;
    return async ({ portal, path, request, answer }) => {
      const agent = agentOf(portal, request);
      if (path === "/rotate-key") old ??= agent?.keys.sealing ?? null;
      if (path !== "/sync" || old === null || agent === undefined) return await answer();
      const { keys } = agent;
      agent.keys = { ...keys, sealing: old };
      const given = await answer();
      agent.keys = keys;
      return given;
    };
  },
  "rotate.old_key": () => trustWhere("an old key"),
};

/** Answers what the fake portal refuses where `when` says so. */
function trust(when: (request: Whole) => boolean): Planted {
  return async ({ portal, request, path, answer }) => {
    const given = await answer();
    return given.status >= 400 && when(request) ? trusting(portal, request, path) : given;
  };
}

/** Takes one kind of wrong signature, and only that. */
function trustWhere(explanation: Explanation): Planted {
  return async ({ portal, request, path, answer }) => {
    const given = await answer();
    const code = (bodyOf(given)["error"] as JsonObject | undefined)?.["code"];
    return code === "bad_signature" && explain(portal, request) === explanation
      ? trusting(portal, request, path)
      : given;
  };
}

function trustOff(when: (offMs: number) => boolean): Planted {
  return async ({ portal, request, path, answer }) => {
    const given = await answer();
    const off = Number(request.headers.get("pbx-timestamp")) * 1000 - portal.now();
    return given.status === 409 && when(off) && path === "/sync"
      ? trusting(portal, request, path)
      : given;
  };
}

function forgetting(when: (ageMs: number) => boolean): Planted {
  return async ({ portal, answer }) => {
    for (const [signature, at] of portal.memory.replays) {
      if (when(portal.now() - at)) portal.memory.replays.delete(signature);
    }
    return await answer();
  };
}

/** Gives the stored answer of a used token to somebody else. */
function again(when: (isSameKeys: boolean, isSameServer: boolean) => boolean): Planted {
  return async ({ portal, path, request, answer }) => {
    const given = await answer();
    const { token } = tokenOf(portal, request);
    if (path !== "/enroll" || given.status !== 401 || token?.used === null || !token) return given;
    const body = bodyOf(request);
    const keys = body["public_keys"] as JsonObject;
    const isSame = keys["signing"] === token.used.keys.signing;
    return when(isSame, body["server_id"] === token.serverId)
      ? json(200, { ...token.used.answer, time: portal.time() })
      : given;
  };
}

type Around = Parameters<Planted>[0];

/** Enrolls as if the body had said something else. */
function enrolling(change: (around: Around) => JsonObject): Planted {
  return async (around) =>
    around.path === "/enroll"
      ? await around.answer(rewritten(around.request, change(around)))
      : await around.answer();
}

function recoding(code: string, status: number, to: string): Planted {
  return async ({ answer }) => {
    const given = await answer();
    const error = bodyOf(given)["error"];
    const isIt = given.status >= 400 && isJsonObject(error) && error["code"] === code &&
      String(error["message"]).includes(code === "invalid_token" ? "no such token" : "");
    return isIt ? refuse(status, to, "no") : given;
  };
}

function onEvents(
  change: (
    request: Whole,
    sent: readonly JsonObject[],
    given: Awaited<ReturnType<Planted>>,
  ) => Awaited<ReturnType<Planted>>,
): Planted {
  return async ({ path, request, answer }) => {
    const given = await answer();
    if (!path.endsWith("/events") || given.status !== 200) return given;
    return change(request, bodyOf(request)["events"] as readonly JsonObject[], given);
  };
}

function repeatedRotation(by: "current" | "previous"): Planted {
  return async ({ portal, path, request, answer }) => {
    const agent = agentOf(portal, request);
    const keys = bodyOf(request)["public_keys"] as JsonObject | undefined;
    const isAgain = agent !== undefined && agent.keys.signing === keys?.["signing"];
    const given = await answer();
    if (path !== "/rotate-key" || !isAgain) return given;
    const isByOld = explain(portal, request) === "an old key";
    return isByOld === (by === "previous") ? refuse(400, "key_reused", "again?") : given;
  };
}

function tokenOf(portal: Portal, request: Whole) {
  const text = String(bodyOf(request)["token"]);
  const hash = hashText(text);
  const token = portal.state.tokens.get(hash);
  return { token, clusterId: token?.clusterId as JsonValue | undefined };
}

/** A sync's answer with nothing in it. */
function nothing(portal: Portal) {
  return json(200, { time: portal.time(), desired: null, operation: null, desired_tag: null });
}

function isCut({ body }: Whole): boolean {
  return body.length > 100 && body.at(-1) !== 0x7d && body.at(-1) !== 0x20;
}
