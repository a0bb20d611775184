import { errorsOfEach, type FieldError, forbidden, invalid, required } from '../../../../meta/field-error.ts';
import { compareQuantity, parseQuantity, type Quantity } from '../../../../meta/quantity.ts';
import { isNative, validateContainerResourceName, validateResourceAmount } from '../../resource-names.ts';
import type { ResourceRequirements } from '../container/container-resources.ts';
import { notFound } from './field-checks.ts';

/** Context of the resource rules. */
export interface ResourceScope {
  /** Domain of native resource names: `orch.io`. */
  readonly domain: string;
  /** Names of the pod's resource claims. */
  readonly claims: ReadonlySet<string>;
}

const isHugePages = (name: string): boolean => name.startsWith('hugepages-');

/** A request may not exceed its limit; resources that cannot be overcommitted require a limit. */
export function validateResources(
  { limits = {}, requests = {}, claims = [] }: ResourceRequirements,
  path: string,
  scope: ResourceScope,
): FieldError[] {
  const errors = [
    ...validateAmounts(limits, `${path}.limits`, scope.domain),
    ...errorsOfEach(Object.entries(requests), ([name, request]) => [
      ...validateAmounts({ [name]: request }, `${path}.requests`, scope.domain),
      ...validateRequest(name, request, limits[name], path, scope.domain),
    ]),
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
    ...validateResourceAmount(name, amount, `${path}[${name}]`, domain),
  ]);

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
