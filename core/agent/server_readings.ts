/** How far apart two equal readings must be before they decide, milliseconds on the monotonic clock. */
export const APART_MS = 60_000;

/**
 * What the metadata service has said so far of the server that the agent runs on. `unknown`: nothing yet.
 * `same`: it is the server that the identity was made for. `doubt`: one reading differs, and the second one
 * has still to decide. `other`: two equal readings differ.
 */
export interface ServerReadings {
  readonly verdict: "unknown" | "same" | "doubt" | "other";
  /** The first of the readings that have to agree before the verdict changes. */
  readonly first: { readonly id: string; readonly at: number } | null;
}

/** Before the first reading. */
export const NO_READING: ServerReadings = { verdict: "unknown", first: null };

/**
 * The verdict after another reading. One wrong answer decides nothing: it takes two equal ones,
 * {@link APART_MS} apart, to say that this is another server, and two to take that back.
 *
 * @param id the server's ID as it was just read
 * @param at when it was read, monotonic milliseconds
 * @param madeFor the ID in the identity
 */
export function judgeReading(
  { verdict, first }: ServerReadings,
  id: string,
  at: number,
  madeFor: string,
): ServerReadings {
  if (verdict !== "other" && id === madeFor) return { verdict: "same", first: null };
  const waiting = verdict === "other" ? "other" : "doubt";
  if (first === null || first.id !== id) return { verdict: waiting, first: { id, at } };
  if (at - first.at < APART_MS) return { verdict: waiting, first };
  return id === madeFor ? { verdict: "same", first: null } : { verdict: "other", first };
}
