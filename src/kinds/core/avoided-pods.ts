import type { Dialect } from '../../dialect/dialect.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { errorsOfEach, type FieldError, invalid, required } from '../../meta/field-error.ts';
import { decode } from '../../schema/decode.ts';
import { list, opt, ptr, string, struct, time } from '../../schema/schema.ts';
import { ownerReference } from '../meta/object-meta.ts';

const signature = struct('api.core.v1.PodSignature', 'Which pods are meant.', {
  podController: ptr(1, ownerReference, 'What made them.'),
});

const entry = struct('api.core.v1.PreferAvoidPodsEntry', 'Pods that a node should not get.', {
  podSignature: opt(1, signature, 'Which pods are meant.'),
  evictionTime: opt(2, time(), 'When such pods were removed.'),
  reason: opt(3, string(), 'Why, in one word.'),
  message: opt(4, string(), 'Why, for people.'),
});

const avoidPods = struct('api.core.v1.AvoidPods', 'Pods that a node should not get.', {
  preferAvoidPods: opt(1, list(entry), 'Which they are.'),
});

/** An annotation that schedulers no longer read names pods that a node should not get, as JSON. It is checked as before. */
export function validateAvoidedPods({ metadata: { annotations = {} } }: ApiObject, { domain }: Dialect): FieldError[] {
  const key = `scheduler.alpha.${domain}/preferAvoidPods`;
  const text = annotations[key] ?? '';
  if (text === '') return [];
  const unreadable = (why: string): FieldError[] => [{ ...invalid('metadata.annotations.AvoidPods', key, why), mayStay: true }];
  let sent: unknown;
  try {
    sent = JSON.parse(text);
  } catch {
    return unreadable('must be a JSON object');
  }
  const { value, errors } = decode(avoidPods, sent ?? {});
  const [wrong] = errors;
  if (wrong) return unreadable(`${wrong.path === '' ? '' : `${wrong.path}: `}expected ${wrong.expected}, got ${wrong.got}`);
  return errorsOfEach(value.preferAvoidPods ?? [], ({ podSignature }, index) => {
    const at = `metadata.annotations.${key}[${index}].PodSignature`;
    const controller = podSignature?.podController;
    if (!controller) return [{ ...required(at), mayStay: true }];
    if (controller.controller === true) return [];
    const shown = controller.controller ?? null;
    return [{ ...invalid(`${at}.PodController.Controller`, shown, 'must point to a controller'), mayStay: true }];
  });
}
