import { isJsonObject, type JsonObject, type JsonValue } from "../json.ts";
import { openWhole, type SealingKey } from "./sealing.ts";

/**
 * A document with every sealed box in it sealed anew to `publicKey` (protocol §7: what is stored is
 * sealed to the new key before the old one goes). What looks like a box and opens with none of `keys` is
 * none of ours and stays. `sealTo` seals one text to the new key.
 */
export function reseal(
  value: JsonValue,
  keys: readonly SealingKey[],
  sealTo: (plaintext: Uint8Array) => string,
): JsonValue {
  if (Array.isArray(value)) return value.map((item) => reseal(item, keys, sealTo));
  if (!isJsonObject(value)) return value;
  const box = value["sealed"];
  if (typeof box === "string" && Object.keys(value).length === 1) {
    const opened = openWhole(box, keys);
    if (!opened.ok) return value;
    const text = new TextEncoder().encode(opened.value.reveal());
    return { sealed: sealTo(text) };
  }
  const members = Object.entries(value as JsonObject);
  return Object.fromEntries(
    members.map(([name, member]) => [name, reseal(member, keys, sealTo)]),
  );
}
