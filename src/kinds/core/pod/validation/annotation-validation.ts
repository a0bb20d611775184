import type { Dialect } from '../../../../dialect/dialect.ts';
import { profileAnnotations } from '../../../../dialect/profile-annotations.ts';
import { workloadNames } from '../../../../dialect/workload-names.ts';
import { type FieldError, forbidden, invalid } from '../../../../meta/field-error.ts';
import { mirrorAnnotation } from '../mirror-pod.ts';
import type { PodSpec } from '../pod-spec.ts';
import { failing, isDescendingPath } from './field-checks.ts';

type Annotations = Readonly<Record<string, string>>;

/** Annotations of pods that mean something, of pods and of templates. `old`: of the pod before, whose wrong cost may stay. */
export function validatePodAnnotations(
  annotations: Annotations,
  spec: PodSpec,
  { path, dialect, old }: { readonly path: string; readonly dialect: Dialect; readonly old?: Annotations },
): FieldError[] {
  const { podDeletionCost } = workloadNames(dialect);
  const mirror = mirrorAnnotation(dialect);
  const isUnbound = annotations[mirror] !== undefined && !spec.nodeName;
  const [cost, oldCost] = [annotations[podDeletionCost], old?.[podDeletionCost]];
  const isWrong = cost !== undefined && !isCost(cost);
  const mayStay = oldCost !== undefined && !isCost(oldCost);
  return [
    ...(isUnbound ? [invalid(`${path}[${mirror}]`, annotations[mirror], unboundMirror)] : []),
    ...(isWrong && !mayStay ? [invalid(`${path}[${podDeletionCost}]`, cost, 'must be a 32bit integer')] : []),
    ...seccompErrors(annotations, path, dialect),
    ...appArmorErrors(annotations, spec, path, dialect),
  ];
}

const unboundMirror = 'must set spec.nodeName if mirror pod annotation is set';

/** No plus sign, and no zeros before other digits. */
const isCost = (text: string): boolean =>
  /^(?:-\d+|0|[1-9]\d*)$/.test(text) && Math.abs(Number(text) + 0.5) <= 2 ** 31 - 0.5;

const localPrefix = 'localhost/';

function seccompErrors(annotations: Annotations, path: string, dialect: Dialect): FieldError[] {
  const { seccompOfPod, seccompOf } = profileAnnotations(dialect);
  const ofContainer = seccompOf('');
  const isKnown = (profile: string) => ['runtime/default', 'docker/default', 'unconfined'].includes(profile);
  return Object.entries(annotations).flatMap(([key, profile]) => {
    if ((key !== seccompOfPod && !key.startsWith(ofContainer)) || isKnown(profile)) return [];
    // Published without brackets.
    const field = `${path}.${key}`;
    return profile.startsWith(localPrefix)
      ? failing(isDescendingPath, field, profile.slice(localPrefix.length))
      : [invalid(field, profile, 'must be a valid seccomp profile')];
  });
}

function appArmorErrors(annotations: Annotations, spec: PodSpec, path: string, dialect: Dialect): FieldError[] {
  const prefix = profileAnnotations(dialect).appArmorOf('');
  const { initContainers = [], containers = [], ephemeralContainers = [] } = spec;
  const names = new Set([...initContainers, ...containers, ...ephemeralContainers].map(({ name }) => name));
  return Object.entries(annotations).flatMap(([key, profile]) => {
    if (!key.startsWith(prefix)) return [];
    const [field, container] = [`${path}[${key}]`, key.slice(prefix.length)];
    const isKnown = ['', 'runtime/default', 'unconfined'].includes(profile) || profile.startsWith(localPrefix);
    return [
      ...(names.has(container) ? [] : [invalid(field, container, 'container not found')]),
      ...(isKnown ? [] : [invalid(field, profile, `invalid AppArmor profile name: ${JSON.stringify(profile)}`)]),
    ];
  });
}

/** The profiles of a pod in their former form never change. */
export function validateAppArmorChange(annotations: Annotations, old: Annotations, dialect: Dialect): FieldError[] {
  const prefix = profileAnnotations(dialect).appArmorOf('');
  const told = (keys: readonly string[], detail: string): FieldError[] =>
    keys.filter((key) => key.startsWith(prefix)).map((key) => forbidden(`metadata.annotations[${key}]`, detail));
  return [
    ...told(
      Object.keys(old).filter((key) => annotations[key] !== old[key]),
      'may not remove or update AppArmor annotations',
    ),
    ...told(
      Object.keys(annotations).filter((key) => !Object.hasOwn(old, key)),
      'may not add AppArmor annotations',
    ),
  ];
}
