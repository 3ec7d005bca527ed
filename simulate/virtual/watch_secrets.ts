import { isJsonObject, type JsonValue } from "../../core/json.ts";
import { decodeBase64 } from "../../core/protocol/base64.ts";
import { openSealed } from "../../core/protocol/sealing.ts";
import { Secret } from "../../core/secret.ts";
import { BOOTSTRAP_FILE, IDENTITY_FILE, STATE_FILE } from "../../core/state/paths.ts";
import type { NodeEvent } from "../node/node_event.ts";
import type { Watched } from "./watched.ts";

/** Secrets on the disk: once a rotation is over they open with the keys that are left. */
export function watchSecrets(
  { node, broken, keyWork }: Pick<Watched, "node" | "broken" | "keyWork">,
) {
  const read = (path: string): JsonValue => JSON.parse(node.disk.text(path) ?? "null");

  function checkBoxes(): void {
    const identity = read(IDENTITY_FILE) as { readonly keys: { readonly sealing: string } };
    const secretKey = new Secret<Uint8Array>(decodeBase64(identity.keys.sealing) ?? NOTHING);
    const key = {
      secretKey,
      publicKey: keyWork.publicKeys.sealing(secretKey),
      openBox: keyWork.openBox,
    };
    for (const path of [STATE_FILE, BOOTSTRAP_FILE]) {
      const lost = boxesIn(read(path)).filter((box) => !openSealed(box, [key]).ok);
      if (lost.length > 0) {
        broken(
          "stored_secrets_open",
          `${lost.length} boxes in ${path} are not for the keys in use`,
        );
      }
    }
  }

  return {
    onLog({ event }: NodeEvent & { kind: "log" }): void {
      if (event === "keys_rotated") checkBoxes();
    },
  };
}

const NOTHING = new Uint8Array(32);

/** Boxes of the agent's own: a result may hold one for somebody else. */
function boxesIn(value: JsonValue): string[] {
  if (Array.isArray(value)) return value.flatMap(boxesIn);
  if (!isJsonObject(value)) return [];
  const { sealed } = value;
  return [
    ...(typeof sealed === "string" ? [sealed] : []),
    ...Object.values(value).flatMap(boxesIn),
  ];
}
