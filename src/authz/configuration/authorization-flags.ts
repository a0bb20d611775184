import { limits } from '../../base/limits.ts';
import { type AuthorizerSpec, type AuthorizerType, authorizerTypes } from './authorizer-spec.ts';

/** Flag values from the command line; undefined if not set. */
export interface AuthorizationFlags {
  /** `--authorization-config` */
  readonly config: string | undefined;
  /** `--authorization-mode` */
  readonly modes: readonly string[] | undefined;
  /** `--authorization-policy-file` */
  readonly policyFile: string | undefined;
  /** `--authorization-webhook-config-file` */
  readonly webhookConfigFile: string | undefined;
  /** `--authorization-webhook-version` */
  readonly webhookVersion: string | undefined;
  /** `--authorization-webhook-cache-authorized-ttl` in milliseconds; 0 disables the cache. */
  readonly webhookAuthorizedTtlMs: number | undefined;
  /** `--authorization-webhook-cache-unauthorized-ttl` in milliseconds; 0 disables the cache. */
  readonly webhookUnauthorizedTtlMs: number | undefined;
}

/** Source of the authorizer chain. */
type AuthorizationSource =
  /** A file that is reloaded when it changes. */
  | { readonly type: 'file'; readonly file: string; readonly policyFile: string | undefined }
  | { readonly type: 'flags'; readonly specs: readonly AuthorizerSpec[]; readonly policyFile: string | undefined };

/** Defaults of the webhook flags (spec section 5.7). */
const webhookFlagDefaults = {
  version: 'v1beta1',
  authorizedTtlMs: 5 * 60_000,
  unauthorizedTtlMs: 30_000,
} as const;

/**
 * The chain configured by command-line flags (spec section 5.7). `defaultModes` apply if neither modes nor a file are set.
 * Throws a one-line Error that names the flag. Reads no files.
 */
export function authorizationFromFlags(
  flags: AuthorizationFlags,
  defaultModes: readonly AuthorizerType[],
): AuthorizationSource {
  const { config, policyFile } = flags;
  if (config !== undefined) {
    const other = chainFlags.find(([, name]) => flags[name] !== undefined);
    if (other) throw new Error(`--authorization-config and ${other[0]} exclude each other`);
    return { type: 'file', file: config, policyFile };
  }
  const types = (flags.modes ?? defaultModes).map(typeOf);
  const repeated = types.find((type, index) => types.indexOf(type) < index);
  if (types.length === 0) throw new Error('--authorization-mode: at least one mode is needed');
  if (repeated !== undefined) throw new Error(`--authorization-mode: ${repeated} stands there more than once`);
  requireTogether(types, 'ABAC', '--authorization-policy-file', policyFile);
  requireTogether(types, 'Webhook', '--authorization-webhook-config-file', flags.webhookConfigFile);
  return { type: 'flags', specs: types.map((type) => specOf(type, flags)), policyFile };
}

/** Flags that conflict with a configuration file. The policy file is used with either. */
const chainFlags: readonly (readonly [flag: string, name: keyof AuthorizationFlags])[] = [
  ['--authorization-mode', 'modes'],
  ['--authorization-webhook-config-file', 'webhookConfigFile'],
  ['--authorization-webhook-version', 'webhookVersion'],
  ['--authorization-webhook-cache-authorized-ttl', 'webhookAuthorizedTtlMs'],
  ['--authorization-webhook-cache-unauthorized-ttl', 'webhookUnauthorizedTtlMs'],
];

function typeOf(mode: string): AuthorizerType {
  const type = authorizerTypes.find((each) => each === mode);
  if (type === undefined) {
    throw new Error(`--authorization-mode: ${JSON.stringify(mode)} is not one of ${authorizerTypes.join(', ')}`);
  }
  return type;
}

/** Checks that a mode and the file flag it requires are set together. */
function requireTogether(
  types: readonly AuthorizerType[],
  mode: AuthorizerType,
  flag: string,
  file: string | undefined,
): void {
  const used = types.includes(mode);
  if (used && file === undefined) throw new Error(`--authorization-mode: ${mode} needs ${flag}`);
  if (!used && file !== undefined) throw new Error(`${flag} needs the mode ${mode} in --authorization-mode`);
}

function specOf(type: AuthorizerType, flags: AuthorizationFlags): AuthorizerSpec {
  if (type !== 'Webhook') return { type, name: type.toLowerCase() };
  const { webhookConfigFile = '', webhookVersion: version = webhookFlagDefaults.version } = flags;
  if (version !== 'v1' && version !== 'v1beta1') {
    throw new Error(`--authorization-webhook-version: ${JSON.stringify(version)} is not one of v1, v1beta1`);
  }
  return {
    type,
    // kube-apiserver's name for it; the flags configure at most one webhook.
    name: 'default',
    connection: { type: 'file', file: webhookConfigFile },
    version,
    timeoutMs: limits.authorizationWebhookMsMax,
    authorizedTtlMs: flags.webhookAuthorizedTtlMs ?? webhookFlagDefaults.authorizedTtlMs,
    unauthorizedTtlMs: flags.webhookUnauthorizedTtlMs ?? webhookFlagDefaults.unauthorizedTtlMs,
    failurePolicy: 'NoOpinion',
  };
}
