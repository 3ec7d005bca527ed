import type { ProofFault } from "../../../../adapters/portal/faults.ts";
import { json, refuse } from "../../../../adapters/portal/http/message.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../../core/json.ts";
import { decodeBase64 } from "../../../../core/protocol/base64.ts";
import { seal } from "../../../../core/protocol/sealing.ts";
import { bodyOf, edited } from "./bypass.ts";
import type { Planted } from "./world.ts";

/** One fault each, by the rule that it breaks: in what is answered. A fault with a memory is made anew. */
export const PLANTED_ANSWERS: Readonly<Record<string, () => Planted>> = {
  "answer.status": () => onPath("/enroll", (answer) => ({ ...answer, status: 201 })),
  "answer.redirect": () => async ({ path, answer }) =>
    path.startsWith("/releases/")
      ? { status: 307, headers: { location: "/elsewhere" }, body: new Uint8Array() }
      : await answer(),
  "answer.content_type": () =>
    onPath("/sync", (answer) => ({ ...answer, headers: { "content-type": "text/plain" } })),
  "answer.well_formed": () =>
    onPath("/sync", (answer) => withText(answer, (text) => text.replace("{", '{"x":1,"x":1,'))),
  "answer.exact": () =>
    onPath(
      "/sync",
      (answer) => withText(answer, (text) => text.replace("{", '{"x":9007199254740993,')),
    ),
  "answer.limit": () =>
    onPath(
      "/releases/1.0.0/manifest",
      (answer) => withText(answer, (text) => text.padEnd(262_145)),
    ),
  "answer.error_body": () => async ({ path, answer }) => {
    const given = await answer();
    return given.status === 404 && path.startsWith("/releases/")
      ? json(404, { error: { code: "unknown_release" } })
      : given;
  },
  "answer.retry_after": () => async ({ answer }) => {
    const given = await answer();
    return given.status === 429 ? { ...given, headers: { "retry-after": "soon" } } : given;
  },

  "proof.plain": () =>
    onPath("/sync", (answer) => ({
      ...answer,
      headers: { ...answer.headers, "content-encoding": "identity" },
    })),
  "proof.signed": () => proofOf("/enroll", "unsigned"),
  "proof.digest": () => proofOf("/sync", "tampered"),
  "proof.replayed": () => {
    let isFirst = true;
    return async ({ path, answer }) => {
      const given = await answer();
      if (path !== "/releases/1.0.0/manifest" || given.status !== 200) return given;
      const proof = isFirst ? {} : { proof: "replayed" as const };
      isFirst = false;
      return { ...given, ...proof };
    };
  },
  "proof.components": () => proofOf("/releases/1.0.0/manifest", "component_missing"),
  "proof.parameters": () => proofOf("/rotate-key", "extra_parameter"),
  "proof.request": () => proofOf("/sync", "other_request"),

  "sealing.enroll": () => editEnrollment((body) => put(body, HCLOUD, "an-hcloud-token-in-clear")),
  "sealing.enroll_opens": () => editEnrollment((body) => put(body, HCLOUD, strangersBox())),
  "sealing.config": () =>
    editEnrollment((body) => put(body, ["k3s", "config", "agent-token"], "x")),
  "sealing.desired": () => editDesired((body) => put(body, HCLOUD, "an-hcloud-token-in-clear")),
  "sealing.desired_opens": () => async ({ portal, path, answer }) => {
    const given = await answer();
    const isRotated = [...portal.state.agents.values()].some(({ retired }) => retired.length > 0);
    if (path !== "/sync" || isRotated) return given;
    return edited(
      given,
      (body) =>
        isJsonObject(body["desired"])
          ? { ...body, desired: put(body["desired"], HCLOUD, strangersBox()) }
          : body,
    );
  },
  "sealing.operation": () => editOperation((body) => put(body, ["params", "secret_key"], "clear")),
  "sealing.operation_opens": () =>
    editOperation((body) => put(body, ["params", "secret_key"], strangersBox())),
  "sealing.options": () =>
    editDesired((body) => {
      const addons = (body["addons"] as readonly JsonObject[]).map((addon) => ({
        ...addon,
        options: { ...addon["options"] as JsonObject, api_token: "in-clear" },
        secret_options: {},
      }));
      return { ...body, addons };
    }),
  "desired.registries": () =>
    editDesired((body) =>
      put(body, ["host", "registries", "mirrors", "docker.io", "endpoint"], ["evil.example.com"])
    ),
  "sealing.known_members": () => editDesired((body) => put(body, ["secrets", "hcloud", "x"], "y")),
  "sealing.in_clear": () => async ({ path, request, answer }) => {
    const given = await answer();
    if (path !== "/enroll" || given.status !== 401) return given;
    return refuse(401, errorOf(given), `the token ${bodyOf(request)["token"]} is refused`);
  },

  "enroll.schema": () => editEnrollment(({ release: _release, ...body }) => body),
  "enroll.k3s_config": () =>
    editEnrollment((body) => put(body, ["k3s", "config", "kube-apiserver-arg"], ["v=9"])),
  "enroll.manifests": () =>
    editEnrollment((body) => ({
      ...body,
      manifests: [
        ...body["manifests"] as readonly JsonObject[],
        { name: "root", content: "apiVersion: v1\n" },
      ],
    })),
  "enroll.k3s_token": () => async ({ path, request, answer }) => {
    const given = await answer();
    if (path !== "/enroll" || given.status !== 200) return given;
    const keys = bodyOf(request)["public_keys"] as JsonObject;
    const key = decodeBase64(String(keys["sealing"])) ?? new Uint8Array(32);
    const text = new TextEncoder().encode("pbx-seal-1 enroll:k3s.token\nthe-token-of-another");
    const sealed = seal(text, key, new Uint8Array(32).fill(5));
    return edited(given, (body) => put(body, ["k3s", "token"], { sealed }));
  },
  "secrets.s3_target": () =>
    editEnrollment((body) =>
      put(body, ["secrets", "etcd_s3", "endpoint"], "http://s3.example.com")
    ),
  "enroll.names": () => editEnrollment((body) => ({ ...body, node_name: "another-1" })),
  "enroll.same_answer": () => {
    let count = 0;
    return editEnrollment((body) => ({ ...body, agent_id: `${body["agent_id"]}-${count++}` }), 1);
  },
  "enroll.present_time": () => {
    const times = new Map<JsonValue, JsonValue>();
    return editEnrollment((body) => {
      const time = times.get(body["agent_id"] ?? null) ?? body["time"] ?? null;
      times.set(body["agent_id"] ?? null, time);
      return { ...body, time };
    });
  },

  "sync.schema": () => onSync((body) => ({ ...body, operation: "none" })),
  "sync.whole": () => async ({ path, request, answer }) => {
    const given = await answer();
    const { tag } = (bodyOf(request)["desired"] ?? {}) as JsonObject;
    return path === "/sync" && tag === null
      ? edited(given, (body) => ({ ...body, desired: null }))
      : given;
  },
  "sync.tag": () => onSync((body) => ({ ...body, desired_tag: "t".repeat(129) })),
  "sync.known_tag": () => {
    let count = 0;
    return onSync((body) => ({ ...body, desired_tag: `tag-${count++}` }));
  },
  "sync.other_tag": () => async ({ path, request, answer }) => {
    const given = await answer();
    const { tag } = (bodyOf(request)["desired"] ?? {}) as JsonObject;
    return path === "/sync" && typeof tag === "string"
      ? edited(given, (body) => ({ ...body, desired: null }))
      : given;
  },
  "desired.schema": () =>
    editDesired((body) => put(body, ["host", "snapshots", "retention"], 1001)),
  "desired.servers": () => editDesired((body) => ({ ...body, servers: 0 })),
  "desired.addons": () =>
    editDesired((body) => ({
      ...body,
      addons: (body["addons"] as readonly JsonObject[]).map((addon) => ({ ...addon, options: {} })),
    })),
  "times.rfc3339": () => onSync((body) => ({ ...body, time: "2026-03-01 12:00:00" })),
  "identifiers": () => editDesired((body) => put(body, ["agent", "version"], "0.1.0 beta")),

  "operation.schema": () => editOperation((body) => ({ ...body, kind: "coffee.make" })),
  "operation.params": () =>
    editOperation((body) => {
      const { bucket: _bucket, ...params } = body["params"] as JsonObject;
      return { ...body, params };
    }),
  "operation.again": () => {
    const offered = new Set<JsonValue>();
    return onSync((body) => {
      const operation = body["operation"];
      if (!isJsonObject(operation)) return body;
      const id = operation["id"] ?? null;
      if (offered.has(id)) return { ...body, operation: null };
      offered.add(id);
      return body;
    });
  },

  "manifest.envelope": () => onManifest((body) => ({ ...body, payloadType: "application/json" })),
  "manifest.key_ids": () =>
    onManifest((body) => ({
      ...body,
      signatures: (body["signatures"] as readonly JsonObject[]).map((entry) => ({
        ...entry,
        keyid: String(entry["keyid"]).toUpperCase(),
      })),
    })),
  "manifest.signature": () => withRelease((release) => ({ ...release, tampered: true })),
  "manifest.version": () => withPayload((payload) => ({ ...payload, version: "1.0.1" })),
  "manifest.schema": () => withPayload(({ image: _image, ...payload }) => payload),
  "manifest.urls": () =>
    withPayload((payload) =>
      put(payload, ["agent", "artifacts", "amd64", "url"], "http://downloads.example.com/a")
    ),
};

const HCLOUD = ["secrets", "hcloud", "token"] as const;

type Given = Awaited<ReturnType<Planted>>;

function proofOf(path: string, proof: ProofFault): Planted {
  return async (around) => {
    const given = await around.answer();
    return around.path === path ? { ...given, proof } : given;
  };
}

function onPath(only: string, change: (answer: Given) => Given): Planted {
  return async ({ path, answer }) => {
    const given = await answer();
    return path === only && given.status === 200 ? change(given) : given;
  };
}

function onSync(edit: (body: JsonObject) => JsonObject): Planted {
  return onPath("/sync", (answer) => edited(answer, edit));
}

function onManifest(edit: (body: JsonObject) => JsonObject): Planted {
  return onPath("/releases/1.0.0/manifest", (answer) => edited(answer, edit));
}

/** `after`: so many whole answers pass first. */
function editEnrollment(edit: (body: JsonObject) => JsonObject, after = 0): Planted {
  let passed = 0;
  return onPath("/enroll", (answer) => passed++ < after ? answer : edited(answer, edit));
}

/** A portal whose desired states are changed on their way. */
export function editDesired(edit: (desired: JsonObject) => JsonObject): Planted {
  return onSync((body) => {
    const desired = body["desired"];
    return isJsonObject(desired) ? { ...body, desired: edit(desired) } : body;
  });
}

function editOperation(edit: (operation: JsonObject) => JsonObject): Planted {
  return onSync((body) => {
    const operation = body["operation"];
    return isJsonObject(operation) ? { ...body, operation: edit(operation) } : body;
  });
}

function withRelease(edit: <T extends JsonObject>(release: T) => JsonObject): Planted {
  return async ({ portal, answer }) => {
    const release = portal.state.releases.get("1.0.0");
    const changed = edit(release as unknown as JsonObject);
    portal.state.releases.set("1.0.0", changed as never);
    return await answer();
  };
}

function withPayload(edit: (payload: JsonObject) => JsonObject): Planted {
  return withRelease((release) => ({
    ...release,
    payload: edit(release["payload"] as JsonObject),
  }));
}

/** The object with `value` at `steps`; what is on the way is there. */
function put(object: JsonObject, steps: readonly string[], value: JsonValue): JsonObject {
  const [step = "", ...rest] = steps;
  const inner = object[step];
  const changed = rest.length === 0 ? value : put(isJsonObject(inner) ? inner : {}, rest, value);
  return { ...object, [step]: changed };
}

function strangersBox(): JsonObject {
  const [key, ephemeral] = [new Uint8Array(32).fill(9), new Uint8Array(32).fill(5)];
  return { sealed: seal(new TextEncoder().encode("for somebody else"), key, ephemeral) };
}

function withText(answer: Given, change: (text: string) => string): Given {
  const text = change(new TextDecoder().decode(answer.body));
  return { ...answer, body: new TextEncoder().encode(text) };
}

function errorOf(answer: Given): string {
  const error = bodyOf(answer)["error"];
  return isJsonObject(error) ? String(error["code"]) : "";
}
