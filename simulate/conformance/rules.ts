/** A rule that the protocol puts on a portal. */
export interface Rule {
  /** Of the protocol's page. */
  readonly paragraph: string;
  /** What holds at a portal that keeps it. */
  readonly title: string;
  /** What whoever runs the kit can give it, so that the rule can be tried. */
  readonly needs?: string;
}

const SECOND_AGENT = "a token for a second node (--tokens)";
const OPERATION =
  "an operation that is offered to the first node (--admin, --ask, or queued before)";
const KEY = "the portal's public key (--portal-key)";
const HANDS = "somebody who does it meanwhile (--admin or --ask)";

/** Every rule that is tried, in the order in which they are told. */
export const RULES = {
  "answer.status": { paragraph: "§1", title: "Success is 200, and no other 2xx" },
  "answer.redirect": { paragraph: "§1", title: "No path of the protocol answers with a redirect" },
  "answer.content_type": { paragraph: "§1", title: "An answer of 200 says that it is JSON" },
  "answer.well_formed": {
    paragraph: "§1",
    title: "Every body is JSON in UTF-8, no key twice or forbidden, 64 levels at most",
  },
  "answer.exact": {
    paragraph: "§2",
    title:
      "Integers are within ±(2^53 - 1), numbers keep their digits, texts have whole characters",
  },
  "answer.limit": { paragraph: "§1", title: "No answer is over 262,144 bytes" },
  "answer.error_body": {
    paragraph: "§1",
    title: 'A refusal says {"error": {"code": "<snake_case>", "message": "..."}}',
  },
  "answer.retry_after": {
    paragraph: "§1",
    title: "A 429 has Retry-After, in seconds or as an HTTP date",
    needs: `a 429: ${HANDS}, or more requests than the portal takes (--burst N)`,
  },

  "proof.plain": { paragraph: "§1", title: "No answer is encoded: identity was asked", needs: KEY },
  "proof.signed": { paragraph: "§1", title: "Every answer under 500 is signed", needs: KEY },
  "proof.digest": {
    paragraph: "§1",
    title: "Content-Digest is that of the body, in its one form",
    needs: KEY,
  },
  "proof.replayed": {
    paragraph: "§1",
    title: "No request gets the signed answer to one before",
    needs: KEY,
  },
  "proof.components": {
    paragraph: "§1",
    title: "A signature covers exactly the components of its endpoint",
    needs: KEY,
  },
  "proof.parameters": {
    paragraph: "§1",
    title: "There is one signature, pbx, with created, keyid and alg and nothing more",
    needs: KEY,
  },
  "proof.request": {
    paragraph: "§1",
    title: "A signature is the portal's key's, over this answer to this request",
    needs: KEY,
  },

  "request.largest": { paragraph: "§1", title: "A body of 262,144 bytes is taken" },
  "request.too_large": { paragraph: "§1", title: "A body of 262,145 bytes is refused" },
  "request.no_json": { paragraph: "§1", title: "A body that is no JSON is refused" },
  "request.schema": { paragraph: "§4", title: "A report that breaks its schema is refused" },
  "request.forbidden_keys": {
    paragraph: "§1",
    title: "A body with __proto__, constructor or prototype as a key is refused",
  },
  "request.unknown_fields": {
    paragraph: "§1",
    title: "An unknown field breaks nothing: ignored, or at most the request is a 400",
  },
  "request.protocol": {
    paragraph: "§1",
    title: "Another PBX-Protocol is refused; a 426 is protocol_too_old and names a release",
  },

  "signature.accepted": { paragraph: "§1", title: "A report that is signed well is answered 200" },
  "signature.required": { paragraph: "§1", title: "Nothing but /enroll answers who does not sign" },
  "signature.headers": {
    paragraph: "§1",
    title: "PBX-Agent, PBX-Timestamp and PBX-Signature must all be there",
  },
  "signature.body": { paragraph: "§1", title: "A signature over another body is refused" },
  "signature.method": { paragraph: "§1", title: "A signature over another method is refused" },
  "signature.path": { paragraph: "§1", title: "A signature over another path is refused" },
  "signature.query": { paragraph: "§1", title: "A signature covers the query" },
  "signature.timestamp": { paragraph: "§1", title: "A signature over another second is refused" },
  "signature.key": {
    paragraph: "§1",
    title: "A signature by a key that nobody enrolled is refused",
  },
  "signature.agent": {
    paragraph: "§1",
    title: "A signature by another agent's key is refused",
    needs: SECOND_AGENT,
  },
  "signature.unknown_agent": { paragraph: "§1", title: "An agent that nobody knows gets a 401" },
  "signature.encoding": {
    paragraph: "§1",
    title: "A signature is standard base64 with padding, and has no second spelling",
  },
  "signature.strict": {
    paragraph: "§1",
    title: "A signature that was changed so that it still verifies (S + L) is refused",
  },
  "identity.revoked": {
    paragraph: "§1",
    title: "Every request of a revoked agent gets a 401",
    needs: HANDS,
  },

  "clock.late": { paragraph: "§1", title: "A timestamp over 60 s behind is a 409 clock_skew" },
  "clock.early": { paragraph: "§1", title: "A timestamp over 60 s ahead is a 409 clock_skew" },
  "clock.tolerance": { paragraph: "§1", title: "A timestamp that is 50 s off is taken" },
  "clock.time": { paragraph: "§1", title: "clock_skew names the portal's time in RFC 3339" },
  "replay.refused": { paragraph: "§1", title: "The same signature again is a 400 replayed" },
  "replay.memory": {
    paragraph: "§1",
    title: "A signature is remembered as long as its timestamp counts",
    needs: "patience: it takes another two minutes (--patient)",
  },
  "replay.next_second": {
    paragraph: "§1",
    title: "The same request signed for the next second is taken",
  },

  "sealing.enroll": { paragraph: "§2", title: "The enrollment's secrets are sealed boxes" },
  "sealing.enroll_opens": {
    paragraph: "§2",
    title: "The enrollment's boxes open with the agent's key and hold UTF-8",
  },
  "sealing.config": { paragraph: "§2", title: "k3s.config has no setting that is a secret" },
  "sealing.desired": { paragraph: "§2", title: "The desired state's secrets are sealed boxes" },
  "sealing.desired_opens": {
    paragraph: "§2",
    title: "The desired state's boxes open with the agent's key",
  },
  "sealing.operation": {
    paragraph: "§2",
    title: "An operation's secrets are sealed boxes",
    needs: `${OPERATION}, with secrets in it such as s3.verify`,
  },
  "sealing.operation_opens": {
    paragraph: "§2",
    title: "An operation's boxes open with the agent's key",
    needs: `${OPERATION}, with secrets in it such as s3.verify`,
  },
  "sealing.options": {
    paragraph: "§2",
    title: "No add-on option that its template declares secret stands in options",
    needs: "a desired state with an add-on that has a secret option",
  },
  "sealing.known_members": {
    paragraph: "§1",
    title: "Objects that hold a secret have no unknown field",
  },
  "secrets.s3_target": {
    paragraph: "§2",
    title: "A bucket has an endpoint, name, region and folder that agents take",
    needs: "an enrollment or a desired state with etcd_s3",
  },
  "sealing.in_clear": {
    paragraph: "§2",
    title: "No answer holds a secret or a token in clear or in base64",
  },

  "enroll.accepted": { paragraph: "§3", title: "A token enrolls its server" },
  "enroll.schema": { paragraph: "§3", title: "The answer to an enrollment matches its schema" },
  "enroll.names": { paragraph: "§3", title: "cluster_id and node_name are those that were sent" },
  "enroll.same_answer": {
    paragraph: "§3",
    title: "The same token, keys and server get the same answer again",
  },
  "enroll.present_time": { paragraph: "§3", title: "time is the present one in a repeated answer" },
  "enroll.other_keys": {
    paragraph: "§3",
    title: "A used token with other keys is a 401 token_used",
  },
  "enroll.other_server_later": {
    paragraph: "§3",
    title: "A used token from another server is a 401",
  },
  "enroll.other_server": {
    paragraph: "§3",
    title: "An unused token from another server is a 401 server_mismatch",
  },
  "enroll.other_cluster": {
    paragraph: "§3",
    title: "A token does not enroll a server of another cluster",
  },
  "enroll.other_node": { paragraph: "§3", title: "A token does not enroll another node" },
  "enroll.unknown_token": { paragraph: "§3", title: "An unknown token is a 401 invalid_token" },
  "enroll.expired_token": {
    paragraph: "§3",
    title: "An expired token is a 401 token_expired",
    needs: 'an expired token ("expired": true in --tokens, or --admin)',
  },
  "enroll.image": {
    paragraph: "§3",
    title: "Another boot image than the expected one is a 409 image_mismatch",
    needs: 'a node whose image is expected ("boot_image_sha256" in --tokens, or --admin)',
  },
  "enroll.k3s_config": {
    paragraph: "§3",
    title: "k3s.config has only keys and values of the list, or that the release signs",
  },
  "enroll.manifests": {
    paragraph: "§3",
    title: "First-start manifests are those that the release signs, byte for byte",
  },
  "enroll.k3s_token": {
    paragraph: "§3",
    title: "The k3s token is the one that is pinned on the node",
    needs: 'a node whose k3s token is pinned ("k3s_token_sha256" in --tokens, or --admin)',
  },
  "enroll.key_length": { paragraph: "§3", title: "A public key that has no 32 bytes is refused" },

  "sync.schema": { paragraph: "§4", title: "The answer to a sync matches its schema" },
  "sync.whole": {
    paragraph: "§4",
    title: "A report without a tag gets the desired state whole",
  },
  "sync.tag": { paragraph: "§4", title: "desired_tag is 1 to 128 printable ASCII characters" },
  "sync.known_tag": {
    paragraph: "§4",
    title: "A report with the portal's tag gets null, or the same state under the same tag",
  },
  "sync.other_tag": {
    paragraph: "§4",
    title: "A report with another tag gets the desired state whole",
  },
  "sync.every_report": { paragraph: "§4", title: "Every report that the schema allows is taken" },
  "desired.schema": { paragraph: "§4", title: "The desired state matches its schema" },
  "desired.servers": { paragraph: "§4", title: "servers is a whole number of at least 1" },
  "desired.addons": {
    paragraph: "§6",
    title: "The release has the desired add-ons; their options are as declared and within limits",
    needs: "a desired state with add-ons",
  },
  "desired.registries": {
    paragraph: "§4",
    title: "The release names every registry and endpoint of host.registries",
    needs: "a desired state with host.registries",
  },
  "times.rfc3339": { paragraph: "§4", title: "Every time is RFC 3339, with seconds and a zone" },
  "identifiers": { paragraph: "§8", title: "Every identifier has its form" },

  "operation.schema": {
    paragraph: "§5",
    title: "An offered operation has an ID, a known kind and params",
    needs: OPERATION,
  },
  "operation.params": {
    paragraph: "§5",
    title: "The params are those of the operation's kind",
    needs: OPERATION,
  },
  "operation.again": {
    paragraph: "§5",
    title: "An operation without a result is offered again",
    needs: OPERATION,
  },
  "events.acked": {
    paragraph: "§5",
    title: "acked is the highest number that was taken",
    needs: OPERATION,
  },
  "events.repeated": {
    paragraph: "§5",
    title: "Repeated events are taken silently, alone and beside new ones",
    needs: OPERATION,
  },
  "events.every_event": {
    paragraph: "§5",
    title: "Every event and result that the schema allows is taken",
    needs: OPERATION,
  },
  "events.result_alone": {
    paragraph: "§5",
    title: "A result without events is taken; acked is the highest number so far, 0 if none",
    needs: `a second ${OPERATION.slice(3)}`,
  },
  "events.result_repeated": {
    paragraph: "§5",
    title: "A repeated result is taken silently",
    needs: OPERATION,
  },
  "events.unknown": {
    paragraph: "§5",
    title: "Events of an operation that was never offered are a 404 unknown_operation",
  },
  "events.other_agent": {
    paragraph: "§5",
    title: "Events of another agent's operation are refused",
    needs: `${OPERATION}, and ${SECOND_AGENT}`,
  },

  "manifest.available": {
    paragraph: "§6",
    title: "The desired release, and that of the enrollment, have a manifest",
  },
  "manifest.envelope": { paragraph: "§6", title: "The manifest is a DSSE envelope of its type" },
  "manifest.signature": {
    paragraph: "§6",
    title: "A signature by a release key holds",
    needs: "the release keys that agents have built in (--release-key)",
  },
  "manifest.key_ids": {
    paragraph: "§6",
    title: "Each keyid is 16 hex digits, those of the key that signed",
  },
  "manifest.version": { paragraph: "§6", title: "The manifest is that of the release asked for" },
  "manifest.schema": { paragraph: "§6", title: "The manifest matches its schema" },
  "manifest.urls": { paragraph: "§6", title: "Artifacts are behind https, or http on loopback" },
  "manifest.unknown": { paragraph: "§6", title: "A release that there is not is a 404" },

  "rotate.proof": { paragraph: "§7", title: "New keys without the new key's proof are refused" },
  "rotate.accepted": { paragraph: "§7", title: "New keys with their proof are answered 200 {}" },
  "rotate.again_old": {
    paragraph: "§7",
    title: "The same rotation again, signed with the old key, is a 200",
  },
  "rotate.again_new": {
    paragraph: "§7",
    title: "The same rotation again, signed with the new key, is a 200",
  },
  "rotate.new_key": { paragraph: "§7", title: "A report signed with the new key is a 200" },
  "rotate.seals": { paragraph: "§7", title: "From then on boxes are sealed to the new key" },
  "rotate.old_key": {
    paragraph: "§7",
    title: "Once the new key has signed a report, the old one signs no more",
  },
} as const satisfies Readonly<Record<string, Rule>>;

/** A rule's name. */
export type RuleId = keyof typeof RULES;

/** All of them, in order. */
export const RULE_IDS = Object.keys(RULES) as RuleId[];
