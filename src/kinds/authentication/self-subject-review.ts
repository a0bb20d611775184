import type { Dialect } from '../../dialect/dialect.ts';
import { always, struct } from '../../schema/schema.ts';
import { formatTime } from '../../schema/time.ts';
import { answeredKind } from '../answered-kind.ts';
import type { Kind } from '../kind.ts';
import { kindSchema } from '../meta/kind-schema.ts';
import { userInfo, userInfoOf } from './user-info.ts';

const status = struct('api.authentication.v1.SelfSubjectReviewStatus', 'Who the caller is.', {
  userInfo: always(1, userInfo, 'The caller, or whom the caller impersonates.'),
});

const schema = kindSchema('api.authentication.v1.SelfSubjectReview', 'Asks who the caller is.', {
  status: always(2, status, 'The answer; filled in by the server.'),
});

/** SelfSubjectReview (spec section 2.6). The response contains nothing of the request. */
export const selfSubjectReview = (dialect: Dialect): Kind =>
  answeredKind({
    group: dialect.group('authentication'),
    kind: 'SelfSubjectReview',
    scope: 'Cluster',
    schema,
    answer: ({ kind, apiVersion }, { user, now }) => ({
      kind,
      apiVersion,
      metadata: { creationTimestamp: formatTime(now) },
      status: { userInfo: userInfoOf(user) },
    }),
  });
