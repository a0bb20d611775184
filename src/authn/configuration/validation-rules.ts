import type { CelProgram } from '../../cel/cel.ts';
import { duplicate, invalid, required } from '../../meta/field-error.ts';
import type { ClaimValidationRuleFields, UserValidationRuleFields } from './document.ts';
import type { ExpressionCompiler } from './expressions.ts';

/** An expression that must evaluate to true. */
export interface ExpressionRule {
  readonly program: CelProgram;
  /** Error message if it does not; may be empty. */
  readonly message: string;
}

export interface ClaimRules {
  /** Required claims and their values. */
  readonly required: ReadonlyMap<string, string>;
  readonly expressions: readonly ExpressionRule[];
}

/** Validates and compiles `claimValidationRules`. The result is usable only if `compiler.errors` stays empty. */
export function compileClaimRules(
  rules: readonly ClaimValidationRuleFields[],
  path: string,
  compiler: ExpressionCompiler,
): ClaimRules {
  const requiredClaims = new Map<string, string>();
  const sources = new Set<string>();
  const expressions = rules.flatMap((rule, index) => {
    const at = `${path}[${index}]`;
    const { claim = '', expression = '' } = rule;
    if (claim !== '' && expression !== '') {
      compiler.errors.push(invalid(at, claim, "claim and expression can't both be set"));
    } else if (claim !== '') requireClaim(rule, at, requiredClaims, compiler);
    else if (expression !== '') return compileClaimRule(rule, at, sources, compiler);
    else compiler.errors.push(required(at, 'claim or expression is required'));
    return [];
  });
  return { required: requiredClaims, expressions };
}

function requireClaim(
  { claim = '', requiredValue = '', message = '' }: ClaimValidationRuleFields,
  path: string,
  claims: Map<string, string>,
  { errors }: ExpressionCompiler,
): void {
  if (message !== '') errors.push(invalid(`${path}.message`, message, "message can't be set when claim is set"));
  if (claims.has(claim)) errors.push(duplicate(`${path}.claim`, claim));
  claims.set(claim, requiredValue);
}

function compileClaimRule(
  { expression = '', requiredValue = '', message = '' }: ClaimValidationRuleFields,
  path: string,
  sources: Set<string>,
  compiler: ExpressionCompiler,
): readonly ExpressionRule[] {
  if (requiredValue !== '') {
    const problem = "requiredValue can't be set when expression is set";
    compiler.errors.push(invalid(`${path}.requiredValue`, requiredValue, problem));
  }
  return compileRule({ source: expression, message, over: 'claims', field: `${path}.expression`, sources }, compiler);
}

/** Validates and compiles `userValidationRules`. The result is usable only if `compiler.errors` stays empty. */
export function compileUserRules(
  rules: readonly UserValidationRuleFields[],
  path: string,
  compiler: ExpressionCompiler,
): readonly ExpressionRule[] {
  const sources = new Set<string>();
  return rules.flatMap(({ expression = '', message = '' }, index) => {
    const field = `${path}[${index}].expression`;
    if (expression !== '') return compileRule({ source: expression, message, over: 'user', field, sources }, compiler);
    compiler.errors.push(required(field, 'expression is required'));
    return [];
  });
}

interface RuleSource {
  readonly source: string;
  readonly message: string;
  readonly over: 'claims' | 'user';
  readonly field: string;
  /** Expressions seen so far. */
  readonly sources: Set<string>;
}

function compileRule(rule: RuleSource, compiler: ExpressionCompiler): readonly ExpressionRule[] {
  const { source, message, over, field, sources } = rule;
  if (sources.has(source)) {
    compiler.errors.push(duplicate(field, source));
    return [];
  }
  sources.add(source);
  const program = compiler.compile(source, { over, returns: 'bool', field });
  return program === undefined ? [] : [{ program, message }];
}
