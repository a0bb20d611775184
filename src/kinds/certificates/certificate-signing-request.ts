import type { Dialect } from '../../dialect/dialect.ts';
import { signerNames } from '../../dialect/signer-names.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { duplicate, errorsOfEach, type FieldError, forbidden, invalid, notSupported, required } from '../../meta/field-error.ts';
import { selectable } from '../../meta/selectable-field.ts';
import { humanDuration } from '../../meta/time.ts';
import { cloneJson } from '../../patch/json-value.ts';
import { readCertificateRequest } from '../../pki/certificate-request.ts';
import { usageNames } from '../../pki/key-usages.ts';
import { rsaBitsMin } from '../../pki/signature-algorithm.ts';
import type { Infer } from '../../schema/schema.ts';
import { userInfoOf } from '../authentication/user-info.ts';
import { ageColumn, column, nameColumn, none } from '../columns.ts';
import { defineKind } from '../define-kind.ts';
import type { Kind, StrategyContext } from '../kind.ts';
import { typed } from '../typed.ts';
import { allErrors, type Validation } from '../validation.ts';
import { schema } from './certificate-signing-request-schema.ts';
import { issuedCertificateProblem } from './issued-certificate.ts';
import { type Conditions, hasCondition, keepDecisions, setConditionTimes, validateConditions, validateTransition } from './request-conditions.ts';
import { countDuration } from './requested-duration.ts';
import { validateSignerName } from './signer-name.ts';

type Request = Infer<typeof schema>;
type Spec = NonNullable<Request['spec']>;
type Status = NonNullable<Request['status']>;

const specOf = (object: ApiObject): Spec => typed(schema, object).spec ?? {};
const statusOf = (object: ApiObject): Status => typed(schema, object).status ?? {};
const conditionsOf = (object: ApiObject): Conditions => statusOf(object).conditions ?? [];

const expirationSecondsMin = 600;

/** Only these fields are the client's; who asks is said by the server, and nobody makes a request that is decided already. */
function prepareForCreate(object: ApiObject, { user }: StrategyContext): void {
  const request = typed(schema, object);
  const { username: _username, uid: _uid, groups: _groups, extra: _extra, ...asked } = specOf(object);
  request.spec = { ...asked, ...userInfoOf(user) };
  request.status = {};
}

async function validateRequest({ request = '', signerName = '' }: Spec, dialect: Dialect): Promise<FieldError[]> {
  const refuse = (detail: string): FieldError[] => [invalid('spec.request', '<certificate request>', detail)];
  try {
    const { publicKey, signatureProblem } = await readCertificateRequest(Buffer.from(request, 'base64'));
    if (signatureProblem !== undefined) return refuse(signatureProblem);
    const { modulusLength = rsaBitsMin } = publicKey.asymmetricKeyDetails ?? {};
    const { client, nodeClient, nodeServing } = signerNames(dialect);
    const isBuiltIn = [client, nodeClient, nodeServing].some((name) => name === signerName);
    return isBuiltIn && modulusLength < rsaBitsMin ? refuse(`${signerName} signs no RSA key of less than ${rsaBitsMin} bits`) : [];
  } catch (error) {
    return refuse(error instanceof Error ? error.message : 'unreadable');
  }
}

function validateUsages(wanted: readonly string[]): FieldError[] {
  if (wanted.length === 0) return [required('spec.usages')];
  const seen = new Set<string>();
  return errorsOfEach(wanted, (usage, index) => {
    const field = `spec.usages[${index}]`;
    const errors = usageNames.includes(usage) ? [] : [notSupported(field, usage, usageNames)];
    if (seen.has(usage)) errors.push(duplicate(field, usage));
    seen.add(usage);
    return errors;
  });
}

/** The spec never changes, so that it is validated at creation only. */
async function validateCreate(object: ApiObject, { dialect }: StrategyContext): Promise<FieldError[]> {
  const spec = specOf(object);
  const { signerName = '', expirationSeconds = expirationSecondsMin } = spec;
  const isLegacy = signerName === signerNames(dialect).legacyUnknown;
  return [
    ...(await validateRequest(spec, dialect)),
    ...validateUsages(spec.usages ?? []),
    ...(isLegacy ? [invalid('spec.signerName', signerName, 'the legacy signerName is not allowed via this API version')] : validateSignerName(signerName, 'spec.signerName')),
    ...(expirationSeconds < expirationSecondsMin ? [invalid('spec.expirationSeconds', expirationSeconds, 'may not specify a duration less than 600 seconds (10 minutes)')] : []),
  ];
}

function keepSpec(object: ApiObject, old: ApiObject): void {
  object['spec'] = cloneJson(old['spec']);
}

/** `approval` changes conditions only. */
function prepareApproval(object: ApiObject, old: ApiObject, { now }: StrategyContext): void {
  keepSpec(object, old);
  const conditions = conditionsOf(object);
  setConditionTimes(conditions, conditionsOf(old), now);
  const { conditions: _stored, certificate } = statusOf(old);
  typed(schema, object).status = { ...(conditions.length > 0 && { conditions }), ...(certificate !== undefined && { certificate }) };
}

/** `status` changes the certificate, and conditions other than the decision. */
function prepareStatus(object: ApiObject, old: ApiObject, { now }: StrategyContext): void {
  keepSpec(object, old);
  const conditions = keepDecisions(conditionsOf(object), conditionsOf(old));
  setConditionTimes(conditions, conditionsOf(old), now);
  if (conditions.length > 0) typed(schema, object).status = { ...statusOf(object), conditions };
}

const validateUpdate = (object: ApiObject, old: ApiObject, by: { readonly decides: boolean }): FieldError[] => [
  ...validateConditions(conditionsOf(object), conditionsOf(old)),
  ...validateTransition(conditionsOf(object), conditionsOf(old), by),
  ...validateUnsigned(object, old),
];

const refuses = (object: ApiObject): boolean => hasCondition(conditionsOf(object), 'Denied', 'Failed');

/** A request that is denied or failed has no certificate, whichever of both is there first (spec section 3.1). */
function validateUnsigned(object: ApiObject, old: ApiObject): FieldError[] {
  const isWrong = (each: ApiObject): boolean => refuses(each) && (statusOf(each).certificate ?? '') !== '';
  return isWrong(object) && !isWrong(old) ? [forbidden('status.certificate', 'a request that is denied or failed has no certificate')] : [];
}

function validateCertificate(object: ApiObject, old: ApiObject): Validation {
  const [{ certificate = '' }, { certificate: stored = '' }] = [statusOf(object), statusOf(old)];
  if (certificate === stored) return [];
  if (stored !== '') return [forbidden('status.certificate', 'updates may not modify existing certificate content')];
  return issuedCertificateProblem(certificate).then((problem) => (problem === undefined ? [] : [invalid('status.certificate', '<certificate data>', problem)]));
}

const validateStatus = (object: ApiObject, old: ApiObject): Validation => allErrors(validateUpdate(object, old, { decides: false }), validateCertificate(object, old));

/** The words of `kubectl get`: a denial counts more than an approval. */
function state(object: ApiObject): string {
  const conditions = conditionsOf(object);
  const decision = ['Denied', 'Approved'].find((type) => hasCondition(conditions, type)) ?? 'Pending';
  return [decision, ...(hasCondition(conditions, 'Failed') ? ['Failed'] : []), ...(statusOf(object).certificate ? ['Issued'] : [])].join(',');
}

function requestedDuration(object: ApiObject): string {
  const { expirationSeconds } = specOf(object);
  return expirationSeconds === undefined ? none : humanDuration(expirationSeconds * 1000);
}

/** CertificateSigningRequest (spec sections 2.7 and 3.1). */
export const certificateSigningRequest = (dialect: Dialect): Kind =>
  defineKind({
    group: dialect.group('certificates'),
    kind: 'CertificateSigningRequest',
    shortNames: ['csr'],
    scope: 'Cluster',
    schema,
    nameFormat: 'pathSegment',
    selectableFields: [selectable('spec.signerName')],
    columns: [
      nameColumn,
      ageColumn,
      column('SignerName', 'The signer that is asked.', '.spec.signerName', { absent: none }),
      column('Requestor', 'Who made the request.', '.spec.username'),
      column('RequestedDuration', 'Wanted lifetime of the certificate.', requestedDuration),
      column('Condition', 'Whether the request is pending, approved, denied, failed, and issued.', state),
    ],
    strategy: { prepareForCreate, validateCreate, prepareForUpdate: keepSpec, countUpdate: (object, old) => countDuration(object, old, dialect.domain) },
    subresources: [
      {
        type: 'view',
        name: 'approval',
        verbs: ['get', 'update', 'patch'],
        prepareForUpdate: prepareApproval,
        resetFields: [['spec'], ['status', 'certificate']],
        validateUpdate: (object, old) => validateUpdate(object, old, { decides: true }),
      },
      {
        type: 'view',
        name: 'status',
        verbs: ['get', 'update', 'patch'],
        prepareForUpdate: prepareStatus,
        resetFields: [['spec'], ['status', 'conditions']],
        validateUpdate: validateStatus,
      },
    ],
  });
