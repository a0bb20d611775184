import type { CelProgram } from '../../cel/cel.ts';
import { reservedDomains } from '../../dialect/reserved-domains.ts';
import { duplicate, type FieldError, invalid, required } from '../../meta/field-error.ts';
import { isDnsSubdomain } from '../../meta/formats.ts';
import type { ClaimMappingsFields, ExtraMappingFields, MappingFields, PrefixedMappingFields } from './document.ts';
import type { ExpressionCompiler } from './expressions.ts';

/** Source of a user attribute. */
export type Source =
  | { readonly type: 'claim'; readonly claim: string; readonly prefix: string }
  | { readonly type: 'expression'; readonly program: CelProgram };

export interface ClaimMappings {
  readonly username: Source;
  readonly groups: Source | undefined;
  readonly uid: Source | undefined;
  readonly extra: readonly { readonly key: string; readonly program: CelProgram }[];
}

const bothSet = "claim and expression can't both be set";

/** Validates and compiles `claimMappings`. The result is usable only if `compiler.errors` stays empty. */
export function compileClaimMappings(
  fields: ClaimMappingsFields,
  path: string,
  compiler: ExpressionCompiler,
): ClaimMappings {
  const username = compilePrefixed(fields.username ?? {}, `${path}.username`, compiler);
  if (isUnset(fields.username)) compiler.errors.push(required(`${path}.username`, 'claim or expression is required'));
  return {
    username: username ?? { type: 'claim', claim: '', prefix: '' },
    groups: compilePrefixed(fields.groups ?? {}, `${path}.groups`, compiler),
    uid: compileUid(fields.uid ?? {}, `${path}.uid`, compiler),
    extra: compileExtra(fields.extra ?? [], `${path}.extra`, compiler),
  };
}

const isUnset = ({ claim = '', expression = '' }: MappingFields = {}): boolean => claim === '' && expression === '';

function compilePrefixed(
  { claim = '', prefix, expression = '' }: PrefixedMappingFields,
  path: string,
  compiler: ExpressionCompiler,
): Source | undefined {
  const { errors } = compiler;
  if (claim !== '' && expression !== '') errors.push(invalid(path, '', bothSet));
  else if (expression !== '') {
    if (prefix !== undefined) {
      errors.push(invalid(`${path}.prefix`, prefix, "prefix can't be set when expression is set"));
    }
    return compileExpression(expression, `${path}.expression`, compiler);
  } else if (claim !== '') {
    if (prefix === undefined) errors.push(required(`${path}.prefix`, prefixRequired));
    return { type: 'claim', claim, prefix: prefix ?? '' };
  }
  return undefined;
}

const prefixRequired = 'prefix is required when claim is set. It can be set to an empty string to disable prefixing';

function compileExpression(source: string, field: string, compiler: ExpressionCompiler): Source | undefined {
  const program = compiler.compile(source, { over: 'claims', field });
  return program && { type: 'expression', program };
}

function compileUid(
  { claim = '', expression = '' }: MappingFields,
  path: string,
  compiler: ExpressionCompiler,
): Source | undefined {
  if (claim !== '' && expression !== '') compiler.errors.push(invalid(path, '', bothSet));
  else if (expression !== '') return compileExpression(expression, `${path}.expression`, compiler);
  else if (claim !== '') return { type: 'claim', claim, prefix: '' };
  return undefined;
}

function compileExtra(
  mappings: readonly ExtraMappingFields[],
  path: string,
  compiler: ExpressionCompiler,
): ClaimMappings['extra'] {
  const keys = new Set<string>();
  return mappings.flatMap(({ key = '', valueExpression = '' }, index) => {
    const at = `${path}[${index}]`;
    compiler.errors.push(...checkKey(key, `${at}.key`));
    if (keys.has(key)) {
      compiler.errors.push(duplicate(`${at}.key`, key));
      return [];
    }
    keys.add(key);
    const program = compileValue(valueExpression, `${at}.valueExpression`, compiler);
    return program === undefined ? [] : [{ key, program }];
  });
}

function compileValue(source: string, field: string, compiler: ExpressionCompiler): CelProgram | undefined {
  if (source !== '') return compiler.compile(source, { over: 'claims', field });
  compiler.errors.push(required(field, 'valueExpression is required'));
  return undefined;
}

const httpPath = /^[A-Za-z0-9/\-._~%!$&'()*+,;=:]+$/;

function checkKey(key: string, field: string): readonly FieldError[] {
  const errors = [...checkDomainPrefixed(key, field)];
  if (key !== key.toLowerCase()) errors.push(invalid(field, key, 'key must be lowercase'));
  const domain = key.includes('/') ? key.slice(0, key.indexOf('/')) : '';
  if (reservedDomains.some((reserved) => domain === reserved || domain.endsWith(`.${reserved}`))) {
    errors.push(invalid(field, key, `${reservedDomains.join(', ')} and their subdomains are reserved`));
  }
  return errors;
}

/** A domain, a slash and a path, as in `example.com/department`. */
function checkDomainPrefixed(key: string, field: string): readonly FieldError[] {
  if (key === '') return [required(field)];
  const slash = key.indexOf('/');
  const [domain, path] = [key.slice(0, slash), key.slice(slash + 1)];
  if (slash < 1 || path === '') {
    return [invalid(field, key, 'must be a domain-prefixed path (such as "acme.io/foo")')];
  }
  const errors = isDnsSubdomain(domain).map((problem) => invalid(field, domain, problem));
  return httpPath.test(path)
    ? errors
    : [
        ...errors,
        invalid(field, path, `Invalid path (regex used for validation is '${httpPath.source.slice(1, -1)}')`),
      ];
}
