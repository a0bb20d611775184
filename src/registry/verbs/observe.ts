import { spanOf } from '../../base/collections/byte-span.ts';
import { untilAborted } from '../../base/time/until-aborted.ts';
import type { CacheEntry } from '../../cache/cache.ts';
import { stringifyJson } from '../../codec/json.ts';
import type { Kind } from '../../kinds/kind.ts';
import { getOptions } from '../../kinds/meta/request-options.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { notFound } from '../../meta/status-error.ts';
import { queryOptions } from '../query-options.ts';
import { listedCollection, parseListOptions } from '../read/list-options.ts';
import type { Reply } from '../reply.ts';
import type { RegistryParts, VerbRequest } from '../verb.ts';
import type { ObjectWriter } from '../write/object-writer.ts';
import { answerContext } from './answer.ts';

type Observe = NonNullable<Kind['observe']>;

/** GET of one object, or of the list, of a kind whose objects are observed and never stored. */
export async function observe(
  parts: RegistryParts,
  writer: ObjectWriter,
  request: VerbRequest,
  look: Observe,
): Promise<Reply> {
  const { served, info, signal } = request;
  if (info.verb === 'get') queryOptions(getOptions, info.query);
  const options = info.verb === 'list' && parseListOptions(info.query, listedCollection(parts, request));
  const objects = await untilAborted(look(answerContext(parts, writer, request)), signal);
  if (options) {
    const { matches = () => true } = options.selection;
    const items = objects.map(entryOf).filter(matches);
    return { type: 'list', served, metadata: {}, items, count: () => items.length };
  }
  const found = objects.find(({ metadata }) => metadata.name === info.name);
  if (!found) throw notFound(served.name, info.name);
  return { type: 'object', status: 200, served, bytes: encoded(found) };
}

const encoded = (object: ApiObject): Buffer => Buffer.from(stringifyJson(object));

/** As one of the cache, so that lists of such objects are selected and encoded like others. */
function entryOf(object: ApiObject): CacheEntry {
  const { name = '', namespace = '', labels = {} } = object.metadata;
  const bytes = encoded(object);
  const fields = new Map([
    ['metadata.name', name],
    ['metadata.namespace', namespace],
  ]);
  return {
    ...{ ...spanOf(bytes), bytes, key: name, name, namespace, revision: 0, stale: false },
    label: (key) => (Object.hasOwn(labels, key) ? labels[key] : undefined),
    field: (label) => fields.get(label),
  };
}
