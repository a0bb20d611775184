import { errorsOfEach, type FieldError, invalid, required } from '../../../../meta/field-error.ts';
import { isDnsSubdomain } from '../../../../meta/formats.ts';
import type { PodSpec } from '../pod-spec.ts';
import { failing } from './field-checks.ts';

/** Limits of common C library resolvers. */
const nameserversMax = 3;
const searchesMax = 32;
const searchCharactersMax = 2048;

/** The schema checks that nameservers are IP addresses. */
export function validateDns({ dnsPolicy, dnsConfig }: PodSpec, path: string): FieldError[] {
  const { nameservers = [], searches = [], options = [] } = dnsConfig ?? {};
  if (dnsPolicy === 'None') {
    if (!dnsConfig) return [required(path, 'must provide `dnsConfig` when `dnsPolicy` is None')];
    const rule = 'must provide at least one DNS nameserver when `dnsPolicy` is None';
    if (nameservers.length === 0) return [required(`${path}.nameservers`, rule)];
  }
  const errors: FieldError[] = [];
  if (nameservers.length > nameserversMax) {
    errors.push(invalid(`${path}.nameservers`, nameservers, `must not have more than ${nameserversMax} nameservers`));
  }
  if (searches.length > searchesMax) {
    errors.push(invalid(`${path}.searches`, searches, `must not have more than ${searchesMax} search paths`));
  }
  if (searches.join(' ').length > searchCharactersMax) {
    const rule = `must not have more than ${searchCharactersMax} characters (including spaces) in the search list`;
    errors.push(invalid(`${path}.searches`, searches, rule));
  }
  return [
    ...errors,
    ...errorsOfEach(searches, (search, index) =>
      failing(isDnsSubdomain, `${path}.searches[${index}]`, search.replace(/\.$/, '')),
    ),
    ...errorsOfEach(options, ({ name }, index) =>
      name ? [] : [required(`${path}.options[${index}]`, 'must not be empty')],
    ),
  ];
}
