/** A running time limit: `signal` aborts when it is over; `clear` ends it early and frees its timer. */
export interface Deadline {
  readonly signal: AbortSignal;
  clear(): void;
}

/** Time, as a port: the same code runs one agent in real time or a thousand in simulated time. */
export interface Clock {
  /** Wall clock, milliseconds since the Unix epoch. May jump when somebody sets the clock. */
  now(): number;
  /** Milliseconds since some fixed moment; never jumps and never goes back. For durations only. */
  monotonic(): number;
  /** Resolves after `ms` milliseconds, or as soon as `signal` aborts. Never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Starts a time limit of `ms` milliseconds. The caller clears it in a `finally`. */
  deadline(ms: number): Deadline;
}
