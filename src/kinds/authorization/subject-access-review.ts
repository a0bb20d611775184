import type { Dialect } from '../../dialect/dialect.ts';
import { answeredKind } from '../answered-kind.ts';
import type { Kind } from '../kind.ts';
import { typed } from '../typed.ts';
import { answerReview, subjectOf, subjectReviewSchema, validateNoMetadata, validateSubjectSpec } from './access-review.ts';

const schema = subjectReviewSchema('SubjectAccessReview', 'Asks what somebody may do.');

/** SubjectAccessReview: whether any user may do something, in any namespace. */
export const subjectAccessReview = (dialect: Dialect): Kind =>
  answeredKind(
    {
      group: dialect.group('authorization'),
      kind: 'SubjectAccessReview',
      scope: 'Cluster',
      schema,
      answer(object, { services }) {
        const { spec } = typed(schema, object);
        return answerReview(object, services, subjectOf(spec), spec);
      },
    },
    {
      validateCreate: (object) => [...validateSubjectSpec(typed(schema, object).spec), ...validateNoMetadata(object)],
    },
  );
