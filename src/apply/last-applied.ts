import { limits } from '../base/limits.ts';
import { parseJson } from '../codec/json.ts';
import type { ObjectMeta } from '../meta/api-object.ts';
import { StatusError } from '../meta/status-error.ts';
import { isRecord } from '../schema/own-property.ts';
import { compareValues } from './compare-values.ts';
import { readConfiguration } from './configuration.ts';
import { difference, type FieldSet, noFields } from './field-set.ts';
import { fieldsOf } from './fields-of.ts';
import { publishedJson } from './published-json.ts';
import type { VersionedObject } from './versions.ts';

/**
 * How clients that merge by themselves remember what they applied: in an annotation of the object. When the same client
 * then applies through the server, fields that it wrote itself are no conflicts, and its annotation is kept up to date, so
 * that it can go back.
 */
export interface ClientSideApply {
  /** The name by which that client applies through the server; others are no concern of it. */
  readonly manager: string;
  readonly annotation: string;
}

/** The fields that the object still has as the annotation says they were applied. */
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

/** Undefined for what is no JSON: the annotation is the client's, and then says nothing. */
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
 * The object with the configuration in the annotation, where it has one. Where that makes the annotations too large, the
 * object goes without it.
 */
export function keepLastApplied(
  object: Readonly<Record<string, unknown>>,
  config: Readonly<Record<string, unknown>>,
  annotation: string,
): Readonly<Record<string, unknown>> {
  const { [annotation]: last, ...annotations } = annotationsOf(object) ?? {};
  if (!last) return object;
  const applied = `${publishedJson(withoutAnnotation(config, annotation))}\n`;
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
