import type { Dialect } from '../../dialect/dialect.ts';
import { formatTime } from '../../meta/time.ts';
import { always, type StructSchema, struct } from '../../schema/schema.ts';
import { answeredKind } from '../answered-kind.ts';
import type { Kind } from '../kind.ts';
import { kindSchema } from '../meta/kind-schema.ts';
import { userInfo, userInfoOf } from './user-info.ts';

const schemaOf = (version: string): StructSchema => {
  const status = struct(`api.authentication.${version}.SelfSubjectReviewStatus`, 'Who the caller is.', {
    userInfo: always(1, userInfo, 'The caller, or whom the caller impersonates.'),
  });
  return kindSchema(`api.authentication.${version}.SelfSubjectReview`, 'Asks who the caller is.', {
    status: always(2, status, 'The answer; filled in by the server.'),
  });
};

const reviewIn = (dialect: Dialect, version: string): Kind =>
  answeredKind({
    group: dialect.group('authentication'),
    version,
    kind: 'SelfSubjectReview',
    scope: 'Cluster',
    schema: schemaOf(version),
    answer: ({ kind, apiVersion }, { user, now }) => ({
      kind,
      apiVersion,
      metadata: { creationTimestamp: formatTime(now) },
      status: { userInfo: userInfoOf(user) },
    }),
  });

/** SelfSubjectReview (spec section 2.6) in all of its versions. The response contains nothing of the request. */
export const selfSubjectReviews = (dialect: Dialect): readonly Kind[] => [
  reviewIn(dialect, 'v1'),
  ...['v1beta1', 'v1alpha1'].map(
    (version): Kind => ({
      ...reviewIn(dialect, version),
      offByDefault: true,
      deprecated: { release: '1.30', removedRelease: '1.33' },
    }),
  ),
];
