/** The one of several portals, or of their admin APIs, that the agent of a number has to do with. */
export function inTurn<T>(several: readonly T[], index: number): T {
  const one = several[index % several.length];
  if (one === undefined) throw new Error("a fleet needs at least one portal");
  return one;
}
