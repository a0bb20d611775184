import type { BodyForm } from '../../../content/body.ts';
import type { ResourceVerb } from '../../../request/request-info.ts';

/** The verb labels of kube-apiserver's metrics and logs. */
const verbLabels: Readonly<Record<ResourceVerb, string>> = {
  get: 'GET',
  list: 'LIST',
  watch: 'WATCH',
  create: 'POST',
  update: 'PUT',
  patch: 'PATCH',
  delete: 'DELETE',
  deletecollection: 'DELETE',
};
const apply = 'APPLY';

/** Of every request that connects its client to another server, whatever its method. */
export const connectLabel = 'CONNECT';

export const resourceVerbLabels: readonly string[] = [...Object.values(verbLabels), apply, connectLabel];

export const resourceVerbLabel = (verb: ResourceVerb, form: BodyForm | undefined): string =>
  form?.type === 'patch' && form.patch === 'apply' ? apply : verbLabels[verb];

/** Labels of methods on non-resource paths. Clients can send any other method. */
const methodLabels: ReadonlyMap<string, string> = new Map([
  ['GET', 'GET'],
  ['HEAD', 'GET'],
  ...['POST', 'PUT', 'PATCH', 'DELETE'].map((method) => [method, method] as const),
]);

export const methodLabel = (method: string): string => methodLabels.get(method) ?? 'other';
