import type { JsonObject } from "../../core/json.ts";
import type { Random } from "../../core/ports/random.ts";

/**
 * What an operation is asked with. `snapshot`: one that is known to be there; null: none is. `given`: the
 * share of snapshots that get a name which others may have had before.
 */
export function operationOf(
  kind: string,
  id: string,
  random: Random,
  snapshot: string | null,
  given = 0,
): (JsonObject & { readonly id: string }) | null {
  const params = kind === "snapshot.save" && given > 0
    ? nameOf(random, given)
    : paramsOf(kind, random, snapshot);
  return params === null ? null : { id, kind, params };
}

const PEOPLE = ["ada", "grace", "edsger"];
/** Somebody's key to seal to. */
const RECIPIENT = "CSAGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyAhIiM=";
const BUCKET = {
  endpoint: "s3.example.com",
  bucket: "pbx-snapshots",
  region: "eu-central",
  folder: "elsewhere",
};

const NAMES = ["weekly", "before-change"];

function nameOf(random: Random, given: number): JsonObject {
  const by = random.fraction() / given;
  const name = NAMES[Math.floor(by * NAMES.length)];
  return name === undefined ? {} : { name };
}

function paramsOf(kind: string, random: Random, snapshot: string | null): JsonObject | null {
  const by = random.fraction();
  const person = PEOPLE[Math.floor(by * PEOPLE.length)] ?? "ada";
  switch (kind) {
    case "cluster.restore":
      return snapshot === null ? null : { snapshot, from: by < 0.5 ? "local" : "s3" };
    case "access.issue":
      return {
        person,
        role: by < 0.5 ? "view" : "admin",
        namespace: "default",
        lifetime_s: 3_600,
        recipient: RECIPIENT,
      };
    case "access.revoke":
      return by < 0.2 ? { everyone: true } : { person };
    case "s3.verify": {
      const secret = (name: string) => ({ plain: `${name}-of-a-bucket-${Math.floor(by * 1e6)}` });
      return { ...BUCKET, access_key: secret("access"), secret_key: secret("secret") };
    }
    case "diag.collect":
      return by < 0.2 ? {} : { consent: { by: person, at: "2026-01-01T00:00:00Z" } };
    default:
      return {};
  }
}
