import { always, int32, list, opt, ptr, string, struct } from '../../schema/schema.ts';
import { listMeta } from './list-schema.ts';
import { typeMeta } from './type-meta.ts';

const statusCause = struct('apimachinery.pkg.apis.meta.v1.StatusCause', 'One of the reasons of a failure.', {
  reason: opt(1, string(), 'Machine-readable kind of the cause.'),
  message: opt(2, string(), 'The cause in words.'),
  field: opt(3, string(), 'Path of the field that the cause is about.'),
});

const statusDetails = struct('apimachinery.pkg.apis.meta.v1.StatusDetails', 'Data that belongs to the reason.', {
  name: opt(1, string(), 'Name of the object that the status is about.'),
  group: opt(2, string(), 'API group of that object.'),
  kind: opt(3, string(), 'Kind or resource of that object.'),
  uid: opt(6, string(), 'UID of that object.'),
  causes: opt(4, list(statusCause), 'The single causes of a failure.'),
  retryAfterSeconds: opt(5, int32(), 'Seconds after which the request may be sent again.'),
});

/** Response of a failed request, or of one that has no object to return (design section 7). */
export const status = struct('apimachinery.pkg.apis.meta.v1.Status', 'How a request ended.', {
  ...typeMeta,
  metadata: always(1, listMeta, 'Metadata of the answer; empty.'),
  status: opt(2, string(), '`Success` or `Failure`.'),
  message: opt(3, string(), 'What happened, in words.'),
  reason: opt(4, string(), 'Machine-readable reason of a failure.'),
  details: ptr(5, statusDetails, 'Data that belongs to the reason.'),
  code: opt(6, int32(), 'HTTP status code.'),
});
