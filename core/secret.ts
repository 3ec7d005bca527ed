/** What a secret prints as, wherever it is printed. */
const REDACTED = "[secret]";

/**
 * A value that must not reach a log, an error text, an event, a command line or an environment
 * (protocol §2). It prints as `[secret]` as a string, as JSON and under inspection; only
 * {@link Secret.reveal} gives the value, so that a search for `reveal(` finds every place of use.
 */
export class Secret<T = string> {
  readonly #value: T;

  constructor(value: T) {
    this.#value = value;
  }

  /** The value itself. Call it where the secret is used, never to pass it on. */
  reveal(): T {
    return this.#value;
  }

  toString(): string {
    return REDACTED;
  }

  toJSON(): string {
    return REDACTED;
  }

  [Symbol.for("Deno.customInspect")](): string {
    return REDACTED;
  }

  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return REDACTED;
  }
}
