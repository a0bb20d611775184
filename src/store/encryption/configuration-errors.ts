import { parseDuration } from '../../base/time/duration.ts';
import { type FieldError, invalid, invalidTexts, required } from '../../meta/field-error.ts';
import type { ConfigurationFields, KeyFields, KmsFields, ProviderFields } from './configuration-fields.ts';
import { everyResource, parseResource, type ResourcePattern, resourceText } from './resource-pattern.ts';

interface ValidationOptions {
  /** The group in which events are not stored. */
  readonly eventsGroup: string;
  readonly reload: boolean;
}

/** All errors of a configuration, in the order and with the texts of kube-apiserver. */
export function configurationErrors(
  { resources: rules = [] }: ConfigurationFields,
  { eventsGroup, reload }: ValidationOptions,
): readonly FieldError[] {
  if (rules.length === 0) return [required('resources', 'at least one resources is required')];
  const kmsNames = new Set<string>();
  return rules.flatMap(({ resources = [], providers = [] }, index) => {
    const [listed, provided] = [`resources[${index}].resources`, `resources[${index}].providers`];
    return [
      ...(resources.length === 0 ? [required(listed, `at least one ${listed} is required`)] : []),
      ...overlapErrors(resources, listed),
      ...resources.flatMap((name, at) => nameErrors(name, `${listed}[${at}]`, eventsGroup)),
      ...(providers.length === 0 ? [required(provided, `at least one ${provided} is required`)] : []),
      ...providers.flatMap((provider, at) => {
        const path = `${provided}[${at}]`;
        return [...choiceErrors(provider, path), ...providerErrors(provider, path, { kmsNames, reload })];
      }),
    ];
  });
}

function overlapErrors(resources: readonly string[], field: string): FieldError[] {
  const patterns = resources.map(parseResource);
  let [duplicate, overlap] = [false, false];
  for (const [at, one] of patterns.entries()) {
    for (const [other, two] of patterns.entries()) {
      if (at === other) continue;
      const sameGroup = one.group === two.group;
      const same = sameGroup && one.resource === two.resource;
      if (same && !duplicate) duplicate = true;
      else if (one.resource === everyResource.resource && one.group === everyResource.group) overlap = true;
      else if (sameGroup && (one.resource === '*' || two.resource === '*')) overlap = true;
    }
  }
  const problem = (why: string): FieldError => invalidTexts(field, resources, why);
  return [
    ...(duplicate ? [problem('the same resource cannot be specified multiple times')] : []),
    ...(overlap
      ? [
          problem(
            "using overlapping resources such as 'secrets' and '*.' in the same resource list is not allowed as they will be masked",
          ),
        ]
      : []),
  ];
}

/** What published servers keep in their store and serve under no path. */
const unserved: ReadonlySet<string> = new Set([
  'apiserveripinfo',
  'serviceipallocations',
  'servicenodeportallocations',
]);

function nameErrors(name: string, field: string, eventsGroup: string): FieldError[] {
  const problem = nameProblem(name, eventsGroup);
  return problem === undefined ? [] : [invalid(field, name, problem)];
}

function nameProblem(name: string, eventsGroup: string): string | undefined {
  if (name.toLowerCase() !== name) return 'resource name should not contain capital letters';
  if (name === '*') return "use '*.' to encrypt all the resources from core API group or *.* to encrypt all resources";
  if (unserved.has(name)) return 'resources which do not have REST API/s cannot be encrypted';
  const { resource, group } = parseResource(name);
  if (group === eventsGroup) {
    return `'*.${eventsGroup}' objects are stored using the 'events' API group in etcd. Use 'events' instead in the config file`;
  }
  if (group === 'extensions') return "'extensions' group has been removed and cannot be used for encryption";
  if (group === '*' && resource !== '*') return 'encrypting the same resource across groups is not supported';
  return undefined;
}

const providerNames = ['kms', 'aesgcm', 'aescbc', 'secretbox', 'identity'] as const;

/** The value is not shown: it holds keys. */
function choiceErrors(provider: ProviderFields, field: string): FieldError[] {
  const found = providerNames.filter((name) => provider[name] !== undefined).length;
  if (found === 1) return [];
  const why =
    found === 0
      ? 'provider does not contain any of the expected providers: KMS, AESGCM, AESCBC, Secretbox, Identity'
      : 'more than one provider specified in a single element, should split into different list elements';
  return [invalid(field, undefined, why)];
}

function providerErrors(
  { kms, aesgcm, aescbc, secretbox }: ProviderFields,
  path: string,
  known: KnownKms,
): readonly FieldError[] {
  if (kms) {
    const errors = kmsErrors(kms, `${path}.kms`, known);
    known.kmsNames.add(kms.name ?? '');
    return errors;
  }
  if (aesgcm) return keyErrors(aesgcm.keys, `${path}.aesgcm.keys`, [16, 24, 32]);
  if (aescbc) return keyErrors(aescbc.keys, `${path}.aescbc.keys`, [16, 24, 32]);
  if (secretbox) return keyErrors(secretbox.keys, `${path}.secretbox.keys`, [32]);
  return [];
}

function keyErrors(keys: readonly KeyFields[] = [], path: string, sizes: readonly number[]): readonly FieldError[] {
  if (keys.length === 0) return [required(path, 'at least one keys is required')];
  return keys.flatMap(({ name = '', secret = '' }, index) => [
    ...(name === '' ? [required(`${path}[${index}].name`, 'name is a mandatory field for a key')] : []),
    ...secretErrors(secret, `${path}[${index}].secret`, sizes),
  ]);
}

const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

function secretErrors(secret: string, field: string, sizes: readonly number[]): FieldError[] {
  if (secret === '') return [required(field, 'secret is a mandatory field for a key')];
  // Decoders of the published server pass over line breaks.
  const compact = secret.replace(/[\r\n]/g, '');
  if (!base64.test(compact)) return [invalid(field, 'REDACTED', 'secrets must be base64 encoded')];
  const { length } = Buffer.from(compact, 'base64');
  if (sizes.includes(length)) return [];
  const why = `secret is not of the expected length, got ${length}, expected one of [${sizes.join(' ')}]`;
  return [invalid(field, 'REDACTED', why)];
}

/** Names of the KMS providers so far. */
interface KnownKms {
  readonly kmsNames: Set<string>;
  readonly reload: boolean;
}

function kmsErrors(kms: KmsFields, path: string, { kmsNames, reload }: KnownKms): FieldError[] {
  const { name = '', endpoint = '', timeout, cachesize } = kms;
  const version = kms.apiVersion || 'v1';
  const errors: FieldError[] = [];
  if (name === '') errors.push(required(`${path}.name`, 'name is a mandatory field for a provider'));
  if (version !== 'v1' && name.includes(':')) {
    errors.push(invalid(`${path}.name`, name, `invalid KMS provider name ${name}, must not contain ':'`));
  }
  if ((reload || version !== 'v1') && kmsNames.has(name)) {
    errors.push(invalid(`${path}.name`, name, `duplicate KMS provider name ${name}, names must be unique`));
  }
  const timeoutMs = kmsTimeoutMs(timeout);
  if (timeoutMs === undefined) errors.push(invalid(`${path}.timeout`, timeout, 'must be a duration such as 3s'));
  else if (timeoutMs <= 0) {
    errors.push({ ...invalid(`${path}.timeout`, timeout, 'timeout should be a positive value'), shown: timeout ?? '' });
  }
  errors.push(...endpointErrors(endpoint, `${path}.endpoint`));
  if (version !== 'v1' && cachesize !== undefined) {
    errors.push(invalid(`${path}.cachesize`, cachesize, 'cachesize is not supported in v2'));
  }
  if (version === 'v1' && cachesize === 0) {
    errors.push(
      invalid(`${path}.cachesize`, cachesize, 'cachesize should be a positive value, or negative to disable'),
    );
  }
  if (version !== 'v1' && version !== 'v2') {
    const why = 'unsupported apiVersion apiVersion for KMS provider, only v1 and v2 are supported';
    errors.push(invalid(`${path}.apiVersion`, version, why));
  }
  return errors;
}

const defaultTimeoutMs = 3_000;

/** Undefined for a text that is no duration. Milliseconds. */
export const kmsTimeoutMs = (timeout: string | undefined): number | undefined =>
  timeout === undefined ? defaultTimeoutMs : parseDuration(timeout);

function endpointErrors(endpoint: string, field: string): FieldError[] {
  if (endpoint === '') return [invalid(field, '', 'endpoint is a mandatory field for a kms')];
  const malformed = urlProblem(endpoint);
  if (malformed !== undefined) {
    const why = `invalid endpoint for kms provider, error: parse ${JSON.stringify(endpoint)}: ${malformed}`;
    return [invalid(field, endpoint, why)];
  }
  const scheme = schemeOf(endpoint);
  if (scheme !== 'unix') {
    const why = `unsupported scheme ${JSON.stringify(scheme)} for KMS provider, only unix is supported`;
    return [invalid(field, endpoint, why)];
  }
  return socketOf(endpoint) === '' ? [invalid(field, endpoint, 'must name the path of a socket')] : [];
}

const schemeOf = (endpoint: string): string => /^([a-z][a-z0-9+.-]*):/i.exec(endpoint)?.[1]?.toLowerCase() ?? '';

/** The path of `unix:///path`; an abstract name, which the system has without a file, of `unix:///@name`. */
export const socketOf = (endpoint: string): string =>
  decodeURIComponent(/^unix:\/\/[^/]*(\/[^?#]+)/i.exec(endpoint)?.[1] ?? '').replace(/^\/@/, '@');

/** Why a URL cannot be parsed, in Go's words. */
function urlProblem(text: string): string | undefined {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  if (/[\u0000-\u001f\u007f]/.test(text)) return 'net/url: invalid control character in URL';
  if (text.startsWith(':')) return 'missing protocol scheme';
  const wrong = /%(?![0-9a-f]{2})/i.exec(text);
  return wrong ? `invalid URL escape ${JSON.stringify(text.slice(wrong.index, wrong.index + 3))}` : undefined;
}

/** The first resource that no value reaches, since an earlier rule covers it. Undefined if there is none. */
export function maskedResource(
  rules: readonly { readonly resources: readonly ResourcePattern[] }[],
): { readonly masked: string; readonly by: string } | undefined {
  const before = new Set<string>();
  for (const { resources } of rules) {
    for (const pattern of resources) {
      for (const wider of [{ ...pattern, resource: '*' }, everyResource].map(resourceText)) {
        if (before.has(wider)) return { masked: resourceText(pattern), by: wider };
      }
      before.add(resourceText(pattern));
    }
  }
  return undefined;
}
