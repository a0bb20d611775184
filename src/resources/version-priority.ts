interface ParsedVersion {
  readonly major: number;
  /** 2 is general availability, 1 beta, 0 alpha. */
  readonly stability: 0 | 1 | 2;
  /** The number after `alpha` or `beta`. */
  readonly minor: number;
}

/**
 * Kubernetes version priority, highest first: versions of the form `v1`, `v1beta2`, `v1alpha1` by stability (GA, beta,
 * alpha), then by number; after them all other names, alphabetically.
 */
export function compareVersions(a: string, b: string): number {
  const [first, second] = [parse(a), parse(b)];
  if (!first || !second) return first ? -1 : second ? 1 : a < b ? -1 : a > b ? 1 : 0;
  return second.stability - first.stability || second.major - first.major || second.minor - first.minor;
}

function parse(version: string): ParsedVersion | undefined {
  const [, major, stage, minor] = /^v([1-9]\d*)(?:(alpha|beta)([1-9]\d*))?$/.exec(version) ?? [];
  if (major === undefined) return undefined;
  return {
    major: Number(major),
    stability: stage === undefined ? 2 : stage === 'beta' ? 1 : 0,
    minor: Number(minor ?? 0),
  };
}
