import { deprecatedNodeLabel } from '../../dialect/deprecated-node-labels.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { type FieldError, invalid } from '../../meta/field-error.ts';
import { isDnsSubdomain } from '../../meta/formats.ts';
import { parseQuantity } from '../../meta/quantity.ts';
import { always, ptr, quantity, string } from '../../schema/schema.ts';
import { failing } from '../core/pod/validation/field-checks.ts';
import { defineKind } from '../define-kind.ts';
import type { Kind } from '../kind.ts';
import { kindSchema } from '../meta/kind-schema.ts';
import { labelSelector } from '../meta/label-selector.ts';
import { typed } from '../typed.ts';

const schema = kindSchema('api.storage.v1.CSIStorageCapacity', 'How much storage of a class there is in a part of the cluster, as its driver says.', {
  nodeTopology: ptr(2, labelSelector, 'Nodes that can use the storage; none where it is left out, all where it is empty.', { immutable: 'always' }),
  storageClassName: always(3, string(), 'Name of the storage class.', { immutable: 'always' }),
  capacity: ptr(4, quantity(), 'How much there is; unknown where it is left out.'),
  maximumVolumeSize: ptr(5, quantity(), 'How large a volume can be.'),
});

function validate(object: ApiObject): FieldError[] {
  const { storageClassName = '', capacity } = typed(schema, object);
  const isNegative = capacity !== undefined && (parseQuantity(capacity)?.nanos ?? 0n) < 0n;
  return [...failing(isDnsSubdomain, 'storageClassName', storageClassName), ...(isNegative ? [invalid('capacity', capacity, 'must be greater than or equal to 0')] : [])];
}

function warnings(object: ApiObject, dialect: Dialect): string[] {
  const { matchExpressions = [], matchLabels = {} } = typed(schema, object).nodeTopology ?? {};
  const textOf = (key: string, before: string): string[] => {
    const text = deprecatedNodeLabel(dialect, key);
    return text === undefined ? [] : [`${before}${text}`];
  };
  return [
    ...matchExpressions.flatMap(({ key = '' }, index) => textOf(key, `nodeTopology.matchExpressions[${index}].key: ${key} is `)),
    ...Object.keys(matchLabels)
      .sort()
      .flatMap((key) => textOf(key, `nodeTopology.matchLabels.${key}: `)),
  ];
}

export const csiStorageCapacity = (dialect: Dialect): Kind =>
  defineKind({
    group: dialect.group('storage'),
    kind: 'CSIStorageCapacity',
    resource: 'csistoragecapacities',
    schema,
    strategy: { validateCreate: validate, validateUpdate: validate, warnings: (object) => warnings(object, dialect) },
    unconditionalUpdate: false,
  });
