const ROOT = new URL("../../../", import.meta.url).pathname;

/** A source file's path inside the repository; a path that is relative already is kept. */
export function pathInRepository(filename: string): string {
  return filename.startsWith(ROOT) ? filename.slice(ROOT.length) : filename;
}

/** Whether the file belongs to the pure core. */
export function isCore(filename: string): boolean {
  return pathInRepository(filename).startsWith("core/");
}

/** Whether the file is part of the product: core, adapters or command line, but not a test. */
export function isProduct(filename: string): boolean {
  return /^(core|adapters|cli)\//.test(pathInRepository(filename));
}
