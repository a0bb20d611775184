import { limits } from '../base/limits.ts';
import { parseJson } from '../codec/json.ts';
import type { ObjectMeta } from '../meta/api-object.ts';
import { StatusError } from '../meta/status-error.ts';
import { isRecord } from '../schema/own-property.ts';
import { canonicalJson } from './canonical-json.ts';
import { compareValues } from './compare-values.ts';
import { readConfiguration } from './configuration.ts';
import { difference, type FieldSet, noFields } from './fields/field-set.ts';
import { fieldsOf } from './fields/fields-of.ts';
import type { VersionedObject } from './versions.ts';

/**
 * Client-side apply (kubectl): the client records the applied configuration in an annotation. When the same client then
 * uses server-side apply, fields it wrote itself do not conflict, and its annotation is kept up to date, so that it can
 * go back.
 */
export interface ClientSideApply {
  /** The field manager of that client in server-side apply; other managers are not affected. */
  readonly manager: string;
  readonly annotation: string;
}

/** The fields whose values are still those in the annotation. */
export function lastAppliedFields({ shape, value, apiVersion }: VersionedObject, annotation: string): FieldSet {
  const text = annotationsOf(value)?.[annotation];
  const applied = text ? parse(text) : undefined;
  if (!isRecord(applied) || applied['apiVersion'] !== apiVersion) return noFields;
  const config = readConfiguration(shape, applied);
  if (config.problems.length > 0) return noFields;
  const fields = fieldsOf(shape, config.value);
  const changes = compareValues(shape, config.value, value);
  if (!changes) return fields;
  return difference(difference(difference(fields, changes.modified), changes.added), changes.removed);
}

/** Undefined if invalid: clients control the annotation, so it is ignored then. */
function parse(text: string): unknown {
  try {
    return parseJson(Buffer.from(text)).value;
  } catch (error) {
    if (error instanceof StatusError) return undefined;
    throw error;
  }
}

const annotationsOf = (object: Readonly<Record<string, unknown>>): ObjectMeta['annotations'] =>
  (object['metadata'] as ObjectMeta | undefined)?.annotations;

/**
 * Updates the annotation with the configuration, if the object has one. Removes it if the annotations would become too
 * large.
 */
export function keepLastApplied(
  object: Readonly<Record<string, unknown>>,
  config: Readonly<Record<string, unknown>>,
  annotation: string,
): Readonly<Record<string, unknown>> {
  const { [annotation]: last, ...annotations } = annotationsOf(object) ?? {};
  if (!last) return object;
  const applied = `${canonicalJson(withoutAnnotation(config, annotation))}\n`;
  const updated = { ...annotations, [annotation]: applied };
  if (last === applied) return object;
  const metadata = object['metadata'] as ObjectMeta;
  return {
    ...object,
    metadata: { ...metadata, annotations: sizeOf(updated) > limits.annotationBytesMax ? annotations : updated },
  };
}

function withoutAnnotation(config: Readonly<Record<string, unknown>>, annotation: string): unknown {
  const { metadata } = config;
  if (!isRecord(metadata) || !isRecord(metadata['annotations'])) return config;
  const { [annotation]: _, ...annotations } = metadata['annotations'];
  return { ...config, metadata: { ...metadata, annotations } };
}

const sizeOf = (annotations: Readonly<Record<string, string>>): number =>
  Object.entries(annotations).reduce(
    (size, [name, value]) => size + Buffer.byteLength(name) + Buffer.byteLength(value),
    0,
  );
