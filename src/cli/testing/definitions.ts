import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { limits } from '../../base/limits.ts';
import type { ApiClient } from '../../client/api-client.ts';
import { parseYaml } from '../../codec/yaml.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import type { Definition } from './options.ts';

/** A definition and where it came from, for messages. */
interface FoundDefinition {
  readonly from: string;
  readonly object: DefinitionObject;
}

interface DefinitionObject {
  readonly apiVersion?: unknown;
  readonly kind?: unknown;
  readonly metadata?: { readonly name?: string };
  readonly items?: readonly unknown[];
}

interface Established {
  readonly metadata: { readonly name: string };
  readonly status?: { readonly conditions?: readonly Condition[] | null };
}

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly message?: string;
}

/** Reads the definitions of an option. Throws an Error that names the one that cannot be read. */
export function readDefinitions(
  given: Definition | readonly Definition[],
  dialect: Dialect,
): readonly FoundDefinition[] {
  const found = [given]
    .flat()
    .flatMap((each, index, { length }) =>
      read(each, Array.isArray(given) || length > 1 ? `definitions[${index}]` : 'definitions'),
    );
  for (const { from, object } of found) check(from, object, dialect);
  return found;
}

function read(given: Definition, from: string): readonly FoundDefinition[] {
  if (given instanceof URL) return readPath(fileURLToPath(given), from);
  if (typeof given === 'string') return isText(given) ? readText(given, from) : readPath(given, from);
  if (typeof given !== 'object' || given === null) {
    throw new TypeError(`${from}: expected an object, a text or a path, got ${JSON.stringify(given)}`);
  }
  return itemsOf(given, from);
}

const isText = (given: string): boolean => given.includes('\n') || given.trimStart().startsWith('{');

function readPath(path: string, from: string): readonly FoundDefinition[] {
  const where = `${from}: ${path}`;
  try {
    if (!statSync(path).isDirectory()) return readText(readFileSync(path, 'utf8'), where);
  } catch (error) {
    throw isSystemError(error) ? new Error(`${where}: ${error.message}`, { cause: error }) : error;
  }
  const names = readdirSync(path).filter((name) => /\.(ya?ml|json)$/.test(name));
  return names.sort().flatMap((name) => readPath(join(path, name), from));
}

const isSystemError = (error: unknown): error is Error => error instanceof Error && 'syscall' in error;

/** A text of any number of documents. */
function readText(text: string, from: string): readonly FoundDefinition[] {
  const documents = text.split(/^---(?=\s|$).*\n?/m);
  return documents.flatMap((document, index) => {
    const where = documents.length > 1 ? `${from}: document ${index + 1}` : from;
    return document.trim() === '' ? [] : itemsOf(parse(document, where), where);
  });
}

function parse(text: string, where: string): unknown {
  try {
    return parseYaml(Buffer.from(text)).value;
  } catch (error) {
    throw new Error(`${where}: ${error instanceof Error ? error.message : error}`, { cause: error });
  }
}

/** The object itself, or those of a list; nothing for a document of comments. */
function itemsOf(value: unknown, from: string): readonly FoundDefinition[] {
  if (value === null) return [];
  if (typeof value !== 'object') throw new TypeError(`${from}: expected an object, got ${JSON.stringify(value)}`);
  const object: DefinitionObject = value;
  if (!Array.isArray(object.items)) return [{ from, object }];
  return object.items.flatMap((item, index) => itemsOf(item, `${from}: items[${index}]`));
}

const kind = 'CustomResourceDefinition';
const versionOf = (dialect: Dialect): string => `${dialect.group('apiextensions')}/v1`;

function check(from: string, { apiVersion, kind: given }: DefinitionObject, dialect: Dialect): void {
  const expected = versionOf(dialect);
  if (given !== kind) throw new TypeError(`${from}: kind must be ${kind}, got ${JSON.stringify(given)}`);
  if (apiVersion === expected) return;
  const names = `the dialect ${dialect.name} has ${JSON.stringify(expected)}`;
  throw new TypeError(`${from}: apiVersion must be that of the dialect: ${names}, got ${JSON.stringify(apiVersion)}`);
}

/** Creates the definitions and waits until their kinds are served. Rejects with an Error that names the one at fault. */
export async function establish(
  definitions: readonly FoundDefinition[],
  client: ApiClient,
  dialect: Dialect,
): Promise<void> {
  if (definitions.length === 0) return;
  const path = `/apis/${versionOf(dialect)}/customresourcedefinitions`;
  const waiting = new Map<string, string>();
  for (const { from, object } of definitions) {
    const { metadata } = await client.create<Established>(path, object).catch((error: unknown) => {
      throw new Error(`${from}: ${error instanceof Error ? error.message : error}`, { cause: error });
    });
    waiting.set(metadata.name, from);
  }
  const late = AbortSignal.timeout(limits.requestMsMax);
  for await (const event of client.watch(`${path}?watch=true`, { signal: late })) {
    if (event.type !== 'ADDED' && event.type !== 'MODIFIED') continue;
    const { metadata, status } = event.object as unknown as Established;
    const from = waiting.get(metadata.name);
    if (from === undefined) continue;
    const conditions = status?.conditions ?? [];
    const refused = conditions.find((condition) => condition.type === 'NamesAccepted' && condition.status === 'False');
    if (refused) throw new Error(`${from}: ${metadata.name}: ${refused.message ?? 'its names are not accepted'}`);
    if (conditions.some((condition) => condition.type === 'Established' && condition.status === 'True')) {
      waiting.delete(metadata.name);
    }
    if (waiting.size === 0) return;
  }
  const [[name, from] = []] = waiting;
  throw new Error(`${from}: ${name} is not established after ${limits.requestMsMax / 1000} s`);
}
