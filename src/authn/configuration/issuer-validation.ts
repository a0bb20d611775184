import { duplicate, type FieldError, invalid, required } from '../../meta/field-error.ts';
import { certificatesFromPem } from '../../pki/pem.ts';
import type { IssuerFields } from './document.ts';

/** Validates `issuer` (spec section 5.5, and kube-apiserver's rules for its URLs). */
export function checkIssuer(fields: IssuerFields, path: string, forbidden: readonly string[]): readonly FieldError[] {
  return [
    ...checkUrl(fields.url, `${path}.url`, forbidden),
    ...checkDiscoveryUrl(fields, `${path}.discoveryURL`),
    ...checkAudiences(fields.audiences ?? [], `${path}.audiences`),
    ...checkPolicy(fields, `${path}.audienceMatchPolicy`),
    ...checkAuthorities(fields.certificateAuthority, `${path}.certificateAuthority`),
  ];
}

function checkUrl(url: string | undefined, field: string, forbidden: readonly string[]): readonly FieldError[] {
  if (url === undefined || url === '') return [required(field, 'URL is required')];
  const listed = forbidden.includes(url)
    ? [invalid(field, url, `URL must not overlap with disallowed issuers: [${forbidden.toSorted().join(' ')}]`)]
    : [];
  return [...listed, ...urlProblems(url).map((problem) => invalid(field, url, problem))];
}

function checkDiscoveryUrl({ url = '', discoveryURL = '' }: IssuerFields, field: string): readonly FieldError[] {
  if (discoveryURL === '') return [];
  const same = url !== '' && withoutSlashes(url) === withoutSlashes(discoveryURL);
  const problems = [...(same ? ['discoveryURL must be different from URL'] : []), ...urlProblems(discoveryURL)];
  return problems.map((problem) => invalid(field, discoveryURL, problem));
}

function withoutSlashes(url: string): string {
  let end = url.length;
  while (url[end - 1] === '/') end--;
  return url.slice(0, end);
}

/** RFC 3986 section 3. Checks the raw text, because URL parsers repair too much. */
function urlProblems(url: string): readonly string[] {
  const [, scheme = '', authority = '', query = '', fragment = ''] =
    /^(?:([a-zA-Z][a-zA-Z0-9+.-]*):)?(?:\/\/([^/?#]*))?[^?#]*(?:\?([^#]*))?(?:#(.*))?$/s.exec(url) ?? [];
  const problems = [
    scheme.toLowerCase() === 'https' ? '' : 'URL scheme must be https',
    authority.includes('@') ? 'URL must not contain a username or password' : '',
    query === '' ? '' : 'URL must not contain a query',
    fragment === '' ? '' : 'URL must not contain a fragment',
  ].filter((problem) => problem !== '');
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these must not stand in a URL
  const readable = authority !== '' && !/[\x00-\x20\x7f\\]/.test(url) && URL.canParse(url);
  return problems.length === 0 && !readable ? ['must be a URL with a host'] : problems;
}

function checkAudiences(audiences: readonly string[], field: string): readonly FieldError[] {
  if (audiences.length === 0) return [required(field, `at least one ${field} is required`)];
  return audiences.flatMap((audience, index) => {
    const at = `${field}[${index}]`;
    const empty = audience === '' ? [required(at, "audience can't be empty")] : [];
    return audiences.indexOf(audience) < index ? [...empty, duplicate(at, audience)] : empty;
  });
}

function checkPolicy({ audiences = [], audienceMatchPolicy = '' }: IssuerFields, field: string): readonly FieldError[] {
  if (audiences.length === 0 || audienceMatchPolicy === 'MatchAny') return [];
  if (audiences.length > 1) {
    return [invalid(field, audienceMatchPolicy, 'audienceMatchPolicy must be MatchAny for multiple audiences')];
  }
  if (audienceMatchPolicy === '') return [];
  return [invalid(field, audienceMatchPolicy, 'audienceMatchPolicy must be empty or MatchAny for single audience')];
}

function checkAuthorities(pem: string | undefined, field: string): readonly FieldError[] {
  if (pem === undefined || pem === '' || hasCertificates(pem)) return [];
  return [invalid(field, '<omitted>', 'data does not contain any valid RSA or ECDSA certificates')];
}

function hasCertificates(pem: string): boolean {
  try {
    return certificatesFromPem(pem).length > 0;
  } catch {
    // A block is not a certificate; the error is the same for any invalid text.
    return false;
  }
}
