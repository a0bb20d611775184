import { resourcePath } from '../../client/resource-path.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import { schema } from '../../kinds/certificates/certificate-signing-request-schema.ts';
import { typed } from '../../kinds/typed.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import type { Infer } from '../../schema/schema.ts';

type Request = Infer<typeof schema>;
type Condition = NonNullable<NonNullable<Request['status']>['conditions']>[number];

/** The path of all requests, of one, or of its subresource. */
export const signingRequestPath = (
  dialect: Dialect,
  one: Pick<Parameters<typeof resourcePath>[0], 'name' | 'subresource'> = {},
): string =>
  resourcePath({ apiVersion: `${dialect.group('certificates')}/v1`, resource: 'certificatesigningrequests', ...one });

export const specOf = (object: ApiObject): NonNullable<Request['spec']> => typed(schema, object).spec ?? {};
const statusOf = (object: ApiObject): NonNullable<Request['status']> => typed(schema, object).status ?? {};
export const conditionsOf = (object: ApiObject): readonly Condition[] => statusOf(object).conditions ?? [];

export const conditionOf = (object: ApiObject, type: 'Approved' | 'Denied' | 'Failed'): Condition | undefined =>
  conditionsOf(object).find((condition) => condition.type === type);

/** PEM in base64; '' if there is none. */
export const certificateOf = (object: ApiObject): string => statusOf(object).certificate ?? '';

/** The request with this certificate in PEM. */
export const withCertificate = (object: ApiObject, pem: string): ApiObject => ({
  ...object,
  status: { ...statusOf(object), certificate: Buffer.from(pem).toString('base64') },
});

/** The request with one more condition. The server sets its times. */
export const withCondition = (
  object: ApiObject,
  condition: Required<Pick<Condition, 'type' | 'status' | 'reason' | 'message'>>,
): ApiObject => ({ ...object, status: { ...statusOf(object), conditions: [...conditionsOf(object), condition] } });
