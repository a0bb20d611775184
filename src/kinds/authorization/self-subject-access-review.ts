import type { Dialect } from '../../dialect/dialect.ts';
import { answeredKind } from '../answered-kind.ts';
import type { Kind } from '../kind.ts';
import { typed } from '../typed.ts';
import { validateAttributes } from './access-attributes.ts';
import { answerReview, selfReviewSchema, validateNoMetadata } from './access-review.ts';

/** SelfSubjectAccessReview: whether the caller may do something. */
export const selfSubjectAccessReview = (dialect: Dialect): Kind =>
  answeredKind(
    {
      group: dialect.group('authorization'),
      kind: 'SelfSubjectAccessReview',
      scope: 'Cluster',
      schema: selfReviewSchema,
      answer: (object, { user, services }) => answerReview(object, services, user, typed(selfReviewSchema, object).spec),
    },
    {
      validateCreate: (object) => [...validateAttributes(typed(selfReviewSchema, object).spec), ...validateNoMetadata(object)],
    },
  );
