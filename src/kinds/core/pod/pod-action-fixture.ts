import assert from 'node:assert/strict';
import type { ApiObject } from '../../../meta/api-object.ts';
import { conflict, type Status } from '../../../meta/status-error.ts';
import { decode } from '../../../schema/decode.ts';
import { answerContext } from '../../answer-fixture.ts';
import type { ActionSubresource, ActionTarget } from '../../kind.ts';
import { kind, type Sent } from './pod-fixture.ts';

/** An action of pods, by the name of its subresource. */
export const actionOf = (name: string): ActionSubresource => {
  const found = kind.subresources.find((subresource) => subresource.name === name);
  assert.ok(found?.type === 'action');
  return found;
};

interface Around {
  readonly budgets?: readonly ApiObject[];
  readonly dryRun?: boolean;
  /** Changes the pod before the first deletion comes to it. */
  readonly meanwhile?: (pod: ApiObject) => void;
}

/** A stored pod that actions run on, with its version as `resourceVersion`; records the options of deletions. */
export function targetOf(
  object: ApiObject,
  { budgets = [], dryRun = false, meanwhile }: Around = {},
): ActionTarget & { readonly deletions: ApiObject[] } {
  const deletions: ApiObject[] = [];
  let version = 7;
  let change = meanwhile;
  const pod = (): ApiObject => ({ ...object, metadata: { ...object.metadata, resourceVersion: String(version) } });
  const disturb = (): void => {
    if (!change) return;
    change(object);
    version += 1;
    change = undefined;
  };
  return {
    namespace: 'default',
    name: 'web',
    dryRun,
    deletions,
    read: async () => structuredClone(pod()),
    update: async (made) => {
      disturb();
      made(object, String(version));
      version += 1;
      return pod();
    },
    delete: async (options) => {
      disturb();
      const { preconditions } = options as { readonly preconditions?: { readonly resourceVersion?: string } };
      if ((preconditions?.resourceVersion ?? String(version)) !== String(version)) {
        throw conflict({ group: '', resource: 'pods' }, 'web', 'another version');
      }
      deletions.push(options);
    },
    related: async (_of, holds) => budgets.filter(holds),
    updateStatus: async (_of, name, made, options) => {
      const budget = budgets.find(({ metadata }) => metadata.name === name);
      assert.ok(budget);
      const changed = structuredClone(budget);
      made(changed);
      if (!dryRun && !options.dryRun) Object.assign(budget, changed);
    },
  };
}

/** Does what a request for an action does. Fails on unknown fields. */
export async function runAction(name: string, sent: Sent, target: ActionTarget): Promise<ApiObject | Status> {
  const action = actionOf(name);
  const { value, errors, unknown } = decode(action.body.schema, sent);
  assert.deepEqual([...errors, ...unknown], []);
  const body = value as unknown as ApiObject;
  await action.prepare?.(body, target, answerContext());
  assert.deepEqual(action.validate?.(body) ?? [], []);
  return action.create(body, target, answerContext());
}
