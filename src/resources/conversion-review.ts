import { limits } from '../base/limits.ts';
import { parseJson, parseStored } from '../codec/json.ts';
import { encodeVersioned, metadataOf } from '../codec/object-bytes.ts';
import type { Dialect } from '../dialect/dialect.ts';
import type { Kind } from '../kinds/kind.ts';
import { validateAnnotations, validateLabels } from '../kinds/meta/metadata-validation.ts';
import { canonical } from '../kinds/stored-as.ts';
import type { ApiObject, ObjectMeta } from '../meta/api-object.ts';
import { describeFieldError } from '../meta/field-error.ts';
import { getOwn, isRecord, setOwn } from '../schema/own-property.ts';

/**
 * ConversionReview, the question that a conversion webhook is asked and its answer. Rules and texts are those of
 * kube-apiserver.
 */

/** Versions of ConversionReview that are spoken. */
const knownVersions = ['v1', 'v1beta1'] as const;
type ReviewVersion = (typeof knownVersions)[number];

/** The first known one of the versions that a webhook understands. */
export const reviewVersionOf = (understood: readonly string[]): ReviewVersion | undefined =>
  understood.map((each) => knownVersions.find((known) => known === each)).find((each) => each !== undefined);

/** A question about some objects of one kind. */
export interface ConversionQuestion {
  readonly version: ReviewVersion;
  readonly dialect: Dialect;
  readonly uid: string;
  /** As they are stored: `kind`, `apiVersion` and `metadata` first. */
  readonly objects: readonly Buffer[];
  /** In which version they are wanted. */
  readonly apiVersion: string;
}

/** Which part of a conversion failed, as metrics name it. */
export type ConversionFailure = 'call' | 'malformed_response' | 'partial_response' | 'invalid_converted_object';

/** An answer that cannot be used. */
export class ConversionError extends Error {
  readonly failure: ConversionFailure;

  constructor(failure: ConversionFailure, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'ConversionError';
    this.failure = failure;
  }
}

const reviewGroup = (dialect: Dialect): string => dialect.group('apiextensions');

/** The body of the request. The objects are sent as they are. */
export function encodeQuestion({ version, dialect, uid, objects, apiVersion }: ConversionQuestion): Buffer {
  const [review, request] = [
    `${reviewGroup(dialect)}/${version}`,
    JSON.stringify({ uid, desiredAPIVersion: apiVersion }),
  ];
  const head = `{"kind":"ConversionReview","apiVersion":${JSON.stringify(review)},"request":${request.slice(0, -1)},"objects":[`;
  const parts: Buffer[] = [Buffer.from(head)];
  for (const [index, object] of objects.entries()) {
    if (index > 0) parts.push(comma);
    parts.push(object);
  }
  parts.push(tail);
  return Buffer.concat(parts);
}

const comma = Buffer.from(',');
const tail = Buffer.from(']}}');

/** What the first fields of a stored object say that it is. */
export function headOf(object: Buffer): Pick<ApiObject, 'kind' | 'apiVersion'> {
  const head = object.subarray(0, object.indexOf(metadataMarker)).toString();
  return JSON.parse(`${head}}`) as Pick<ApiObject, 'kind' | 'apiVersion'>;
}

const metadataMarker = Buffer.from(',"metadata":{');

/** `apps.example.com/v1, Kind=App`. */
export const describeKind = ({ kind, apiVersion }: Pick<ApiObject, 'kind' | 'apiVersion'>): string =>
  `${apiVersion}, Kind=${kind}`;

/** The converted objects of an answer, not yet looked at. Throws a ConversionError with the published text. */
function readAnswer(body: Buffer, question: ConversionQuestion): readonly unknown[] {
  const kind = describeKind(headOf(question.objects[0] as Buffer));
  const malformed = (why: string): ConversionError =>
    new ConversionError('malformed_response', `conversion webhook for ${kind} failed: ${why}`);
  const review = parseAnswer(body, kind);
  refuseOtherKind(review, body, question, malformed);
  const response = getOwn(review, 'response');
  if (!isRecord(response)) throw malformed('no response provided');
  const uid = getOwn(response, 'uid');
  if (question.version === 'v1' && uid !== question.uid) {
    throw malformed(`expected response.uid=${JSON.stringify(question.uid)}, got ${JSON.stringify(uid ?? '')}`);
  }
  const result = getOwn(response, 'result');
  const { status = '', message = '' } = isRecord(result) ? result : {};
  if (status !== 'Success') {
    if (typeof message === 'string' && message !== '') throw malformed(shortened(message));
    throw malformed(`response.result.status was '${shortened(String(status))}', not 'Success'`);
  }
  const converted = getOwn(response, 'convertedObjects') ?? [];
  if (!Array.isArray(converted)) throw malformed('response.convertedObjects is not a list');
  const expected = question.objects.length;
  if (converted.length !== expected) {
    const why = `conversion webhook for ${kind} returned ${converted.length} objects, expected ${expected}`;
    throw new ConversionError('partial_response', why);
  }
  return converted;
}

/** Objects that could be written can be converted, although they lie deeper in an answer. */
const answerBounds = { depthMax: limits.depthMax + 3, elementsMax: limits.conversionElementsMax };

function parseAnswer(body: Buffer, kind: string): Readonly<Record<string, unknown>> {
  const unreadable = (why: string, cause?: unknown): ConversionError =>
    new ConversionError('call', `conversion webhook for ${kind} failed: ${why}`, { cause });
  try {
    const { value } = parseJson(body, answerBounds);
    if (isRecord(value)) return value;
  } catch (error) {
    throw unreadable(`couldn't get version/kind; json parse error: ${(error as Error).message}`, error);
  }
  throw unreadable(`couldn't get version/kind; json parse error: the answer is no object`);
}

function refuseOtherKind(
  review: Readonly<Record<string, unknown>>,
  body: Buffer,
  { version, dialect }: ConversionQuestion,
  malformed: (why: string) => ConversionError,
): void {
  const [kind, apiVersion] = [getOwn(review, 'kind') ?? '', getOwn(review, 'apiVersion') ?? ''];
  const wanted = `${reviewGroup(dialect)}/${version}`;
  if (kind === '') throw malformed(`Object 'Kind' is missing in '${shortened(body.toString())}'`);
  // The kind of an answer in v1beta1 has never been looked at.
  if (version === 'v1beta1' || (kind === 'ConversionReview' && apiVersion === wanted)) return;
  const got = describeKind({ kind: String(kind), apiVersion: String(apiVersion) });
  const expected = describeKind({ kind: 'ConversionReview', apiVersion: wanted });
  throw malformed(`expected webhook response of ${expected}, got ${shortened(got)}`);
}

/** Texts of others are bounded: they are shown to clients. */
const shortened = (text: string): string =>
  text.length > limits.webhookErrorLengthMax ? `${text.slice(0, limits.webhookErrorLengthMax)}...` : text;

/**
 * A converted object with its metadata restored: a webhook can change labels and annotations only. Throws a ConversionError
 * for another object than the one that was sent.
 */
function checkConverted(converted: unknown, index: number, { objects, apiVersion }: ConversionQuestion): ApiObject {
  const original = objects[index] as Buffer;
  const head = headOf(original);
  const one = objects.length === 1;
  const about = `conversion webhook for ${describeKind(head)} returned invalid`;
  const refuse = (what: string, why: string): ConversionError =>
    new ConversionError('invalid_converted_object', `${about} ${what}: ${why}`);
  const objectText = one ? 'object' : `converted object at index ${index}`;
  if (!isRecord(converted) || typeof getOwn(converted, 'kind') !== 'string' || getOwn(converted, 'kind') === '') {
    throw refuse(
      objectText,
      `Object 'Kind' is missing in '${shortened(JSON.stringify(converted, plainBigints) ?? '')}'`,
    );
  }
  const at = one ? 'object at index 0' : objectText;
  const received = getOwn(converted, 'apiVersion') ?? '';
  if (received !== apiVersion) {
    throw refuse(at, `invalid groupVersion (expected ${apiVersion}, received ${shortened(String(received))})`);
  }
  if (converted['kind'] !== head.kind) {
    throw refuse(at, `invalid kind (expected ${head.kind}, received ${shortened(String(converted['kind']))})`);
  }
  const metadata = parseStored(metadataOf(original)) as ObjectMeta;
  const made = getOwn(converted, 'metadata');
  const texts = isRecord(made) ? made : {};
  for (const [field, name] of identity) {
    const [expected, got] = [metadata[field] ?? '', getOwn(texts, field) ?? ''];
    if (expected !== got)
      throw refuse(objectText, `must have the same ${name}: ${expected} != ${shortened(String(got))}`);
  }
  const restored = restoreMetadata(metadata, made, (why) =>
    refuse(one ? 'metadata' : `metadata in object at index ${index}`, why),
  );
  return { ...(converted as unknown as ApiObject), metadata: restored };
}

/**
 * The objects of an answer, encoded in the version of a kind and pruned by its schema, each when it is asked for. Throws a
 * ConversionError. A resourceVersion stays.
 */
export function* readConverted(answer: Buffer, question: ConversionQuestion, kind: Kind): Generator<Buffer, void> {
  for (const [index, each] of readAnswer(answer, question).entries()) {
    yield encodeVersioned(canonical(kind, checkConverted(each, index, question)));
  }
}

const plainBigints = (_name: string, value: unknown): unknown => (typeof value === 'bigint' ? String(value) : value);

/** Fields that tell an object apart, as messages name them. */
const identity = [
  ['name', 'name'],
  ['namespace', 'namespace'],
  ['uid', 'UID'],
] as const;

function restoreMetadata(original: ObjectMeta, made: unknown, refuse: (why: string) => ConversionError): ObjectMeta {
  if (made === undefined) throw refuse('missing metadata in converted object');
  if (!isRecord(made)) throw refuse(`invalid metadata of type ${typeName(made)} in converted object`);
  const { labels: _labels, annotations: _annotations, ...kept } = original;
  const [labels, annotations] = [textsOf('labels', made, refuse), textsOf('annotations', made, refuse)];
  const errors = [
    ...(labels ? validateLabels(labels, 'metadata.labels') : []),
    ...(annotations ? validateAnnotations(annotations, 'metadata.annotation') : []),
  ];
  if (errors.length > 0) {
    const found = errors.map((error) => `${error.field}: ${describeFieldError(error)}`);
    throw refuse(found.length === 1 ? (found[0] as string) : `[${found.join(', ')}]`);
  }
  return { ...kept, ...(labels && { labels }), ...(annotations && { annotations }) };
}

function textsOf(
  field: 'labels' | 'annotations',
  metadata: Readonly<Record<string, unknown>>,
  refuse: (why: string) => ConversionError,
): Record<string, string> | undefined {
  const value = getOwn(metadata, field);
  if (value === undefined || value === null) return undefined;
  if (!isRecord(value)) throw refuse(`invalid metadata.${field} of type ${typeName(value)} in converted object`);
  const texts: Record<string, string> = {};
  for (const [name, text] of Object.entries(value)) {
    if (typeof text !== 'string') {
      throw refuse(`metadata.${field}[${name}] must be a string, but is ${typeName(text)} in converted object`);
    }
    setOwn(texts, name, text);
  }
  return texts;
}

/** The type of a JSON value as kube-apiserver calls it. */
function typeName(value: unknown): string {
  if (value === null) return '<nil>';
  if (Array.isArray(value)) return '[]interface {}';
  switch (typeof value) {
    case 'string':
      return 'string';
    case 'boolean':
      return 'bool';
    case 'number':
      return Number.isInteger(value) ? 'int64' : 'float64';
    case 'bigint':
      return 'int64';
    default:
      return 'map[string]interface {}';
  }
}
