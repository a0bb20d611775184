import { stringifyJson } from '../../codec/json.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import { apiVersionOf } from '../../kinds/stored-as.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import type { AdmissionAttributes, ServedKind } from '../../request/admission.ts';
import { admissionRequest } from '../matching/admission-request.ts';
import type { ReviewVersion } from './webhook.ts';

/** The question that admission webhooks are asked (`AdmissionReview.request`, release 1.32). */

/** `admission.k8s.io/v1` in the dialect `kubernetes`. */
export const reviewApiVersion = (dialect: Dialect, version: ReviewVersion): string =>
  apiVersionOf({ group: dialect.group('admission'), version });

/** What a webhook is asked about. */
export interface Question {
  readonly dialect: Dialect;
  readonly version: ReviewVersion;
  readonly uid: string;
  readonly attributes: AdmissionAttributes;
  readonly as: ServedKind;
  /** JSON of the objects in the version of `as`; `null` if there is none. */
  readonly object: Buffer;
  readonly old: Buffer;
}

/** The body of a call. */
export function encodeReview({ dialect, version, uid, attributes, as, object, old }: Question): Buffer {
  const head = { kind: 'AdmissionReview', apiVersion: reviewApiVersion(dialect, version) };
  const request = stringifyJson({ uid, ...admissionRequest(attributes, as) });
  return Buffer.concat([
    Buffer.from(`${stringifyJson(head).slice(0, -1)},"request":${request.slice(0, -1)},"object":`),
    object,
    oldObjectField,
    old,
    end,
  ]);
}

const oldObjectField = Buffer.from(',"oldObject":');
const end = Buffer.from('}}');
const nothing = Buffer.from('null');

/** An object as reviews show it. */
export const encodeReviewed = (object: ApiObject | undefined): Buffer =>
  object === undefined ? nothing : Buffer.from(stringifyJson(object));
