/** One row of the matrix: a machine of its own, from its boot to the verdict. */
export interface Row {
  readonly name: string;
  /** Throws where the row fails. */
  play(): Promise<void>;
}

/**
 * Plays rows so many at a time, in their order, and gives each one's end. Most of a row is waiting, for a
 * boot, a trial or a timer, so several machines side by side take hardly longer than one.
 */
export function playInLanes(rows: readonly Row[], lanes: number): (row: Row) => Promise<void> {
  const ends = new Map(rows.map((row) => [row, Promise.withResolvers<void>()]));
  // Whoever asks hears of a failure; it must not end the process before.
  for (const { promise } of ends.values()) promise.catch(() => {});
  const waiting = [...rows];

  async function lane(): Promise<void> {
    for (let row = waiting.shift(); row !== undefined; row = waiting.shift()) {
      await row.play().then(ends.get(row)?.resolve, ends.get(row)?.reject);
    }
  }
  for (let started = 0; started < lanes; started++) void lane();

  return async (row) => {
    const end = ends.get(row);
    if (end === undefined) throw new Error(`${row.name} is not played`);
    await end.promise;
  };
}
