import type { Dialect } from '../../dialect/dialect.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { type FieldError, invalid } from '../../meta/field-error.ts';
import { answeredKind } from '../answered-kind.ts';
import type { Kind } from '../kind.ts';
import { typed } from '../typed.ts';
import { invalidPath } from './access-attributes.ts';
import { answerReview, subjectOf, subjectReviewSchema, validateNoMetadata, validateSubjectSpec } from './access-review.ts';

const schema = subjectReviewSchema('LocalSubjectAccessReview', 'Asks what somebody may do in one namespace.');

/**
 * LocalSubjectAccessReview: whether any user may do something in the namespace of the review. Permission to create it can
 * be granted per namespace.
 */
export const localSubjectAccessReview = (dialect: Dialect): Kind =>
  answeredKind(
    {
      group: dialect.group('authorization'),
      kind: 'LocalSubjectAccessReview',
      scope: 'Namespaced',
      schema,
      answer(object, { services }) {
        const { spec } = typed(schema, object);
        return answerReview(object, services, subjectOf(spec), spec);
      },
    },
    { validateCreate: validate },
  );

function validate(object: ApiObject): FieldError[] {
  const { spec } = typed(schema, object);
  return [...validateSubjectSpec(spec), ...validateNoMetadata(object, ['namespace'], 'must be empty except for namespace'), ...validateLocal(object)];
}

/** Requires the review's namespace in the attributes. Otherwise it would disclose permissions in other namespaces. */
function validateLocal(object: ApiObject): FieldError[] {
  const { resourceAttributes: resource, nonResourceAttributes: path } = typed(schema, object).spec;
  const { namespace = '' } = resource ?? {};
  return [
    ...(resource && namespace !== object.metadata.namespace ? [invalid('spec.resourceAttributes.namespace', namespace, 'must match metadata.namespace')] : []),
    ...(path ? [invalidPath(path, 'disallowed on this kind of request')] : []),
  ];
}
