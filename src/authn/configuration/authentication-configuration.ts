import { limits } from '../../base/limits.ts';
import type { Cel } from '../../cel/cel.ts';
import { readConfiguration, requireNoErrors } from '../../codec/configuration-document.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import { duplicate, type FieldError, invalid, tooMany } from '../../meta/field-error.ts';
import { signatureAlgorithms } from '../../pki/signature-algorithm.ts';
import type { AnonymousConfiguration } from '../anonymous.ts';
import type { JwtAuthenticator } from '../oidc/jwt-authenticator.ts';
import { type CompiledAuthenticator, compileJwtAuthenticator } from './compile-jwt-authenticator.ts';
import { type AnonymousFields, authenticationConfiguration, type JwtAuthenticatorFields } from './document.ts';

/** The settings that an AuthenticationConfiguration defines. */
export interface AuthenticationSettings {
  /** May be empty, as in kube-apiserver: providers can be added while the server runs. */
  readonly authenticators: readonly JwtAuthenticator[];
  /** Absent if the document does not set it; `--anonymous-auth` then applies. */
  readonly anonymous: AnonymousConfiguration | undefined;
}

export interface ReadAuthenticationOptions {
  readonly dialect: Dialect;
  /** Issuers of service account tokens (`--service-account-issuer`), which no provider may use. */
  readonly disallowedIssuers: readonly string[];
  /** Called only if the document contains expressions. */
  readonly loadCel: () => Promise<Pick<Cel, 'compile'>>;
}

/**
 * Reads an AuthenticationConfiguration (spec section 5.5) in YAML or JSON, version `v1beta1` or `v1alpha1`, which have
 * the same fields. Like kube-apiserver, accepts all supported signature algorithms. Rejects with a ConfigurationError
 * that names every invalid field.
 */
export async function readAuthenticationConfiguration(
  bytes: Uint8Array,
  { dialect, disallowedIssuers, loadCel }: ReadAuthenticationOptions,
): Promise<AuthenticationSettings> {
  const group = dialect.group('apiserver.config');
  const { jwt = [], anonymous } = readConfiguration(bytes, {
    kind: 'AuthenticationConfiguration',
    apiVersions: ['v1beta1', 'v1alpha1'].map((version) => `${group}/${version}`),
    schema: authenticationConfiguration,
  });
  requireNoErrors(
    jwt.length > limits.jwtAuthenticatorsMax ? [tooMany('jwt', jwt.length, limits.jwtAuthenticatorsMax)] : [],
  );
  const cel = jwt.some(hasExpressions) ? await loadCel() : undefined;
  const options = { dialect, disallowedIssuers, cel, signingAlgorithms: signatureAlgorithms };
  const compiled = jwt.map((fields, index) => compileJwtAuthenticator(fields, `jwt[${index}]`, options));
  requireNoErrors([...checkTogether(compiled), ...checkAnonymous(anonymous)]);
  return {
    authenticators: compiled.map(({ authenticator }) => authenticator),
    anonymous: anonymous && anonymousOf(anonymous),
  };
}

function hasExpressions(fields: JwtAuthenticatorFields): boolean {
  const { claimMappings: { username, groups, uid, extra = [] } = {}, claimValidationRules = [] } = fields;
  const { userValidationRules = [] } = fields;
  const holders = [username, groups, uid, ...claimValidationRules, ...userValidationRules];
  return holders.some((holder) => Boolean(holder?.expression)) || extra.some(({ valueExpression }) => valueExpression);
}

/** The errors of each authenticator, and duplicates of URLs that must be unique. */
function checkTogether(compiled: readonly CompiledAuthenticator[]): readonly FieldError[] {
  const [urls, discoveryUrls] = [new Set<string>(), new Set<string>()];
  return compiled.flatMap(({ authenticator: { issuer }, errors }, index) => [
    ...errors,
    ...checkUnique(issuer.url, urls, `jwt[${index}].issuer.url`),
    ...checkUnique(issuer.discoveryURL ?? '', discoveryUrls, `jwt[${index}].issuer.discoveryURL`),
  ]);
}

function checkUnique(value: string, before: Set<string>, field: string): readonly FieldError[] {
  if (value === '') return [];
  if (before.has(value)) return [duplicate(field, value)];
  before.add(value);
  return [];
}

function checkAnonymous({ enabled, conditions = [] }: AnonymousFields = {}): readonly FieldError[] {
  if (enabled || conditions.length === 0) return [];
  return [invalid('anonymous.conditions', conditions, 'enabled should be set to true when conditions are defined')];
}

const anonymousOf = ({ enabled = false, conditions = [] }: AnonymousFields): AnonymousConfiguration => ({
  enabled,
  conditions: conditions.map(({ path = '' }) => ({ path })),
});
