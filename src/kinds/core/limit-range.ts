import type { Dialect } from '../../dialect/dialect.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { duplicate, errorsOfEach, type FieldError, forbidden, invalid, required } from '../../meta/field-error.ts';
import { isQualifiedName } from '../../meta/formats.ts';
import { goQuantity } from '../../meta/go-values.ts';
import { compareQuantity, parseQuantity, type Quantity } from '../../meta/quantity.ts';
import { always, type Infer, list, map, opt, quantity, string, struct } from '../../schema/schema.ts';
import { defineKind } from '../define-kind.ts';
import type { Kind } from '../kind.ts';
import { kindSchema } from '../meta/kind-schema.ts';
import { typed } from '../typed.ts';
import { failing } from './pod/validation/field-checks.ts';
import { roundUpAmounts } from './resource-amounts.ts';
import { isNative, validateContainerResourceName, validateResourceName } from './resource-names.ts';

const limitRangeItem = struct('api.core.v1.LimitRangeItem', 'Limits of one type of thing.', {
  type: always(1, string(), 'What is limited: `Pod`, `Container`, `PersistentVolumeClaim`, or a type of others.'),
  max: opt(2, map(quantity()), 'Most of each resource.'),
  min: opt(3, map(quantity()), 'Least of each resource.'),
  default: opt(4, map(quantity()), 'Limit where none is given.'),
  defaultRequest: opt(5, map(quantity()), 'Request where none is given.'),
  maxLimitRequestRatio: opt(6, map(quantity()), 'How many times its request a limit may be.'),
});

const limitRangeSpec = struct('api.core.v1.LimitRangeSpec', 'The limits.', {
  limits: always(1, list(limitRangeItem), 'The limits, one entry for each type.', { documented: 'required' }),
});

const schema = kindSchema('api.core.v1.LimitRange', 'How much the pods, containers and claims of a namespace may ask for.', {
  spec: always(2, limitRangeSpec, 'The limits.'),
});

/** The limits of one type of thing. */
export type RangeLimit = Infer<typeof limitRangeItem>;

type Amounts = Readonly<Record<string, string>>;

/** The limits of a decoded LimitRange. */
export const limitsOf = (object: ApiObject): readonly RangeLimit[] => typed(schema, object).spec?.limits ?? [];

const types = ['Pod', 'Container', 'PersistentVolumeClaim'];
const lists = ['max', 'min', 'default', 'defaultRequest', 'maxLimitRequestRatio'] as const;

/** The default limit of containers is the maximum, the default request that limit, or else the minimum. */
function setDefaults(object: ApiObject): void {
  for (const item of limitsOf(object)) {
    for (const name of lists) roundUpAmounts(item[name]);
    if (item.type !== 'Container') continue;
    const limits = { ...item.max, ...item.default };
    const requests = { ...item.min, ...limits, ...item.defaultRequest };
    if (Object.keys(limits).length > 0) item.default = limits;
    if (Object.keys(requests).length > 0) item.defaultRequest = requests;
  }
}

function validate(object: ApiObject, domain: string): FieldError[] {
  const seen = new Set<string>();
  return errorsOfEach(limitsOf(object), (item, index) => {
    const { type = '' } = item;
    const at = `spec.limits[${index}]`;
    const isRepeated = seen.has(type);
    seen.add(type);
    return [...validateType(type, `${at}.type`), ...(isRepeated ? [duplicate(`${at}.type`, type)] : []), ...validateLists(item, at, domain), ...validateAmounts(item, at, domain)];
  });
}

function validateType(type: string, field: string): FieldError[] {
  const problems = failing(isQualifiedName, field, type);
  if (problems.length > 0 || type.includes('/') || types.includes(type)) return problems;
  return [invalid(field, type, 'must be a standard limit type or fully qualified')];
}

const forbiddenOfPods: readonly string[] = ['default', 'defaultRequest'];

/** Which resources there are limits of. */
function validateLists(item: RangeLimit, path: string, domain: string): FieldError[] {
  const isComputed = item.type === 'Pod' || item.type === 'Container';
  const errors = lists.flatMap((list) => {
    const names = Object.keys(item[list] ?? {});
    if (item.type === 'Pod' && forbiddenOfPods.includes(list)) return names.length > 0 ? [forbidden(`${path}.${list}`, "may not be specified when `type` is 'Pod'")] : [];
    return errorsOfEach(names, (name) => (isComputed ? validateContainerResourceName(name, `${path}.${list}[${name}]`, domain) : validateResourceName(name, `${path}.${list}[${name}]`)));
  });
  const isMissing = item.type === 'PersistentVolumeClaim' && item.min?.['storage'] === undefined && item.max?.['storage'] === undefined;
  return isMissing ? [...errors, required(`${path}.limits`, 'either minimum or maximum storage value is required, but neither was provided')] : errors;
}

/** How the amounts of each resource go together. */
function validateAmounts(item: RangeLimit, path: string, domain: string): FieldError[] {
  const names = new Set(lists.flatMap((list) => Object.keys(item[list] ?? {})));
  return errorsOfEach(names, (name) => [...validateOrder(item, name, path), ...validateRatio(item, name, path), ...validateDefaults(item, name, path, domain)]);
}

type List = Exclude<(typeof lists)[number], 'maxLimitRequestRatio'>;

/** Of each pair the first may not be greater than the second; an error is at a list, and shows an amount. */
const orders: readonly { readonly lesser: readonly [List, string]; readonly greater: readonly [List, string]; readonly at: List; readonly shows: List }[] = [
  { lesser: ['min', 'min'], greater: ['max', 'max'], at: 'min', shows: 'min' },
  { lesser: ['min', 'min'], greater: ['defaultRequest', 'default request'], at: 'defaultRequest', shows: 'defaultRequest' },
  { lesser: ['defaultRequest', 'default request'], greater: ['max', 'max'], at: 'defaultRequest', shows: 'defaultRequest' },
  { lesser: ['defaultRequest', 'default request'], greater: ['default', 'default limit'], at: 'defaultRequest', shows: 'defaultRequest' },
  { lesser: ['min', 'min'], greater: ['default', 'default'], at: 'default', shows: 'min' },
  { lesser: ['default', 'default'], greater: ['max', 'max'], at: 'default', shows: 'max' },
];

function validateOrder(item: RangeLimit, name: string, path: string): FieldError[] {
  return orders.flatMap(({ lesser: [less, lessTitle], greater: [more, moreTitle], at, shows }) => {
    // Pods have no defaults, which is an error of its own.
    if (item.type === 'Pod' && (less !== 'min' || more !== 'max')) return [];
    const [a, b] = [amountOf(item[less], name), amountOf(item[more], name)];
    if (!a || !b || compareQuantity(a, b) <= 0) return [];
    return [invalidAmount(`${path}.${at}[${name}]`, item[shows]?.[name], `${lessTitle} value ${item[less]?.[name]} is greater than ${moreTitle} value ${item[more]?.[name]}`)];
  });
}

function validateRatio({ maxLimitRequestRatio, min, max }: RangeLimit, name: string, path: string): FieldError[] {
  const ratio = amountOf(maxLimitRequestRatio, name);
  if (!ratio) return [];
  const [shown, field] = [maxLimitRequestRatio?.[name], `${path}.maxLimitRequestRatio[${name}]`];
  const errors = ratio.nanos < nanosPerUnit ? [invalidAmount(field, shown, `ratio ${shown} is less than 1`)] : [];
  const [least, most] = [amountOf(min, name), amountOf(max, name)];
  if (!least || !most) return errors;
  const possible = Number(most.nanos) / Number(least.nanos);
  return Number(ratio.nanos) / Number(nanosPerUnit) > possible ? [...errors, invalidAmount(field, shown, `ratio ${shown} is greater than max/min = ${possible.toFixed(6)}`)] : errors;
}

/** Of what cannot be overcommitted, the default limit is the default request. */
function validateDefaults(item: RangeLimit, name: string, path: string, domain: string): FieldError[] {
  const [limit, request] = [amountOf(item.default, name), amountOf(item.defaultRequest, name)];
  const isShared = isNative(name, domain) && !name.startsWith('hugepages-');
  if (item.type === 'Pod' || isShared || !limit || !request || compareQuantity(limit, request) === 0) return [];
  const [limitText, requestText] = [item.default?.[name], item.defaultRequest?.[name]];
  return [invalidAmount(`${path}.defaultRequest[${name}]`, requestText, `default value ${limitText} must equal to defaultRequest value ${requestText} in ${name}`)];
}

const invalidAmount = (field: string, amount = '0', detail: string): FieldError => ({ ...invalid(field, amount, detail), shown: goQuantity(amount) });

const nanosPerUnit = 10n ** 9n;

const amountOf = (amounts: Amounts | undefined, name: string): Quantity | undefined => (amounts && Object.hasOwn(amounts, name) ? parseQuantity(amounts[name] ?? '') : undefined);

export const limitRange = ({ domain }: Dialect): Kind =>
  defineKind({
    kind: 'LimitRange',
    shortNames: ['limits'],
    schema,
    strategy: {
      default: setDefaults,
      validateCreate: (object) => validate(object, domain),
      validateUpdate: (object) => validate(object, domain),
    },
    createOnUpdate: true,
    nameIfNone: 'uuid',
  });
