import { jsonText } from '../../base/json-text.ts';
import type { ApiObject, ObjectMeta } from '../../meta/api-object.ts';
import { type FieldError, invalid } from '../../meta/field-error.ts';
import { getOwn, isRecord, setOwn } from '../../schema/own-property.ts';
import { always, type Infer, int32, opt, string, struct } from '../../schema/schema.ts';
import type { Kind, ScaleSubresource } from '../kind.ts';
import { kindSchema } from '../meta/kind-schema.ts';
import { type LabelSelector, labelSelectorText } from '../meta/label-selector.ts';
import { typed } from '../typed.ts';

const scaleSpec = struct('api.autoscaling.v1.ScaleSpec', 'What is wanted.', {
  replicas: opt(1, int32(), 'Wanted number of replicas.'),
});

const scaleStatus = struct('api.autoscaling.v1.ScaleStatus', 'What there is.', {
  replicas: always(1, int32(), 'Actual number of replicas.'),
  selector: opt(2, string(), 'Selects by label what is counted, as text.'),
});

const schema = kindSchema('api.autoscaling.v1.Scale', 'The number of replicas of an object, whatever its kind.', {
  spec: always(2, scaleSpec, 'What is wanted.'),
  status: always(3, scaleStatus, 'What there is.'),
});

/** The kind of the subresource `scale`, in every dialect. */
export const scale = { group: 'autoscaling', version: 'v1', kind: 'Scale', schema } as const;

/** A Scale, as decoded. */
const typedScale = (object: ApiObject): Infer<typeof schema> => typed(schema, object);

const replicasMax = 0x7fff_ffff;

/**
 * Wanted replicas of a Scale whose object has none, while a write is made: a patch of it can be told from one that leaves
 * them as they are.
 */
const noReplicas = -0x8000_0000;

/** The Scale of an object, without managed fields. Throws TypeError if a value has a wrong type. */
export function scaleOf(object: ApiObject, { specReplicas, statusReplicas, labelSelector, selectorForm }: ScaleSubresource): ApiObject {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  const selector = labelSelector && (selectorForm ? selectorText(object, labelSelector, selectorForm) : valueAt(object, labelSelector, 'string'));
  return {
    ...{ kind: scale.kind, apiVersion: `${scale.group}/${scale.version}` },
    metadata: present({ name, namespace, uid, resourceVersion, creationTimestamp }),
    spec: { replicas: valueAt(object, specReplicas, 'int64') ?? noReplicas },
    status: { replicas: valueAt(object, statusReplicas, 'int64') ?? 0, ...(selector && { selector }) },
  };
}

function selectorText(object: ApiObject, path: Path, form: 'labels' | 'labelSelector'): string {
  const value = path.reduce<unknown>((at, name) => (isRecord(at) ? getOwn(at, name) : undefined), object);
  if (!isRecord(value)) return '';
  return labelSelectorText(form === 'labels' ? { matchLabels: value as Record<string, string> } : (value as LabelSelector));
}

const present = (metadata: { readonly [F in keyof ObjectMeta]: ObjectMeta[F] | undefined }): ObjectMeta => Object.fromEntries(Object.entries(metadata).filter(([, value]) => value !== undefined));

/** The wanted replicas; undefined if the object has none. */
export function replicasOf(object: ApiObject): number | undefined {
  const replicas = typedScale(object).spec?.replicas ?? 0;
  return replicas === noReplicas ? undefined : replicas;
}

/** Sets the wanted replicas of an object, in place. */
export function setReplicas(object: ApiObject, { specReplicas }: ScaleSubresource, replicas: number): void {
  let target: Record<string, unknown> = object;
  for (const name of specReplicas.slice(0, -1)) {
    const found = getOwn(target, name);
    const next = isRecord(found) ? found : {};
    setOwn(target, name, next);
    target = next as Record<string, unknown>;
  }
  setOwn(target, specReplicas.at(-1) ?? '', replicas);
}

/** Errors of a Scale that a client wrote. */
export function validateScale(object: ApiObject): readonly FieldError[] {
  const replicas = replicasOf(object) ?? 0;
  return replicas < 0 ? [invalid('spec.replicas', replicas, 'must be greater than or equal to 0')] : [];
}

/** Errors of the values of which an object's Scale is made; of its status only if `subresource` is `status`. */
export function validateScaled({ subresources }: Kind, object: ApiObject, subresource: string): readonly FieldError[] {
  const found = subresources.find((each) => each.type === 'scale');
  if (!found || found.selectorForm) return [];
  const { specReplicas, statusReplicas, labelSelector } = found;
  return [...(subresource === 'status' ? [] : validateReplicas(object, specReplicas)), ...validateReplicas(object, statusReplicas), ...(labelSelector ? misread(object, labelSelector, 'string') : [])];
}

function validateReplicas(object: ApiObject, path: Path): readonly FieldError[] {
  const errors = misread(object, path, 'int64');
  if (errors.length > 0) return errors;
  const value = valueAt(object, path, 'int64') ?? 0;
  if (value < 0) return [invalid(textOf(path), value, 'should be a non-negative integer')];
  return value > replicasMax ? [invalid(textOf(path), value, `should be less than or equal to ${replicasMax}`)] : [];
}

type Path = readonly string[];

interface Scalars {
  readonly int64: number;
  readonly string: string;
}

function misread<T extends keyof Scalars>(object: ApiObject, path: Path, type: T): readonly FieldError[] {
  const read = readAt(object, path, type);
  return read.problem === undefined ? [] : [invalid(textOf(path), type === 'int64' ? 0 : '', read.problem)];
}

function valueAt<T extends keyof Scalars>(object: ApiObject, path: Path, type: T): Scalars[T] | undefined {
  const { value, problem } = readAt(object, path, type);
  if (problem !== undefined) throw new TypeError(problem);
  return value;
}

interface Read<T extends keyof Scalars> {
  readonly value?: Scalars[T];
  readonly problem?: string;
}

/** The value at a path. A null on the way is absent; what has another type is a problem. */
function readAt<T extends keyof Scalars>(object: ApiObject, path: Path, type: T): Read<T> {
  let value: unknown = object;
  for (const [depth, name] of path.entries()) {
    if (value === null) return {};
    if (!isRecord(value)) return { problem: mismatch(path.slice(0, depth + 1), value, 'map[string]interface{}') };
    value = getOwn(value, name);
    if (value === undefined) return {};
  }
  if (!isOf(value, type)) return { problem: mismatch(path, value, type) };
  return { value: value as Scalars[T] };
}

/** Integers beyond 2^53 are bigints; comparisons work for both. */
const isOf = (value: unknown, type: keyof Scalars): boolean => (type === 'string' ? typeof value === 'string' : Number.isInteger(value) || typeof value === 'bigint');

const mismatch = (path: Path, value: unknown, expected: string): string =>
  `${textOf(path)} accessor error: ${typeof value === 'string' ? value : jsonText(value)} is of the type ${typeName(value)}, expected ${expected}`;

/** Names of types in texts of kube-apiserver. */
function typeName(value: unknown): string {
  if (value === null) return '<nil>';
  if (Array.isArray(value)) return '[]interface {}';
  if (typeof value === 'object') return 'map[string]interface {}';
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'string') return 'string';
  return Number.isInteger(value) || typeof value === 'bigint' ? 'int64' : 'float64';
}

const textOf = (path: Path): string => `.${path.join('.')}`;
