import { CelBudget } from '../../cel/budget.ts';
import type { CelProgram } from '../../cel/cel.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import type { UserInfo } from '../../request/user-info.ts';
import type { JwtFields } from '../jwt.ts';
import { credentialId } from '../service-account/account-user.ts';
import type { ClaimMappings, Source } from './claim-mappings.ts';
import { ClaimError, claimOf, hasClaim, textClaim, textsClaim, textsOf } from './claim-values.ts';
import type { ClaimRules, ExpressionRule } from './validation-rules.ts';

/** The compiled rules that turn claims into a user. */
export interface UserRules {
  readonly mappings: ClaimMappings;
  readonly claimRules: ClaimRules;
  readonly userRules: readonly ExpressionRule[];
  readonly dialect: Pick<Dialect, 'domain'>;
}

/**
 * Maps verified claims to a user (spec section 5.5). Throws a ClaimError that names the failed claim or rule and
 * contains no claim values. All expressions together are bounded by `limits.celBudget`.
 */
export function identify(claims: JwtFields, { mappings, claimRules, userRules, dialect }: UserRules): UserInfo {
  const evaluate = evaluatorOver({ claims });
  const user: UserInfo = {
    username: usernameOf(claims, mappings.username, evaluate),
    groups: groupsOf(claims, mappings.groups, evaluate),
    uid: mappings.uid === undefined ? '' : textFrom(claims, mappings.uid, 'uid', evaluate),
    extra: Object.fromEntries([...credentialExtra(claims, dialect), ...mappedExtra(mappings.extra, evaluate)]),
  };
  for (const [claim, value] of claimRules.required) requireClaim(claims, claim, value);
  for (const rule of claimRules.expressions) requireTrue(rule, 'claim validation', evaluate);
  for (const rule of userRules) requireTrue(rule, 'user validation', evaluate.over({ user }));
  return user;
}

/** Evaluates a program; `purpose` names it in errors. */
interface Evaluate {
  (program: CelProgram, purpose: string): unknown;
  /** An evaluator with other variables and the same budget. */
  over(variables: Readonly<Record<string, unknown>>): Evaluate;
}

function evaluatorOver(variables: Readonly<Record<string, unknown>>, budget = new CelBudget()): Evaluate {
  const evaluate = (program: CelProgram, purpose: string): unknown => {
    try {
      return program.evaluate(variables, budget);
    } catch (error) {
      const reason = error instanceof Error ? error.message : error;
      throw new ClaimError(`${purpose} expression '${program.source}' resulted in error: ${reason}`);
    }
  };
  return Object.assign(evaluate, { over: (others: typeof variables) => evaluatorOver(others, budget) });
}

function usernameOf(claims: JwtFields, source: Source, evaluate: Evaluate): string {
  const username = textFrom(claims, source, 'username', evaluate);
  // With a prefix, an empty name would give all such tokens the same user.
  if (username === '') throw new ClaimError('the username is empty');
  if (source.type === 'expression') return username;
  if (source.claim === 'email') requireVerifiedEmail(claims);
  return source.prefix + username;
}

function textFrom(claims: JwtFields, source: Source, purpose: string, evaluate: Evaluate): string {
  if (source.type === 'claim') return textClaim(claims, source.claim);
  const value = evaluate(source.program, purpose);
  if (typeof value !== 'string') throw new ClaimError(`${purpose} expression must return a string`);
  return value;
}

/** OpenID Connect Core section 5.1: if the provider states whether the address is verified, it must be. */
function requireVerifiedEmail(claims: JwtFields): void {
  if (hasClaim(claims, 'email_verified') && claimOf(claims, 'email_verified') !== true) {
    throw new ClaimError('email not verified');
  }
}

function groupsOf(claims: JwtFields, source: Source | undefined, evaluate: Evaluate): readonly string[] {
  if (source === undefined) return [];
  if (source.type === 'expression') return textsFrom(source.program, 'groups', evaluate);
  return textsClaim(claims, source.claim).map((group) => source.prefix + group);
}

function textsFrom(program: CelProgram, purpose: string, evaluate: Evaluate): readonly string[] {
  const value = evaluate(program, purpose);
  try {
    return textsOf(value);
  } catch {
    throw new ClaimError(`${purpose} expression must return a string or a list of strings`);
  }
}

type Extra = readonly (readonly [key: string, values: readonly string[]])[];

function credentialExtra(claims: JwtFields, { domain }: Pick<Dialect, 'domain'>): Extra {
  const tokenId = claimOf(claims, 'jti');
  if (typeof tokenId !== 'string' || tokenId === '') return [];
  return [[`authentication.${domain}/credential-id`, [credentialId(tokenId)]]];
}

const mappedExtra = (mappings: ClaimMappings['extra'], evaluate: Evaluate): Extra =>
  mappings
    .map(({ key, program }) => [key, textsFrom(program, `extra ${key}`, evaluate)] as const)
    .filter(([, values]) => values.length > 0);

function requireClaim(claims: JwtFields, claim: string, value: string): void {
  if (textClaim(claims, claim) !== value) {
    throw new ClaimError(`required claim ${JSON.stringify(claim)} does not have the value that it must have`);
  }
}

function requireTrue({ program, message }: ExpressionRule, purpose: string, evaluate: Evaluate): void {
  if (evaluate(program, purpose) === true) return;
  throw new ClaimError(`${purpose} expression '${program.source}' failed${message === '' ? '' : `: ${message}`}`);
}
