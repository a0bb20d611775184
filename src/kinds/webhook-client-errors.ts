import { X509Certificate } from 'node:crypto';
import { limits } from '../base/limits.ts';
import { type FieldError, invalid, required } from '../meta/field-error.ts';
import { isDnsSubdomain } from '../meta/formats.ts';
import { decodePem, PemLimitError } from '../pki/decode-pem.ts';

/** How to connect to a webhook, as in definitions and in webhook configurations. */
interface WebhookClient {
  readonly url?: string;
  readonly service?: WebhookService;
  /** Base64 of PEM blocks. */
  readonly caBundle?: string;
}

interface WebhookService {
  readonly namespace?: string;
  readonly name?: string;
  readonly path?: string;
  readonly port?: number;
}

/** Errors of `url` or `service`, of which there must be one. Texts are those of kube-apiserver 1.32. */
export function webhookClientErrors({ url, service }: WebhookClient, path: string): FieldError[] {
  if ((url === undefined) === (service === undefined)) {
    return [required(path, 'exactly one of url or service is required')];
  }
  if (url !== undefined) return urlErrors(url, `${path}.url`);
  return service ? serviceErrors(service, `${path}.service`) : [];
}

const form = '; desired format: https://host[/path]';

/** RFC 3986 appendix B, with the user information of the authority apart. */
const urlParts = /^(?:([^:/?#]+):)?(?:\/\/(?:([^/?#]*)@)?([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?$/s;

function urlErrors(url: string, path: string): FieldError[] {
  const problem = urlProblem(url);
  if (problem !== undefined)
    return [required(path, `url must be a valid URL: parse ${JSON.stringify(url)}: ${problem}${form}`)];
  const [, scheme = '', user, host = '', , query = '', fragment = ''] = urlParts.exec(url) ?? [];
  const errors: FieldError[] = [];
  const protocol = scheme.toLowerCase();
  if (protocol !== 'https') errors.push(invalid(path, protocol, `'https' is the only allowed URL scheme${form}`));
  if (host === '') errors.push(invalid(path, host, `host must be specified${form}`));
  // The value may be a password.
  if (user !== undefined)
    errors.push({ type: 'FieldValueInvalid', field: path, detail: 'user information is not permitted in the URL' });
  if (fragment !== '') errors.push(invalid(path, fragment, 'fragments are not permitted in the URL'));
  if (query !== '') errors.push(invalid(path, query, 'query parameters are not permitted in the URL'));
  return errors;
}

/** Why a text is no URL, in the words of Go. */
function urlProblem(url: string): string | undefined {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
  if (/[\0-\x1f\x7f]/.test(url)) return 'net/url: invalid control character in URL';
  if (url.startsWith(':')) return 'missing protocol scheme';
  const [, scheme, , host = '', rest = ''] = urlParts.exec(url) ?? [];
  if (scheme !== undefined && !/^[a-z][a-z0-9+.-]*$/i.test(scheme))
    return 'first path segment in URL cannot contain colon';
  const malformed = /%(?![0-9a-f]{2}).{0,2}/i.exec(host + rest)?.[0];
  if (malformed !== undefined) return `invalid URL escape ${JSON.stringify(malformed)}`;
  const wrong = /[\s"<>^`{|}\\]/.exec(host)?.[0];
  if (wrong !== undefined) return `invalid character ${JSON.stringify(wrong)} in host name`;
  const port = /^(?:\[[^\]]*\]|[^:]*)(:.*)?$/s.exec(host)?.[1];
  if (port !== undefined && !/^:\d*$/.test(port)) return `invalid port ${JSON.stringify(port)} after host`;
  return scheme === undefined || host === '' || URL.canParse(url) ? undefined : 'invalid URL';
}

function serviceErrors(
  { name = '', namespace = '', path: urlPath = '', port = 443 }: WebhookService,
  path: string,
): FieldError[] {
  const errors: FieldError[] = [];
  if (name === '') errors.push(required(`${path}.name`, 'service name is required'));
  if (namespace === '') errors.push(required(`${path}.namespace`, 'service namespace is required'));
  if (port < 1 || port > 65_535) {
    errors.push(invalid(`${path}.port`, port, 'port is not valid: must be between 1 and 65535, inclusive'));
  }
  return [...errors, ...urlPathErrors(urlPath, `${path}.path`)];
}

function urlPathErrors(urlPath: string, field: string): FieldError[] {
  if (urlPath === '' || urlPath === '/') return [];
  if (urlPath === '//') return [invalid(field, urlPath, 'segment[0] may not be empty')];
  const errors = urlPath.startsWith('/') ? [] : [invalid(field, urlPath, "must start with a '/'")];
  const segments = urlPath.slice(1).replace(/\/$/, '').split('/').slice(0, limits.findingsMax);
  for (const [index, segment] of segments.entries()) {
    if (segment === '') errors.push(invalid(field, urlPath, `segment[${index}] may not be empty`));
    else
      for (const problem of isDnsSubdomain(segment))
        errors.push(invalid(field, urlPath, `segment[${index}]: ${problem}`));
  }
  return errors;
}

/**
 * Why a client could not verify certificates by a `caBundle`; undefined if it has a certificate. As in Go, malformed ones
 * beside it are passed over. An empty one is valid: it means the authorities of the system.
 */
export function caBundleProblem(caBundle = ''): string | undefined {
  if (caBundle === '') return undefined;
  let faults = 0;
  let blocks = 0;
  try {
    for (const { label, hasHeaders, bytes } of decodePem(Buffer.from(caBundle, 'base64').toString('latin1'))) {
      blocks++;
      if (label !== 'CERTIFICATE' || hasHeaders) continue;
      if (isCertificate(bytes)) return undefined;
      if (++faults >= limits.caBundleFaultsMax) break;
    }
  } catch (error) {
    if (!(error instanceof PemLimitError)) throw error;
    return unreadable(error.message);
  }
  if (blocks === 0) return unreadable('unable to parse bytes as PEM block');
  return unreadable(faults === 0 ? 'no valid certificate authority data seen' : 'failed to parse certificate');
}

const unreadable = (why: string): string => `unable to load root certificates: ${why}`;

function isCertificate(der: Buffer): boolean {
  try {
    return new X509Certificate(der).raw.length > 0;
  } catch {
    // Not one.
    return false;
  }
}
