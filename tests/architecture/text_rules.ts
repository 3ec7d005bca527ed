/** The longest that a TypeScript file may be. */
export const MOST_LINES = 400;

// Put together here, so that this file does not name what it looks for.
const host = (...labels: readonly string[]) => labels.join(".");
const REGISTRY_HOSTS: readonly string[] = [
  ...[host("registry", "npmjs", "org"), host("npmjs", "com"), host("jsr", "io")],
  ...[host("esm", "sh"), host("unpkg", "com")],
  ...[host("pypi", "org"), host("crates", "io"), host("proxy", "golang", "org")],
  ...[host("deb", "debian", "org"), host("repo", "maven", "apache", "org")],
];
const MACHINE_PATH = new RegExp(`(^|[\\s"'\`(=:])/(${["work", "home", "Users"].join("|")})/\\w`);

/**
 * What is wrong with a file whatever it says: a path of the machine it was written on (it works
 * nowhere else) or the host of a package registry (which one is used is the machine's business).
 */
export function foreignText(path: string, text: string): string[] {
  return text.split("\n").flatMap((line, index) => {
    const place = `${path}:${index + 1}`;
    const hosts = REGISTRY_HOSTS.filter((name) => line.includes(name));
    const named = hosts.map((name) => `${place} names the registry host ${name}`);
    return MACHINE_PATH.test(line) ? [...named, `${place} names a path of one machine`] : named;
  });
}

/** What is wrong with the shape of a source file: its length, its name or its folder's name. */
export function badShape(path: string, text: string): string[] {
  const found: string[] = [];
  const lines = text.split("\n").length - (text.endsWith("\n") ? 1 : 0);
  if (lines > MOST_LINES) found.push(`${path} has ${lines} lines: ${MOST_LINES} is the most`);
  const folders = path.split("/");
  const name = folders.pop() ?? "";
  if (!/^[a-z0-9_]+(\.d)?\.ts$/.test(name)) found.push(`${path} is not named in snake_case`);
  for (const folder of folders) {
    if (!/^[a-z0-9_]+$/.test(folder)) found.push(`${path}: ${folder} is not in snake_case`);
    if (["lib", "util", "utils", "helpers", "common", "misc"].includes(folder)) {
      found.push(`${path}: a folder called ${folder} says nothing about what is in it`);
    }
  }
  return found;
}
