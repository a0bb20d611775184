import { ConfigurationError } from '../../codec/configuration-document.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import { describeFieldError, type FieldError } from '../../meta/field-error.ts';
import { isSignatureAlgorithm, signatureAlgorithms } from '../../pki/signature-algorithm.ts';
import type { JwtAuthenticator } from '../oidc/jwt-authenticator.ts';
import { compileJwtAuthenticator } from './compile-jwt-authenticator.ts';
import type { JwtAuthenticatorFields } from './document.ts';

/** The `--oidc-*` flags (spec section 5.5); flags that were not given are absent or empty. */
export interface OidcFlags {
  readonly issuerUrl?: string | undefined;
  readonly clientId?: string | undefined;
  readonly usernameClaim?: string | undefined;
  readonly usernamePrefix?: string | undefined;
  readonly groupsClaim?: string | undefined;
  readonly groupsPrefix?: string | undefined;
  readonly requiredClaims?: ReadonlyMap<string, string> | undefined;
  /** Content of the file given by `--oidc-ca-file`. */
  readonly certificateAuthority?: string | undefined;
  readonly signingAlgorithms?: readonly string[] | undefined;
}

interface OidcFlagOptions {
  readonly dialect: Pick<Dialect, 'domain'>;
  /** Issuers of service account tokens, which the provider may not use. */
  readonly disallowedIssuers: readonly string[];
}

/**
 * The authenticator that the flags define; undefined without a provider. Throws a ConfigurationError that names the
 * flags.
 */
export function authenticatorFromFlags(flags: OidcFlags, options: OidcFlagOptions): JwtAuthenticator | undefined {
  if (!flags.issuerUrl || !flags.clientId) return undefined;
  const { signingAlgorithms = [] } = flags;
  const wanted = signingAlgorithms.length === 0 ? ['RS256'] : signingAlgorithms;
  const unknown = wanted.filter((name) => !isSignatureAlgorithm(name));
  const { authenticator, errors } = compileJwtAuthenticator(fieldsOf(flags), '', {
    ...options,
    signingAlgorithms: wanted.filter(isSignatureAlgorithm),
  });
  const problems = [
    ...errors.map(describeFlagError),
    ...unknown.map((name) => `--oidc-signing-algs: unsupported signing alg ${JSON.stringify(name)}: ${supported}`),
  ];
  if (problems.length > 0) throw new ConfigurationError(problems);
  return authenticator;
}

const supported = `supported values: ${signatureAlgorithms.toSorted().join(', ')}`;

function fieldsOf(flags: OidcFlags): JwtAuthenticatorFields {
  const { issuerUrl = '', clientId = '', groupsClaim = '', groupsPrefix = '', certificateAuthority } = flags;
  const claim = flags.usernameClaim || 'sub';
  return {
    issuer: { url: issuerUrl, audiences: [clientId], ...(certificateAuthority && { certificateAuthority }) },
    claimValidationRules: Array.from(flags.requiredClaims ?? [], ([key, value]) => ({
      claim: key,
      requiredValue: value,
    })),
    claimMappings: {
      username: { claim, prefix: usernamePrefix(flags.usernamePrefix ?? '', claim, issuerUrl) },
      ...(groupsClaim !== '' && { groups: { claim: groupsClaim, prefix: groupsPrefix } }),
    },
  };
}

/**
 * Default prefix: the issuer, so that names of different providers do not collide; none for email addresses, which are
 * globally unique.
 */
function usernamePrefix(flag: string, claim: string, issuerUrl: string): string {
  if (flag === '-') return '';
  return flag === '' && claim !== 'email' ? `${issuerUrl}#` : flag;
}

/** Flag that sets a field; the first matching prefix wins. */
const flagsOfFields: readonly (readonly [prefix: string, flag: string])[] = [
  ['.issuer.url', '--oidc-issuer-url'],
  ['.issuer.audiences', '--oidc-client-id'],
  ['.issuer.certificateAuthority', '--oidc-ca-file'],
  ['.claimMappings.username', '--oidc-username-claim'],
  ['.claimMappings.groups', '--oidc-groups-claim'],
  ['.claimValidationRules', '--oidc-required-claim'],
];

function describeFlagError(error: FieldError): string {
  const flag = flagsOfFields.find(([prefix]) => error.field.startsWith(prefix))?.[1] ?? error.field;
  return `${flag}: ${describeFieldError(error)}`;
}

/** Flags that may exclude each other. */
interface GivenFlags {
  /** `--authentication-config` */
  readonly configFile?: string | undefined;
  /** Names of the `--oidc-*` flags that were given. */
  readonly oidcGiven: readonly string[];
  readonly oidc: Pick<OidcFlags, 'issuerUrl' | 'clientId'>;
}

/** Problems of flag combinations, as in kube-apiserver; one sentence each. */
export function flagProblems({ configFile, oidcGiven, oidc }: GivenFlags): readonly string[] {
  if (oidcGiven.length === 0) return [];
  if (configFile)
    return [`--authentication-config and the --oidc-* flags (${oidcGiven.join(', ')}) exclude each other`];
  if (oidc.issuerUrl && oidc.clientId) return [];
  return ['--oidc-issuer-url and --oidc-client-id must be given together when any --oidc-* flag is'];
}

/** Problems of `--anonymous-auth` with a configuration document that has the field `anonymous`. */
export function anonymousProblems(given: boolean, anonymous: object | undefined): readonly string[] {
  if (!given || anonymous === undefined) return [];
  return ['--anonymous-auth cannot be given when the file of --authentication-config has the field anonymous'];
}
