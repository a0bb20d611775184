import { isRecord } from '../schema/own-property.ts';
import type { StructSchema } from '../schema/schema.ts';
import { readConfiguration } from './configuration.ts';
import { objectShapeOf, type Shape } from './fields/shape.ts';
import { mergeValues } from './merge-values.ts';

type Fields = Readonly<Record<string, unknown>>;

type MergedConfiguration =
  /** Shares parts with both; the object itself if nothing changes. Must still be decoded and defaulted. */
  | { readonly type: 'merged'; readonly object: Fields }
  /** Why the configuration cannot be merged, in the words of kube-apiserver. */
  | { readonly type: 'invalid'; readonly problem: string };

/**
 * Merges a configuration into an object as an apply does, but as nobody: owners are neither asked nor changed, and nothing
 * is removed. Refuses atomic containers, since whoever means to add to one would replace it (KEP-3962).
 */
export function mergeConfiguration(schema: StructSchema, object: Fields, sent: Fields): MergedConfiguration {
  const shape = objectShapeOf(schema);
  const { value, unknown, problems } = readConfiguration(shape, sent);
  const lines = [
    ...problems.map(({ path, problem }) => `${path}: ${problem}`),
    ...unknown.map((path) => `.${path}: field not declared in schema`),
  ];
  if (lines.length > 0) {
    const text = lines.length === 1 ? lines[0] : `errors:\n${lines.map((line) => `  ${line}`).join('\n')}`;
    return { type: 'invalid', problem: `failed to convert patch object to typed object: ${text}` };
  }
  const atomic = atomicContainers(shape, value, '');
  if (atomic.length > 0) {
    const paths = atomic.join(', ');
    return {
      type: 'invalid',
      problem: `invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: ${paths}`,
    };
  }
  return { type: 'merged', object: mergeValues(shape, object, value) as Fields };
}

/** Paths of the atomic containers of a configuration, outermost ones only. */
function atomicContainers(shape: Shape, value: unknown, path: string): readonly string[] {
  switch (shape.type) {
    case 'leaf':
      return shape.atomic && (isRecord(value) || Array.isArray(value)) ? [path] : [];
    case 'deduced':
      return Array.isArray(value) ? [path] : [];
    case 'map':
      // Their values are not looked at in kube-apiserver either.
      return [];
    case 'struct':
      return Object.entries(isRecord(value) ? value : {}).flatMap(([name, part]) => {
        const field = shape.fields.get(name);
        return field ? atomicContainers(field.shape, part, `${path}.${name}`) : [];
      });
    case 'list':
      return (Array.isArray(value) ? value : []).flatMap((item, index) =>
        atomicContainers(shape.items, item, `${path}[${index}]`),
      );
  }
}
