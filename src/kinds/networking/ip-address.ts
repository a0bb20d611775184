import type { Dialect } from '../../dialect/dialect.ts';
import type { ApiObject, ObjectMeta } from '../../meta/api-object.ts';
import { type FieldError, invalid, required } from '../../meta/field-error.ts';
import { isDnsSubdomain, isPathSegment } from '../../meta/formats.ts';
import { familyOf } from '../../meta/ip-address.ts';
import type { ResourceName } from '../../meta/status-error.ts';
import { equalValues } from '../../schema/equal-values.ts';
import { always, type Infer, opt, ptr, string, struct } from '../../schema/schema.ts';
import type { ShownClaim } from '../allocation.ts';
import { column, nameColumn, none } from '../columns.ts';
import { failing } from '../core/pod/validation/field-checks.ts';
import { defineKind } from '../define-kind.ts';
import type { Kind } from '../kind.ts';
import { kindSchema } from '../meta/kind-schema.ts';
import { typed } from '../typed.ts';

const parentReference = struct('api.networking.v1beta1.ParentReference', 'The object that an address belongs to.', {
  group: opt(1, string(), 'Group of the object; empty for the core group.'),
  resource: opt(2, string(), 'Resource of the object. Required.', { documented: 'required' }),
  namespace: opt(3, string(), 'Namespace of the object.'),
  name: opt(4, string(), 'Name of the object. Required.', { documented: 'required' }),
});

const spec = struct('api.networking.v1beta1.IPAddressSpec', 'Whose an address is.', {
  parentRef: ptr(1, parentReference, 'The object that the address belongs to. Required; cannot change.', { documented: 'required' }),
});

const schema = kindSchema('api.networking.v1beta1.IPAddress', 'An address that an object has. Its name is the address, in its canonical form.', {
  spec: always(2, spec, 'Whose the address is.'),
});

/** Feature gate by which addresses of services come from ServiceCIDRs and are IPAddresses (KEP-1880). */
export const multiCidrGate = 'MultiCIDRServiceAllocator';

export const ipAddresses = (dialect: Dialect): ResourceName => ({ group: dialect.group('networking'), resource: 'ipaddresses' });

/** The labels of an IPAddress that the servers look after. */
const addressLabels = (dialect: Dialect, address: string): Record<string, string> => ({
  [`ipaddress.${dialect.domain}/ip-family`]: familyOf(address),
  [`ipaddress.${dialect.domain}/managed-by`]: dialect.group('ipallocator'),
});

/** Whether the servers look after an IPAddress, as it says. */
export const isLookedAfter = (dialect: Dialect, { metadata }: Pick<ApiObject, 'metadata'>): boolean => metadata.labels?.[`ipaddress.${dialect.domain}/managed-by`] === dialect.group('ipallocator');

/** How the address of a service is shown. */
export function shownAddress(dialect: Dialect, address: string, { namespace = '', name = '' }: ObjectMeta): ShownClaim {
  const version = 'v1beta1';
  return {
    gate: multiCidrGate,
    ...ipAddresses(dialect),
    version,
    object: {
      apiVersion: `${dialect.group('networking')}/${version}`,
      kind: 'IPAddress',
      metadata: { name: address, labels: addressLabels(dialect, address) },
      spec: { parentRef: { resource: 'services', namespace, name } },
    },
  };
}

type Parent = Infer<typeof parentReference>;

/** Whose an address is. */
export const parentOf = (object: ApiObject): Parent | undefined => typed(schema, object).spec?.parentRef;

function validate(object: ApiObject): FieldError[] {
  const path = 'spec.parentRef';
  const parent = parentOf(object);
  if (!parent) return [required(path)];
  const { group = '', resource = '', namespace = '', name = '' } = parent;
  return [
    ...(group === '' ? [] : failing(isDnsSubdomain, `${path}.group`, group)),
    ...(resource === '' ? [required(`${path}.resource`)] : failing(isPathSegment, `${path}.resource`, resource)),
    ...(name === '' ? [required(`${path}.name`)] : failing(isPathSegment, `${path}.name`, name)),
    ...(namespace === '' ? [] : failing(isPathSegment, `${path}.namespace`, namespace)),
  ];
}

/** As Go writes it. */
const shown = ({ group = '', resource = '', namespace = '', name = '' }: Parent): string =>
  `networking.ParentReference{Group:${JSON.stringify(group)}, Resource:${JSON.stringify(resource)}, Namespace:${JSON.stringify(namespace)}, Name:${JSON.stringify(name)}}`;

function validateUpdate(object: ApiObject, old: ApiObject): FieldError[] {
  const parent = parentOf(object);
  const isChanged = !equalValues(parent, parentOf(old));
  const error = invalid('spec.parentRef', parent ?? 'null', 'field is immutable');
  return [...validate(object), ...(isChanged ? [parent ? { ...error, shown: shown(parent) } : error] : [])];
}

function parentCell(object: ApiObject): string {
  const parent = parentOf(object);
  if (!parent) return none;
  const { group = '', resource = '', namespace = '', name = '' } = parent;
  const kind = (group === '' ? resource : `${resource}.${group}`).toLowerCase();
  return [kind, ...(namespace === '' ? [] : [namespace]), name].join('/');
}

/** IPAddress (KEP-1880). Beta, and so off by default. */
export const ipAddress = (dialect: Dialect): Kind =>
  defineKind({
    group: dialect.group('networking'),
    version: 'v1beta1',
    kind: 'IPAddress',
    resource: 'ipaddresses',
    showsClaims: true,
    shortNames: ['ip'],
    scope: 'Cluster',
    schema,
    nameFormat: 'canonicalIp',
    offByDefault: true,
    columns: [nameColumn, column('ParentRef', 'The object that the address belongs to.', parentCell)],
    strategy: { validateCreate: validate, validateUpdate },
  });
