import { limits } from '../../base/limits.ts';
import type { Cel } from '../../cel/cel.ts';
import { readConfiguration, requireNoErrors } from '../../codec/configuration-document.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import { duplicate, type FieldError, invalid, tooMany } from '../../meta/field-error.ts';
import { signatureAlgorithms } from '../../pki/signature-algorithm.ts';
import type { AnonymousConfiguration } from '../anonymous.ts';
import type { JwtAuthenticator } from '../oidc/jwt-authenticator.ts';
import { type AnonymousFields, authenticationConfiguration, type JwtAuthenticatorFields } from './document.ts';
import { type CompiledAuthenticator, compileJwtAuthenticator } from './jwt-authenticator.ts';

/** What an AuthenticationConfiguration comes to. */
export interface AuthenticationSettings {
  /** May be empty, as published: providers can be added while the server runs. */
  readonly authenticators: readonly JwtAuthenticator[];
  /** Absent where the document does not say: then `--anonymous-auth` does. */
  readonly anonymous: AnonymousConfiguration | undefined;
}

export interface ReadAuthenticationOptions {
  readonly dialect: Dialect;
  /** Issuers of service account tokens (`--service-account-issuer`), which no provider may pass for. */
  readonly disallowedIssuers: readonly string[];
  /** Called only where the document has expressions. */
  readonly loadCel: () => Promise<Pick<Cel, 'compile'>>;
}

/**
 * Reads an AuthenticationConfiguration (spec section 5.5), in YAML or JSON, of version `v1beta1` or `v1alpha1`, which have
 * the same fields. Tokens may be signed by any algorithm that is known, as published. Rejects with a ConfigurationError
 * that names each field which is wrong.
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

/** The errors of each, and where one has what must be its own from one before it. */
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
