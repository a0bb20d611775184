import type { Cel } from '../../cel/cel.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import { type FieldError, invalid } from '../../meta/field-error.ts';
import type { SignatureAlgorithm } from '../../pki/signature-algorithm.ts';
import type { JwtAuthenticator } from '../oidc/jwt-authenticator.ts';
import { compileClaimMappings } from './claim-mappings.ts';
import type { IssuerFields, JwtAuthenticatorFields } from './document.ts';
import { ExpressionCompiler } from './expressions.ts';
import { identify, type UserRules } from './identify.ts';
import { checkIssuer } from './issuer-validation.ts';
import { compileClaimRules, compileUserRules } from './validation-rules.ts';

interface CompileOptions {
  readonly dialect: Pick<Dialect, 'domain'>;
  readonly signingAlgorithms: readonly SignatureAlgorithm[];
  /** Issuers of service account tokens, which no provider may use. */
  readonly disallowedIssuers: readonly string[];
  /** Absent if there are no expressions. */
  readonly cel?: Pick<Cel, 'compile'> | undefined;
}

export interface CompiledAuthenticator {
  /** Usable only if `errors` is empty. */
  readonly authenticator: JwtAuthenticator;
  readonly errors: readonly FieldError[];
}

/** Validates a single authenticator and compiles its mapping from claims to users. */
export function compileJwtAuthenticator(
  fields: JwtAuthenticatorFields,
  path: string,
  { dialect, signingAlgorithms, disallowedIssuers, cel }: CompileOptions,
): CompiledAuthenticator {
  const compiler = new ExpressionCompiler(cel);
  compiler.errors.push(...checkIssuer(fields.issuer ?? {}, `${path}.issuer`, disallowedIssuers));
  const rules: UserRules = {
    claimRules: compileClaimRules(fields.claimValidationRules ?? [], `${path}.claimValidationRules`, compiler),
    mappings: compileClaimMappings(fields.claimMappings ?? {}, `${path}.claimMappings`, compiler),
    userRules: compileUserRules(fields.userValidationRules ?? [], `${path}.userValidationRules`, compiler),
    dialect,
  };
  const { groups } = rules.mappings;
  return {
    errors: [...compiler.errors, ...checkEmail(rules, `${path}.claimMappings.username.expression`)],
    authenticator: {
      issuer: issuerOf(fields.issuer ?? {}),
      signingAlgorithms,
      groupsClaim: groups?.type === 'claim' ? groups.claim : undefined,
      identify: (claims) => identify(claims, rules),
    },
  };
}

const issuerOf = ({ url = '', discoveryURL, certificateAuthority, audiences = [] }: IssuerFields) => ({
  url,
  discoveryURL,
  certificateAuthority,
  audiences,
});

/** A username from the email claim requires a check of email_verified (spec section 5.5). */
function checkEmail({ mappings, claimRules }: UserRules, field: string): readonly FieldError[] {
  const { username, extra } = mappings;
  if (username.type !== 'expression' || !username.program.selects('claims', 'email')) return [];
  const looking = [username, ...extra, ...claimRules.expressions];
  if (looking.some(({ program }) => program.selects('claims', 'email_verified'))) return [];
  return [invalid(field, username.program.source, unverified)];
}

const unverified =
  'claims.email_verified must be used in claimMappings.username.expression or claimMappings.extra[*].valueExpression or claimValidationRules[*].expression when claims.email is used in claimMappings.username.expression';
