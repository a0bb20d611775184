import type { Dialect } from '../../../dialect/dialect.ts';
import { workloadNames } from '../../../dialect/workload-names.ts';
import { asReplicaSet } from '../../../kinds/apps/replica-set.ts';
import type { PodTemplateSpec } from '../../../kinds/core/pod/pod-template-spec.ts';
import { type ApiObject, nameOf } from '../../../meta/api-object.ts';
import { equalValues } from '../../../schema/equal-values.ts';
import { isRecord } from '../../../schema/own-property.ts';
import type { Sized } from './rollout-arithmetic.ts';

/** A replica set by its numbers. */
export function sizeOf(object: ApiObject, dialect: Dialect): Sized {
  const { spec, status } = asReplicaSet(object);
  const { desiredReplicas, maxReplicas } = workloadNames(dialect);
  const { annotations = {}, creationTimestamp = '' } = object.metadata;
  return {
    name: nameOf(object),
    created: creationTimestamp,
    replicas: spec?.replicas ?? 0,
    available: status?.availableReplicas ?? 0,
    desired: countIn(annotations[desiredReplicas]),
    most: countIn(annotations[maxReplicas]),
  };
}

const countIn = (text: string | undefined): number | undefined => {
  const value = text !== undefined && /^\d{1,10}$/.test(text) ? Number(text) : undefined;
  return value !== undefined && value < 2 ** 31 ? value : undefined;
};

/** Equality of templates but for the label with their hash, and whether empty lists and objects are written. */
export const equalTemplates = (a: unknown, b: unknown, dialect: Dialect): boolean =>
  equalValues(comparable(a, dialect), comparable(b, dialect));

function comparable(template: unknown, dialect: Dialect): unknown {
  const { metadata = {}, ...rest } = (template ?? {}) as PodTemplateSpec;
  const { [workloadNames(dialect).podTemplateHash]: _, ...labels } = metadata.labels ?? {};
  return withoutEmpty({ ...rest, metadata: { ...metadata, labels } });
}

/** Lists, objects and nulls that say nothing are left out, in lists too: there they stay as they are. */
function withoutEmpty(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutEmpty);
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([name, each]) => [name, withoutEmpty(each)] as const)
      .filter(([, each]) => each !== undefined && each !== null && !isEmpty(each)),
  );
}

const isEmpty = (value: unknown): boolean =>
  Array.isArray(value) ? value.length === 0 : isRecord(value) && Object.keys(value).length === 0;
