import { limits } from '../base/limits.ts';
import { type Decoded, decode } from '../schema/decode.ts';
import { applyDefaults } from '../schema/defaults.ts';
import { joinPath } from '../schema/field-path.ts';
import { keepNulls } from '../schema/kept-nulls.ts';
import { isRecord, setOwn } from '../schema/own-property.ts';
import type { Schema } from '../schema/schema.ts';
import { describeElement, fieldElement, indexElement, type PathElement } from './fields/field-path.ts';
import type { LeafShape, ListShape, Shape, StructShape } from './fields/shape.ts';

/** A decoded configuration, and the problems found in it. */
interface Configuration {
  /**
   * Leaves are in stored form, so that equal values compare equal. Omitted fields stay omitted; nulls and empty values
   * are kept, since they are owned. Shares parts with the input.
   */
  readonly value: Readonly<Record<string, unknown>>;
  /** Fields unknown to the schema, in input order: `spec.containers[0].nmae`. Not in `value`. */
  readonly unknown: readonly string[];
  /** If there are any, `value` must not be used. */
  readonly problems: readonly ConfigurationProblem[];
}

export interface ConfigurationProblem {
  /** `.spec.containers[name="x"].ports` */
  readonly path: string;
  readonly problem: string;
}

/**
 * Decodes a configuration: checks types, list keys and duplicate list elements, and drops unknown fields. Reports at
 * most `limits.findingsMax` findings.
 */
export function readConfiguration(shape: StructShape, sent: Readonly<Record<string, unknown>>): Configuration {
  const findings: Finding[] = [];
  const value = read(shape, sent, findings) as Readonly<Record<string, unknown>>;
  return {
    value,
    unknown: findings.flatMap((finding) => (finding.type === 'unknown' ? [finding.indexed] : [])),
    problems: findings.flatMap((finding) =>
      finding.type === 'problem' ? [{ path: finding.path, problem: finding.problem }] : [],
    ),
  };
}

/** Created with a path relative to the place of the finding; each caller prepends its step. */
type Finding = { path: string; indexed: string } & (
  | { readonly type: 'unknown' }
  | { readonly type: 'problem'; readonly problem: string }
);

function report(findings: Finding[], finding: Finding): void {
  if (findings.length < limits.findingsMax) findings.push(finding);
}

const reportProblem = (findings: Finding[], problem: string): void =>
  report(findings, { type: 'problem', path: '', indexed: '', problem });

/** `element` is the step in paths of problems, `step` the one in paths of unknown fields. */
function prefix(findings: Finding[], from: number, element: PathElement, step: string): void {
  for (const finding of findings.slice(from)) {
    finding.path = describeElement(element) + finding.path;
    finding.indexed = joinPath(step, finding.indexed);
  }
}

function read(shape: Shape, sent: unknown, findings: Finding[]): unknown {
  if (sent === null) return null;
  switch (shape.type) {
    case 'leaf':
      return readLeaf(shape, sent, findings);
    case 'deduced':
      return readWhole(shape.schema, sent, findings);
    case 'map':
      return isRecord(sent)
        ? readParts(sent, findings, (_name, part) => read(shape.values, part, findings))
        : mismatch(findings, 'object', sent);
    case 'struct':
      return isRecord(sent) ? readStruct(shape, sent, findings) : mismatch(findings, 'object', sent);
    case 'list':
      return Array.isArray(sent) ? readList(shape, sent, findings) : mismatch(findings, 'array', sent);
  }
}

function mismatch(findings: Finding[], expected: string, sent: unknown): undefined {
  const got = Array.isArray(sent) ? 'array' : typeof sent === 'bigint' ? 'number' : typeof sent;
  reportProblem(findings, `expected ${expected}, got ${got}`);
}

/** Atomic containers are replaced whole, so they are brought into stored form: canonical values and defaults. */
function readLeaf({ atomic, schema }: LeafShape, sent: unknown, findings: Finding[]): unknown {
  if (schema.type === 'string' && typeof sent === 'string') return sent;
  const value = readWhole(schema, sent, findings);
  if (atomic) {
    keepNulls(schema, sent, value);
    applyDefaults(schema, value);
  }
  return value;
}

/** The static type of an arbitrary schema is infinite; the cast keeps the compiler from computing it. */
const decodeUntyped = decode as unknown as (schema: Schema, value: unknown) => Decoded<unknown>;

function readWhole(schema: Schema, sent: unknown, findings: Finding[]): unknown {
  const { value, unknown, errors } = decodeUntyped(schema, sent);
  for (const path of unknown) report(findings, { type: 'unknown', path: dotted(path), indexed: path });
  for (const { path, expected, got } of errors) {
    report(findings, {
      type: 'problem',
      path: dotted(path),
      indexed: path,
      problem: `expected ${expected}, got ${got}`,
    });
  }
  return value;
}

const dotted = (path: string): string => (path === '' || path.startsWith('[') ? path : `.${path}`);

type PartReader = (name: string, part: unknown) => unknown;

/** Reads each part of an object; omits parts that are undefined. */
function readParts(sent: Readonly<Record<string, unknown>>, findings: Finding[], readPart: PartReader): unknown {
  const value: Record<string, unknown> = {};
  for (const name in sent) {
    const found = findings.length;
    const part = readPart(name, sent[name]);
    if (findings.length > found) prefix(findings, found, fieldElement(name), name);
    if (part !== undefined) setOwn(value, name, part);
  }
  return value;
}

const readStruct = ({ fields }: StructShape, sent: Readonly<Record<string, unknown>>, findings: Finding[]): unknown =>
  readParts(sent, findings, (name, part) => {
    const field = fields.get(name);
    if (field) return part === undefined ? undefined : read(field.shape, part, findings);
    if (part !== undefined) report(findings, { type: 'unknown', path: '', indexed: '' });
    return undefined;
  });

function readList(shape: ListShape, sent: readonly unknown[], findings: Finding[]): unknown {
  const seen = new Set<PathElement>();
  const list: unknown[] = [];
  for (const [index, item] of sent.entries()) {
    const found = findings.length;
    const value = read(shape.items, item, findings);
    const problem = findings.length > found ? undefined : problemOfItem(shape, value);
    const readable = findings.length === found && problem === undefined;
    const element = readable ? shape.elementOf(value) : indexElement(index);
    if (findings.length > found) prefix(findings, found, element, `[${index}]`);
    else if (problem !== undefined) reportProblem(findings, `element ${index}: ${problem}`);
    else if (seen.has(element)) reportProblem(findings, `duplicate entries for key ${describeElement(element)}`);
    seen.add(element);
    list.push(value);
  }
  return list;
}

/** Why an element has no valid path element. */
function problemOfItem({ keys, items }: ListShape, item: unknown): string | undefined {
  if (keys.length === 0) return item === null ? 'a set may not have a null element' : undefined;
  if (!isRecord(item)) return 'a list that is merged by keys may not have a null element';
  const missing = keys.find(({ name, fallback }) => (item[name] ?? fallback) === undefined);
  if (!missing || items.type === 'deduced') return undefined;
  return `the element omits key field ${JSON.stringify(missing.name)} (and it has no default value)`;
}
