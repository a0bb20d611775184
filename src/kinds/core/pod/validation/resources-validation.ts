import { errorsOfEach, type FieldError, forbidden, invalid, required } from '../../../../meta/field-error.ts';
import { isQualifiedName } from '../../../../meta/formats.ts';
import { compareQuantity, parseQuantity, type Quantity } from '../../../../meta/quantity.ts';
import type { ResourceRequirements } from '../container/container-resources.ts';
import { failing, notFound } from './field-checks.ts';

/** Context of the resource rules. */
export interface ResourceScope {
  /** Domain of native resource names: `orch.io`. */
  readonly domain: string;
  /** Names of the pod's resource claims. */
  readonly claims: ReadonlySet<string>;
}

const nanosPerUnit = 10n ** 9n;
const containerResources = new Set(['cpu', 'memory', 'ephemeral-storage']);
const isHugePages = (name: string): boolean => name.startsWith('hugepages-');

/** Native resources have no domain or the product's own. All others are extended resources and must be whole numbers. */
export const isNative = (name: string, domain: string): boolean => !name.includes('/') || name.includes(`${domain}/`);

/** A request may not exceed its limit; resources that cannot be overcommitted require a limit. */
export function validateResources(
  { limits = {}, requests = {}, claims = [] }: ResourceRequirements,
  path: string,
  scope: ResourceScope,
): FieldError[] {
  const errors = [
    ...validateAmounts(limits, `${path}.limits`, scope.domain),
    ...validateAmounts(requests, `${path}.requests`, scope.domain),
    ...errorsOfEach(Object.entries(requests), ([name, request]) =>
      validateRequest(name, request, limits[name], path, scope.domain),
    ),
  ];
  const names = [...Object.keys(limits), ...Object.keys(requests)];
  if (names.some(isHugePages) && !names.some((name) => name === 'cpu' || name === 'memory')) {
    errors.push(forbidden(path, 'HugePages require cpu or memory'));
  }
  return [...errors, ...validateClaims(claims, `${path}.claims`, scope.claims)];
}

/** Validates names and quantities of a resource list. */
export const validateAmounts = (
  amounts: Readonly<Record<string, string>>,
  path: string,
  domain: string,
): FieldError[] =>
  errorsOfEach(Object.entries(amounts), ([name, amount]) => [
    ...validateContainerResourceName(name, `${path}[${name}]`, domain),
    ...validateAmount(name, amount, `${path}[${name}]`, domain),
  ]);

export function validateContainerResourceName(name: string, field: string, domain: string): FieldError[] {
  const problems = failing(isQualifiedName, field, name);
  if (problems.length > 0) return problems;
  if (!name.includes('/')) {
    const standard = containerResources.has(name) || isHugePages(name);
    return standard ? [] : [invalid(field, name, 'must be a standard resource for containers')];
  }
  const reserved = !isNative(name, domain) && name.startsWith('requests.');
  return reserved ? [invalid(field, name, "doesn't follow extended resource name standard")] : [];
}

function validateAmount(name: string, amount: string, field: string, domain: string): FieldError[] {
  const quantity = parseQuantity(amount);
  if (!quantity) return [];
  if (quantity.nanos < 0n) return [invalid(field, amount, 'must be greater than or equal to 0')];
  const whole = isNative(name, domain) || quantity.nanos % nanosPerUnit === 0n;
  return whole ? [] : [invalid(field, amount, 'must be an integer')];
}

function validateRequest(
  name: string,
  request: string,
  limit: string | undefined,
  path: string,
  domain: string,
): FieldError[] {
  const shared = isNative(name, domain) && !isHugePages(name);
  if (limit === undefined) {
    return shared ? [] : [required(`${path}.limits`, 'Limit must be set for non overcommitable resources')];
  }
  const order = compareQuantity(quantityOf(request), quantityOf(limit));
  if (!shared && order !== 0) {
    return [invalid(`${path}.requests`, request, `must be equal to ${name} limit of ${limit}`)];
  }
  return order > 0
    ? [invalid(`${path}.requests`, request, `must be less than or equal to ${name} limit of ${limit}`)]
    : [];
}

const quantityOf = (text: string): Quantity => parseQuantity(text) ?? { nanos: 0n, family: 'decimal' };

function validateClaims(
  claims: NonNullable<ResourceRequirements['claims']>,
  path: string,
  known: ReadonlySet<string>,
): FieldError[] {
  return errorsOfEach(claims, ({ name = '' }, index) =>
    name === '' || known.has(name) ? [] : [notFound(`${path}[${index}].name`, name)],
  );
}
