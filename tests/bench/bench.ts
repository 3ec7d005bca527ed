/** One measured thing. */
export interface BenchRow {
  /** What was measured, in words: "memory when idle after 1,000 syncs". */
  readonly what: string;
  readonly value: number;
  /** The unit of `value` and `baseline`: "ms", "MB". */
  readonly unit: string;
  /** The same of the minimal program that it is compared with, where there is one. */
  readonly baseline?: number;
  /** The same of the agent from its sources, where what was measured is compiled. */
  readonly uncompiled?: number;
  /** Both are differences about zero, whose ratio says nothing. */
  readonly isDifference?: true;
}

/** A table of one benchmark. */
export interface Bench {
  readonly name: string;
  readonly rows: readonly BenchRow[];
}

/** What a file `tests/bench/NAME_bench.ts` exports as `bench`. */
export type BenchFunction = () => Promise<readonly Bench[]>;
