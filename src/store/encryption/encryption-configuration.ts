import { ConfigurationError, readConfiguration, requireNoErrors } from '../../codec/configuration-document.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import { configurationErrors, kmsTimeoutMs, maskedResource, socketOf } from './configuration-errors.ts';
import { encryptionConfiguration, type KmsFields, type ProviderFields } from './configuration-fields.ts';
import { parseResource, type ResourcePattern } from './resource-pattern.ts';

/** Providers for some resources. The first one writes; the others read what was written with them. */
export interface EncryptionRule {
  readonly resources: readonly ResourcePattern[];
  readonly providers: readonly [ProviderSpec, ...ProviderSpec[]];
}

export type ProviderSpec =
  | { readonly type: 'identity' }
  | { readonly type: KeyedProvider; readonly keys: readonly KeySpec[] }
  | KmsSpec;

export type KeyedProvider = 'aescbc' | 'aesgcm' | 'secretbox';

interface KeySpec {
  readonly name: string;
  readonly secret: Uint8Array;
}

interface KmsSpec {
  readonly type: 'kms';
  readonly name: string;
  /** Path of the plugin's socket. */
  readonly socket: string;
  /** Of each call. Milliseconds. */
  readonly timeoutMs: number;
}

interface ReadEncryptionOptions {
  readonly dialect: Dialect;
  /** The file is reloaded when it changes. */
  readonly reload: boolean;
}

/**
 * Reads an EncryptionConfiguration, version `v1`, in YAML or JSON, also under the name that it had before 1.13. Throws a ConfigurationError that names every invalid
 * field, with the texts of kube-apiserver and without secrets.
 */
export function readEncryptionConfiguration(
  bytes: Uint8Array,
  { dialect, reload }: ReadEncryptionOptions,
): readonly EncryptionRule[] {
  if (bytes.length === 0) throw new ConfigurationError(['the file is empty']);
  const fields = readConfiguration(bytes, {
    kind: 'EncryptionConfiguration',
    former: { apiVersion: 'v1', kind: 'EncryptionConfig' },
    apiVersions: [`${dialect.group('apiserver.config')}/v1`],
    schema: encryptionConfiguration,
  });
  requireNoErrors(configurationErrors(fields, { eventsGroup: dialect.group('events'), reload }));
  const rules = (fields.resources ?? []).map(({ resources = [], providers = [] }) => {
    const [first, ...others] = providers.map(specOf);
    if (!first) throw new TypeError('validation lets no rule pass without providers');
    return { resources: resources.map(parseResource), providers: [first, ...others] } as const;
  });
  const hidden = maskedResource(rules);
  if (hidden) {
    const [masked, by] = [hidden.masked, hidden.by].map((text) => JSON.stringify(text));
    throw new ConfigurationError([`resource ${masked} is masked by earlier rule ${by}`]);
  }
  return rules;
}

/** What validated fields say. */
function specOf(fields: ProviderFields): ProviderSpec {
  if (fields.kms) return kmsSpecOf(fields.kms);
  for (const type of ['aesgcm', 'aescbc', 'secretbox'] as const) {
    const held = fields[type]?.keys;
    if (!held) continue;
    const decoded = held.map(({ name = '', secret = '' }) => ({ name, secret: Buffer.from(secret, 'base64') }));
    return { type, keys: decoded };
  }
  return { type: 'identity' };
}

function kmsSpecOf({ apiVersion, name = '', endpoint = '', timeout }: KmsFields): KmsSpec {
  if (apiVersion !== 'v2') {
    const why = 'KMSv1 is deprecated and will only receive security updates going forward. Use KMSv2 instead.';
    throw new ConfigurationError([`${why} This server has no KMSv1, whatever the feature gate KMSv1 says.`]);
  }
  return { type: 'kms', name, socket: socketOf(endpoint), timeoutMs: kmsTimeoutMs(timeout) ?? 0 };
}
