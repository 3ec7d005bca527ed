/**
 * Work that is done one piece after the other, in the order in which it was asked for. A piece that fails
 * does not hold up the next; whoever asked for it gets the error.
 */
export type InTurn = <T>(work: () => Promise<T>) => Promise<T>;

/** Opens a queue of its own. */
export function openTurns(): InTurn {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const turn = last.then(work);
    last = turn.catch(() => undefined);
    return turn;
  };
}
