import { untilAborted } from '../../base/time/until-aborted.ts';
import type { ConnectSubresource } from '../../kinds/kind.ts';
import { apiVersionOf } from '../../kinds/stored-as.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { badRequest, invalidObject, notFound } from '../../meta/status-error.ts';
import { queryOptions } from '../query-options.ts';
import { freshObject } from '../read/fresh-object.ts';
import type { ConnectReply } from '../reply.ts';
import type { RegistryParts, VerbRequest } from '../verb.ts';
import { admissionAttributes } from '../write/admission-attributes.ts';
import { writeContext } from './create.ts';

/**
 * Finds out where a client is to be connected to. Only what is more than reading is admitted, as CONNECT with the options as its
 * object. Nothing was sent to anybody yet.
 */
export async function connect(
  parts: RegistryParts,
  request: VerbRequest,
  subresource: ConnectSubresource,
): Promise<ConnectReply> {
  const { info, signal } = request;
  const isRead = subresource.carries === 'text';
  if (!isRead && info.query.has('dryRun')) throw badRequest('dryRun is not supported');
  const options = optionsOf(request, subresource);
  if (!isRead) await untilAborted(admit(parts, request, subresource, options), signal);
  const context = { services: parts.servicesFor(request), features: parts.features };
  const errors = subresource.validate?.(options, context) ?? [];
  if (errors.length > 0) throw invalidObject(subresource.options, info.name, errors);
  const target = {
    namespace: info.namespace,
    name: info.name,
    read: async (name: string) => {
      const found = await freshObject(request.served, { ...info, name, signal });
      if (!found) throw notFound(request.served.name, name);
      return found;
    },
  };
  const destination = await untilAborted(subresource.locate(options, target, context), signal);
  return { type: 'connect', carries: subresource.carries, destination };
}

/** As published, the path below a proxy is one of its options, and a parameter of that name is not. */
function optionsOf({ info }: VerbRequest, { options, carries }: ConnectSubresource): ApiObject {
  const sent = { ...(queryOptions(options.schema, info.query) as Readonly<Record<string, unknown>>) };
  if (carries === 'proxy') sent['path'] = info.below ?? '';
  const { kind } = options;
  // Options have no metadata, although they are objects of a kind.
  return { kind, apiVersion: apiVersionOf(options), ...sent } as unknown as ApiObject;
}

async function admit(
  parts: RegistryParts,
  request: VerbRequest,
  { options: kind }: ConnectSubresource,
  object: ApiObject,
): Promise<void> {
  const { name } = request.info;
  const context = writeContext(request, { manager: '', dryRun: false, sent: {} });
  const attributes = admissionAttributes(parts, context, { operation: 'connect', kind, name, object, old: undefined });
  await parts.admission.mutate(attributes);
  await parts.admission.validate(attributes);
}
