/** Thrown out of a fake at the moment where a test cuts the run: the agent is dead from here on. */
export class Cut extends Error {
  constructor(operation: string, path: string) {
    super(`the run was cut at ${operation} ${path}`);
    this.name = "Cut";
  }
}
