import { isDeepStrictEqual } from 'node:util';
import { limits } from '../../../../base/limits.ts';
import type { Dialect } from '../../../../dialect/dialect.ts';
import type { ApiObject } from '../../../../meta/api-object.ts';
import { boundedCount, errorsOfEach, type FieldError, forbidden } from '../../../../meta/field-error.ts';
import { isMirrorPod } from '../mirror-pod.ts';
import { asPod } from '../pod-schema.ts';
import { validatePodSpec } from './pod-validation.ts';

/** Ephemeral containers may be added; existing ones must not change. Mirror pods may have none. */
export function validateEphemeralUpdate(object: ApiObject, old: ApiObject, dialect: Dialect): readonly FieldError[] {
  if (isMirrorPod(old, dialect)) {
    return [forbidden('', 'static pods do not support ephemeral containers')];
  }
  const containers = asPod(object).spec?.ephemeralContainers ?? [];
  const before = asPod(old).spec?.ephemeralContainers?.length;
  const counts = boundedCount('spec.ephemeralContainers', containers.length, limits.podContainersMax, before);
  if (counts.length > 0) return counts;
  const byName = new Map(containers.map((container) => [container.name, container]));
  return [
    ...validatePodSpec(object, dialect),
    ...errorsOfEach(asPod(old).spec?.ephemeralContainers ?? [], (last) => {
      const next = byName.get(last.name);
      const what = `existing ephemeral containers ${JSON.stringify(last.name)} may not be`;
      if (!next) return [forbidden('spec.ephemeralContainers', `${what} removed`)];
      return isDeepStrictEqual(next, last) ? [] : [forbidden('spec.ephemeralContainers', `${what} changed`)];
    }),
  ];
}
