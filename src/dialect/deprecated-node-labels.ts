import type { Dialect } from './dialect.ts';

/** Deprecated node labels: since when, and the label that replaces them. Keys and values without the domain. */
const replacements: Readonly<Record<string, readonly [since: string, label: string]>> = {
  'beta./arch': ['1.14', '/arch'],
  'beta./os': ['1.14', '/os'],
  'failure-domain.beta./region': ['1.17', 'topology./region'],
  'failure-domain.beta./zone': ['1.17', 'topology./zone'],
  'beta./instance-type': ['1.17', 'node./instance-type'],
};

/** What a warning says of a label key; undefined unless it is deprecated. */
export function deprecatedNodeLabel({ domain }: Pick<Dialect, 'domain'>, key: string): string | undefined {
  const short = key.replace(`${domain}/`, '/');
  const found = short !== key && Object.hasOwn(replacements, short) ? replacements[short] : undefined;
  return found && `deprecated since v${found[0]}; use "${found[1].replace('/', `${domain}/`)}" instead`;
}
