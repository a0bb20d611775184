import { errorsOfEach, type FieldError, forbidden, invalid, required } from '../../../../meta/field-error.ts';
import {
  canonicalQuantity,
  compareQuantity,
  nanosPerUnit,
  parseQuantity,
  type Quantity,
} from '../../../../meta/quantity.ts';
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

const hugePages = 'hugepages-';
const isHugePages = (name: string): boolean => name.startsWith(hugePages);

/** Huge pages come as a whole. */
function validateHugePages(name: string, amount: string, field: string): FieldError[] {
  if (!isHugePages(name)) return [];
  const [size, total] = [parseQuantity(name.slice(hugePages.length)), parseQuantity(amount)];
  const isWhole =
    size !== undefined && size.nanos > 0n && size.nanos % nanosPerUnit === 0n && roundedUp(total) % size.nanos === 0n;
  const shown = canonicalQuantity(amount) ?? amount;
  const detail = `${shown} is not positive integer multiple of ${name}`;
  return isWhole ? [] : [{ ...invalid(field, shown, detail), mayStay: true }];
}

/** In nanos. */
function roundedUp({ nanos }: Pick<Quantity, 'nanos'> = { nanos: 0n }): bigint {
  const rest = nanos % nanosPerUnit;
  return rest > 0n ? nanos - rest + nanosPerUnit : nanos - rest;
}

/** A request may not exceed its limit; resources that cannot be overcommitted require a limit. */
export function validateResources(
  { limits = {}, requests = {}, claims = [] }: ResourceRequirements,
  path: string,
  scope: ResourceScope,
): FieldError[] {
  const errors = [
    ...errorsOfEach(Object.entries(limits), ([name, limit]) => [
      ...validateAmounts({ [name]: limit }, `${path}.limits`, scope.domain),
      ...validateHugePages(name, limit, `${path}.limits[${name}]`),
    ]),
    ...errorsOfEach(Object.entries(requests), ([name, request]) => [
      ...validateAmounts({ [name]: request }, `${path}.requests`, scope.domain),
      ...validateHugePages(name, request, `${path}.requests[${name}]`),
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
