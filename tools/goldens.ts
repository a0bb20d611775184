import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { silentLogger } from '../src/base/logger.ts';
import { noJitter } from '../src/base/time/backoff-fixture.ts';
import { systemClock } from '../src/base/time/clock.ts';
import { createWatchCache } from '../src/cache/watch-cache.ts';
import { writeDocument } from '../src/content/document-forms.ts';
import type { Dialect } from '../src/dialect/dialect.ts';
import { kubernetes } from '../src/dialect/kubernetes.ts';
import { orch } from '../src/dialect/orch.ts';
import { type Kind, storesObjects } from '../src/kinds/kind.ts';
import { kinds } from '../src/kinds/kinds.ts';
import { apiVersionOf } from '../src/kinds/stored-as.ts';
import { defaultScope } from '../src/meta/scope.ts';
import { type ApiDocument, ApiDocuments } from '../src/registry/documents/documents.ts';
import { cachedResources } from '../src/resources/resource.ts';
import { ResourceRegistry } from '../src/resources/resource-registry.ts';
import { openMemoryStore } from '../src/store/drivers/memory/memory-store.ts';
import { jsonObjects, messageBytes, messageFields } from './golden-messages.ts';
import { withSharedParts } from './shared-parts.ts';

const folder = join(import.meta.dirname, '..', 'test', 'golden');

/** A public document, and the file that says what it was when somebody last looked at it. */
interface Golden {
  readonly file: string;
  readonly text: string;
}

/** Every public document as it is now. */
export async function currentDocuments(): Promise<readonly Golden[]> {
  return [...(await documentsOf(orch)), ...(await documentsOf(kubernetes))];
}

async function documentsOf(dialect: Dialect): Promise<readonly Golden[]> {
  const store = openMemoryStore();
  const all = kinds(dialect);
  const resources = cachedResources(defaultScope, all);
  const cache = createWatchCache({ random: noJitter, store, clock: systemClock, logger: silentLogger, resources });
  const documents = new ApiDocuments(
    { dialect, cbor: false, issuer: true },
    new ResourceRegistry(all, { cache, scope: defaultScope }),
    () => '127.0.0.1:6443',
  );
  const { named, openapi } = publicDocuments(documents, all);
  await cache.close();
  await store.close();
  const { documents: written, shared } = withSharedParts(openapi.map(([, document]) => contentOf(document)));
  const texts: readonly (readonly [string, string])[] = [
    ...named.map(([name, document]) => [`${name}.json`, indented(contentOf(document))] as const),
    ...openapi.map(([name], at) => [`${name}.json`, indented(written[at])] as const),
    ['openapi-shared.json', indented(shared)],
    ['protobuf-messages.txt', messageFields(dialect)],
    ['protobuf-objects.txt', messageBytes(dialect)],
    ['protobuf-documents.txt', documentBytes([...named, ...openapi])],
    ['json-objects.json', indented(jsonObjects(dialect))],
    ['tables.json', indented(tables(dialect))],
  ];
  return texts.map(([name, text]) => ({ file: join(folder, dialect.name, name), text }));
}

type NamedDocument = readonly [name: string, document: ApiDocument | undefined];

interface PublicDocuments {
  readonly named: readonly NamedDocument[];
  readonly openapi: readonly NamedDocument[];
}

/** Discovery of all groups in every form, and their OpenAPI documents. */
function publicDocuments(documents: ApiDocuments, all: readonly Kind[]): PublicDocuments {
  const groups = [...new Set(all.map(({ group }) => group))].filter((group) => group !== '');
  const versions = [...new Map(all.map((kind) => [`${kind.group}/${kind.version}`, kind])).values()];
  return {
    named: [
      ['api', documents.coreVersions()],
      ['apis', documents.groupList()],
      ...groups.map((group): NamedDocument => [shortName(group), documents.group(group)]),
      ...versions.map(
        ({ group, version }): NamedDocument => [
          `${shortName(group)}-${version}`,
          documents.resourceList(group, version),
        ],
      ),
      ['aggregated-api', documents.aggregated('api', 'v2')],
      ['aggregated-apis', documents.aggregated('apis', 'v2')],
      ['aggregated-apis-v2beta1', documents.aggregated('apis', 'v2beta1')],
    ],
    openapi: [
      ['openapi-v2', documents.openapiV2()],
      ...versions.map(
        ({ group, version }): NamedDocument => [
          `openapi-v3-${shortName(group)}-${version}`,
          documents.openapi(group, version),
        ],
      ),
    ],
  };
}

/** The first label of a group tells it from the others. */
const shortName = (group: string): string => (group === '' ? 'api' : `apis-${group.split('.')[0]}`);

const contentOf = (document: ApiDocument | undefined): unknown => JSON.parse(document?.json.toString() ?? 'null');

const indented = (value: unknown): string => `${JSON.stringify(value, null, 1)}\n`;

/** The documents in protobuf: `<name> <bytes> <SHA-256>`. */
function documentBytes(named: readonly NamedDocument[]): string {
  const lines = named.flatMap(([name, document]) => {
    if (!document) return [];
    const bytes = writeDocument(document, 'protobuf');
    return [`${name} ${bytes.length} ${createHash('sha256').update(bytes).digest('hex')}\n`];
  });
  return lines.join('');
}

/** The columns of the tables of each kind. */
const tables = (dialect: Dialect): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    kinds(dialect)
      .filter(storesObjects)
      .map((kind) => [
        `${apiVersionOf(kind)} ${kind.kind}`,
        kind.columns.map(({ value: _, ...definition }) => definition),
      ]),
  );

/** What the file says; '' where there is none yet. */
export function recorded({ file }: Golden): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return ''; // differs from every document, which is what the caller asks
  }
}
