import type { ApiObject } from '../../meta/api-object.ts';
import { decode } from '../../schema/decode.ts';
import { always, mergeList, opt, string, struct } from '../../schema/schema.ts';
import { column, nameColumn } from '../columns.ts';
import { defineKind } from '../define-kind.ts';
import type { Kind } from '../kind.ts';
import { kindSchema } from '../meta/kind-schema.ts';
import type { ComponentHealth } from '../services.ts';
import { typed } from '../typed.ts';

const condition = struct('api.core.v1.ComponentCondition', 'What a health check found.', {
  type: always(1, string(), '`Healthy`.', { documented: 'required' }),
  status: always(2, string(), '`True`, `False` or `Unknown`.', { documented: 'required' }),
  message: opt(3, string(), 'What the check answered.'),
  error: opt(4, string(), 'Why there was no answer.'),
});

const schema = kindSchema('api.core.v1.ComponentStatus', 'The health of a part of the control plane.', {
  conditions: opt(2, mergeList('type', condition, { duplicatesAllowed: true }), 'What health checks found.'),
});

const healthy = 'Healthy';

const conditionOf = (object: ApiObject) => typed(schema, object).conditions?.find(({ type }) => type === healthy);

function statusOf(object: ApiObject): string {
  const found = conditionOf(object);
  if (!found) return 'Unknown';
  return found.status === 'True' ? healthy : 'Unhealthy';
}

function observed({ name, problem }: ComponentHealth): ApiObject {
  const status = problem === undefined ? 'True' : 'False';
  const conditions = [{ type: healthy, status, message: problem ?? 'ok' }];
  return decode(schema, { apiVersion: 'v1', kind: 'ComponentStatus', metadata: { name }, conditions }).value as unknown as ApiObject;
}

export const componentStatus: Kind = defineKind({
  kind: 'ComponentStatus',
  resource: 'componentstatuses',
  shortNames: ['cs'],
  scope: 'Cluster',
  schema,
  deprecated: { release: '1.19' },
  columns: [
    nameColumn,
    column('Status', 'Whether the component is healthy.', statusOf),
    column('Message', 'What the health check answered.', (object) => conditionOf(object)?.message ?? ''),
    column('Error', 'Why the health check had no answer.', (object) => conditionOf(object)?.error ?? ''),
  ],
  observe: async ({ services }) => (await services.componentHealth()).map(observed),
  unconditionalUpdate: false,
});
