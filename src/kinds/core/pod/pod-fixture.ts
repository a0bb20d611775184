import { orch } from '../../../dialect/orch.ts';
import type { ApiObject } from '../../../meta/api-object.ts';
import type { FieldError } from '../../../meta/field-error.ts';
import { anonymousUser } from '../../../request/user-info.ts';
import { decode } from '../../../schema/decode.ts';
import { applyDefaults } from '../../../schema/defaults.ts';
import { validate, validateUpdate } from '../../../schema/validate.ts';
import type { StrategyContext, ViewSubresource } from '../../kind.ts';
import { immediate } from '../../strategy-fixture.ts';
import { pod } from './pod.ts';
import { asPod, type Pod, podSchema } from './pod-schema.ts';

/** Runs pods through decoding, defaulting, strategy and validation as the write path does, for tests of pods. */

export const now = Date.UTC(2026, 0, 10);
export const kind = pod(orch);
const context: StrategyContext = { dialect: orch, user: anonymousUser, now, requested: kind };

/** A pod or part of one, as sent by a client. */
export type Sent = Readonly<Record<string, unknown>>;

/** A minimal valid pod with the given spec fields. */
export const podWith = (spec: Sent, metadata: Sent = {}): Sent => ({
  metadata: { name: 'web', namespace: 'default', ...metadata },
  spec: { containers: [{ name: 'app', image: 'app:1' }], ...spec },
});

/** A minimal valid pod with the given container fields. */
export const containerWith = (fields: Sent, spec: Sent = {}): Sent =>
  podWith({ ...spec, containers: [{ name: 'app', image: 'app:1', ...fields }] });

/** Throws on unknown fields and wrong types, to catch typos in tests. */
export function decoded(sent: Sent): ApiObject {
  const { value, errors, unknown } = decode(podSchema, { apiVersion: 'v1', kind: 'Pod', ...sent });
  if (errors.length + unknown.length > 0) throw new Error(JSON.stringify({ errors, unknown }));
  applyDefaults(podSchema, value);
  return value as unknown as ApiObject;
}

interface Outcome {
  readonly object: ApiObject;
  readonly pod: Pod;
  readonly errors: readonly FieldError[];
  /** Of a creation: those that were given while it was prepared, and those of the strategy. */
  readonly warnings?: readonly string[];
}

export function created(sent: Sent): Outcome {
  const object = decoded(sent);
  kind.strategy.default?.(object, context);
  const warnings: string[] = [];
  kind.strategy.prepareForCreate?.(object, { ...context, warn: (text) => void warnings.push(text) });
  const errors = [...validate(podSchema, object), ...immediate(kind.strategy.validateCreate?.(object, context))];
  warnings.push(...(kind.strategy.warnings?.(object, undefined) ?? []));
  return { object, pod: asPod(object), errors, warnings };
}

/** Updates `old`, a stored pod, through the pod itself or a subresource. */
export function updated(
  old: ApiObject,
  sent: Sent,
  door: Pick<ViewSubresource, 'prepareForUpdate' | 'validateUpdate'>,
): Outcome {
  const object = decoded(sent);
  const before = JSON.stringify(old);
  kind.strategy.default?.(object, context);
  door.prepareForUpdate?.(object, old, context);
  const errors = [
    ...validate(podSchema, object),
    ...validateUpdate(podSchema, object, old),
    ...immediate(door.validateUpdate?.(object, old, context)),
  ];
  if (JSON.stringify(old) !== before) throw new Error('the stored pod was changed');
  return { object, pod: asPod(object), errors };
}

/** `<type> <field>` of each error: `FieldValueRequired spec.containers`. */
export const causes = ({ errors }: Outcome): string[] => errors.map(({ type, field }) => `${type} ${field}`).sort();

/** A pod with its status, as if it had been stored. */
export function stored(sent: Sent, status: Sent = {}): ApiObject {
  const { object, errors } = created(sent);
  if (errors.length > 0) throw new Error(JSON.stringify(errors));
  const reported = decoded({ ...sent, status })['status'] as Sent;
  object['status'] = { ...(object['status'] as Sent), ...reported };
  return object;
}

/** Pods with one thing that is to be validated. */

export const volume = { name: 'data', emptyDir: {} };
export const mounted = (mount: Sent, spec: Sent = {}): Sent =>
  containerWith({ volumeMounts: [{ name: 'data', mountPath: '/data', ...mount }] }, { volumes: [volume], ...spec });
export const volumes = (...list: Sent[]): Sent => podWith({ volumes: list });
export const env = (...list: Sent[]): Sent => containerWith({ env: list });
export const probe = (fields: Sent): Sent => containerWith({ livenessProbe: fields });
export const secure = (fields: Sent): Sent => containerWith({ securityContext: fields });
export const nodeTerm = (term: Sent): Sent =>
  podWith({
    affinity: {
      nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [term] } },
    },
  });
export const spread = (fields: Sent): Sent =>
  podWith({
    topologySpreadConstraints: [{ maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule', ...fields }],
  });
