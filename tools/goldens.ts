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
import { storesObjects } from '../src/kinds/kind.ts';
import { kinds } from '../src/kinds/kinds.ts';
import { apiVersionOf } from '../src/kinds/stored-as.ts';
import { defaultScope } from '../src/meta/scope.ts';
import { type ApiDocument, ApiDocuments } from '../src/registry/documents/documents.ts';
import { cachedResources } from '../src/resources/resource.ts';
import { ResourceRegistry } from '../src/resources/resource-registry.ts';
import { openMemoryStore } from '../src/store/drivers/memory/memory-store.ts';
import { messageBytes, messageFields } from './golden-messages.ts';

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
    { dialect, cbor: false },
    new ResourceRegistry(all, { cache, scope: defaultScope }),
    () => '127.0.0.1:6443',
  );
  const lease = dialect.group('coordination');
  const events = dialect.group('events');
  const rbac = dialect.group('rbac.authorization');
  const authentication = dialect.group('authentication');
  const authorization = dialect.group('authorization');
  const certificates = dialect.group('certificates');
  const named: Readonly<Record<string, ApiDocument | undefined>> = {
    api: documents.coreVersions(),
    apis: documents.groupList(),
    'api-v1': documents.resourceList('', 'v1'),
    'apis-coordination': documents.group(lease),
    'apis-coordination-v1': documents.resourceList(lease, 'v1'),
    'apis-events-v1': documents.resourceList(events, 'v1'),
    'apis-rbac-v1': documents.resourceList(rbac, 'v1'),
    'apis-authentication-v1': documents.resourceList(authentication, 'v1'),
    'apis-authorization-v1': documents.resourceList(authorization, 'v1'),
    'apis-certificates-v1': documents.resourceList(certificates, 'v1'),
    'apis-certificates-v1alpha1': documents.resourceList(certificates, 'v1alpha1'),
    'apis-certificates-v1beta1': documents.resourceList(certificates, 'v1beta1'),
    'aggregated-api': documents.aggregated('api', 'v2'),
    'aggregated-apis': documents.aggregated('apis', 'v2'),
    'aggregated-apis-v2beta1': documents.aggregated('apis', 'v2beta1'),
    'openapi-v3-api-v1': documents.openapi('', 'v1'),
    'openapi-v3-apis-coordination-v1': documents.openapi(lease, 'v1'),
    'openapi-v3-apis-events-v1': documents.openapi(events, 'v1'),
    'openapi-v3-apis-rbac-v1': documents.openapi(rbac, 'v1'),
    'openapi-v3-apis-authentication-v1': documents.openapi(authentication, 'v1'),
    'openapi-v3-apis-authorization-v1': documents.openapi(authorization, 'v1'),
    'openapi-v3-apis-certificates-v1': documents.openapi(certificates, 'v1'),
    'openapi-v3-apis-certificates-v1alpha1': documents.openapi(certificates, 'v1alpha1'),
    'openapi-v3-apis-certificates-v1beta1': documents.openapi(certificates, 'v1beta1'),
    'openapi-v2': documents.openapiV2(),
  };
  await cache.close();
  await store.close();
  const texts: Readonly<Record<string, string>> = {
    'protobuf-messages.txt': messageFields(dialect),
    'protobuf-objects.txt': messageBytes(dialect),
    'protobuf-documents.txt': documentBytes(named),
    'tables.json': indented(tables(dialect)),
  };
  return [
    ...Object.entries(named).map(([name, document]) => ({
      file: join(folder, dialect.name, `${name}.json`),
      text: indented(JSON.parse(document?.json.toString() ?? 'null')),
    })),
    ...Object.entries(texts).map(([name, text]) => ({ file: join(folder, dialect.name, name), text })),
  ];
}

const indented = (value: unknown): string => `${JSON.stringify(value, null, 1)}\n`;

/** The documents in protobuf: `<name> <bytes> <SHA-256>`. */
function documentBytes(named: Readonly<Record<string, ApiDocument | undefined>>): string {
  const lines = Object.entries(named).flatMap(([name, document]) => {
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
