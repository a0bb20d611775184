import type { ApiObject } from '../../../meta/api-object.ts';
import { notSupportedOf, required } from '../../../meta/field-error.ts';
import { badRequest, conflict, invalidObject, type StatusError } from '../../../meta/status-error.ts';
import { formatTime } from '../../../meta/time.ts';
import { req } from '../../../schema/schema.ts';
import type { ActionSubresource, ActionTarget, StrategyContext } from '../../kind.ts';
import { kindSchema } from '../../meta/kind-schema.ts';
import { typed } from '../../typed.ts';
import { objectReference } from '../references.ts';
import { success } from './action-answer.ts';
import { setCondition } from './pod-conditions.ts';
import { asPod } from './pod-schema.ts';

const schema = kindSchema('api.core.v1.Binding', 'Assigns a pod to a node.', {
  target: req(2, objectReference, 'The node.', { presence: 'always' }),
});

const kind = { group: '', version: 'v1', kind: 'Binding' } as const;

/** POST `pods/{name}/binding`: a scheduler assigns a pod to a node. */
export const podBinding: ActionSubresource = {
  type: 'action',
  name: 'binding',
  body: { ...kind, schema },
  keepsServerMetadata: true,
  prepare: requireName,
  create: async (body, target, context) => {
    const nodeName = targetNode(body, target.name);
    await target.update((object, resourceVersion) => {
      checkPreconditions(object, body, resourceVersion);
      bind(object, body, nodeName, context);
    });
    return success();
  },
};

/** Throws BadRequest unless the body names the pod. */
function requireName({ metadata }: ApiObject, { name }: ActionTarget): void {
  if (metadata.name !== name) throw badRequest('name in URL does not match name in Binding object');
}

function targetNode(body: ApiObject, podName: string): string {
  const { kind: targetKind = '', name = '' } = typed(schema, body).target ?? {};
  const errors = [
    ...(targetKind === '' || targetKind === 'Node'
      ? []
      : [notSupportedOf('target.kind', targetKind, ['Node', '<empty>'])]),
    ...(name === '' ? [required('target.name')] : []),
  ];
  if (errors.length > 0) throw invalidObject(kind, podName, errors);
  return name;
}

/** Checks the uid and resourceVersion preconditions of the binding. */
function checkPreconditions({ metadata }: ApiObject, { metadata: wanted }: ApiObject, resourceVersion: string): void {
  const name = metadata.name ?? '';
  if (wanted.uid && wanted.uid !== metadata.uid) {
    throw refused(name, `Precondition failed: UID in precondition: ${wanted.uid}, UID in object meta: ${metadata.uid}`);
  }
  if (wanted.resourceVersion && wanted.resourceVersion !== resourceVersion) {
    const found = `ResourceVersion in object meta: ${resourceVersion}`;
    throw refused(name, `Precondition failed: ResourceVersion in precondition: ${wanted.resourceVersion}, ${found}`);
  }
}

/** Assigns the pod to a node. Fails if it is being deleted, already assigned, or has scheduling gates. */
function bind(object: ApiObject, { metadata: wanted }: ApiObject, nodeName: string, { now }: StrategyContext): void {
  const { metadata } = object;
  const pod = asPod(object);
  const name = metadata.name ?? '';
  if (metadata.deletionTimestamp !== undefined) {
    throw refused(name, `pod ${name} is being deleted, cannot be assigned to a host`);
  }
  if (!pod.spec || pod.spec.nodeName) {
    throw refused(name, `pod ${name} is already assigned to node ${JSON.stringify(pod.spec?.nodeName ?? '')}`);
  }
  if (pod.spec.schedulingGates?.length) throw refused(name, `pod ${name} has non-empty .spec.schedulingGates`);
  pod.spec.nodeName = nodeName;
  if (wanted.annotations) metadata.annotations = { ...metadata.annotations, ...wanted.annotations };
  pod.status ??= {};
  setCondition(pod.status, { type: 'PodScheduled', status: 'True' }, formatTime(now));
}

const refused = (name: string, why: string): StatusError =>
  conflict({ group: '', resource: 'pods/binding' }, name, why);
