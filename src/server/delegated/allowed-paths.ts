/** Paths that everybody may see, whoever asks. */
export interface AllowedPaths {
  readonly exact: ReadonlySet<string>;
  readonly prefixes: readonly string[];
}

/** Reads a list of paths; a `*` at the end allows all that begin so. A leading slash is optional, as published. */
export function readAllowedPaths(items: readonly string[]): AllowedPaths {
  const exact = new Set<string>();
  const prefixes: string[] = [];
  for (const item of items) {
    const path = item.startsWith('/') ? item : `/${item}`;
    if (path.slice(0, -1).includes('*')) throw new Error(`${JSON.stringify(item)} has a * before its end`);
    if (path.endsWith('*')) prefixes.push(path.slice(0, -1));
    else exact.add(path);
  }
  return { exact, prefixes };
}
