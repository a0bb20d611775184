import { createPrivateKey, X509Certificate } from 'node:crypto';
import { limits } from '../../base/limits.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { type FieldError, invalid, required, tooLong } from '../../meta/field-error.ts';
import { selectable } from '../../meta/selectable-field.ts';
import { setOwn } from '../../schema/own-property.ts';
import { bool, bytes, map, opt, ptr, string } from '../../schema/schema.ts';
import { ageColumn, column, countAt, nameColumn } from '../columns.ts';
import { defineKind } from '../define-kind.ts';
import type { Kind } from '../kind.ts';
import { kindSchema } from '../meta/kind-schema.ts';
import { typed } from '../typed.ts';
import { validateDataKeys } from './data-keys.ts';

const schema = kindSchema(
  'api.core.v1.Secret',
  'Secret data for others to use, as keys and values.',
  {
    immutable: ptr(5, bool(), 'True means that the data can never change again; neither can this field.'),
    data: opt(2, map(bytes()), 'The secret values, in base64.'),
    stringData: opt(4, map(string()), 'Values as plain text, for writing only: they are put into data, over what is there, and never shown.'),
    type: opt(3, string(), 'Says what the data is for, and which keys must be there.', { default: 'Opaque', immutable: 'always' }),
  },
  { freeze: { by: 'immutable', fields: ['data'] } },
);

type Data = Readonly<Record<string, string>>;

const text = (data: Data, key: string): string => Buffer.from(data[key] ?? '', 'base64').toString('utf8');
const dataKey = (key: string): string => `data[${key}]`;
const missing = (data: Data, ...keys: string[]): FieldError[] => keys.filter((key) => !Object.hasOwn(data, key)).map((key) => required(dataKey(key)));

/** The value must be a JSON object. Errors have no detail, which would disclose parts of the secret. */
function validateJson(data: Data, key: string): FieldError[] {
  const absent = missing(data, key);
  if (absent.length > 0) return absent;
  const broken = [invalid(dataKey(key), '<secret contents redacted>', 'must be a JSON object')];
  try {
    const value: unknown = JSON.parse(text(data, key));
    // kube-apiserver accepts `null` as an empty object.
    return typeof value === 'object' && !Array.isArray(value) ? [] : broken;
  } catch {
    return broken;
  }
}

/** Rules by Secret type. Other types have none. */
function typeRules({ domain }: Dialect): Readonly<Record<string, (data: Data, object: ApiObject) => FieldError[]>> {
  const accountName = `${domain}/service-account.name`;
  return {
    [`${domain}/service-account-token`]: (_data, { metadata }) => (metadata.annotations?.[accountName] ? [] : [required(`metadata.annotations[${accountName}]`)]),
    [`${domain}/dockercfg`]: (data) => validateJson(data, '.dockercfg'),
    [`${domain}/dockerconfigjson`]: (data) => validateJson(data, '.dockerconfigjson'),
    [`${domain}/basic-auth`]: (data) => {
      const absent = missing(data, 'username', 'password');
      return absent.length === 2 ? absent : [];
    },
    [`${domain}/ssh-auth`]: (data) => (data['ssh-privatekey'] ? [] : [required(dataKey('ssh-privatekey'))]),
    [tlsType({ domain })]: (data) => missing(data, 'tls.crt', 'tls.key'),
  };
}

const tlsType = ({ domain }: Pick<Dialect, 'domain'>): string => `${domain}/tls`;

/** Moves `stringData`, which is write-only, into `data`. */
function mergeStringData(object: ApiObject): void {
  const secret = typed(schema, object);
  if (secret.stringData === undefined) return;
  const data: Record<string, string> = { ...secret.data };
  for (const [key, value] of Object.entries(secret.stringData)) {
    setOwn(data, key, Buffer.from(value, 'utf8').toString('base64'));
  }
  if (Object.keys(data).length > 0) secret.data = data;
  delete secret.stringData;
}

/** The problem of an invalid or mismatched TLS key pair, for a warning; the secret is stored anyway. */
function keyPairProblem(data: Data): string | undefined {
  try {
    const certificate = text(data, 'tls.crt');
    if (!certificate.includes('-----BEGIN')) return 'tls: failed to find any PEM data in certificate input';
    const key = text(data, 'tls.key');
    if (!key.includes('-----BEGIN')) return 'tls: failed to find any PEM data in key input';
    return new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key)) ? undefined : 'tls: private key does not match public key';
  } catch {
    return 'tls: failed to parse the certificate or the private key';
  }
}

export const secret = (dialect: Dialect): Kind => {
  const rules = typeRules(dialect);
  const validate = (object: ApiObject): FieldError[] => {
    const { data = {}, type = '' } = typed(schema, object);
    const errors = validateDataKeys(data, 'data');
    const size = Object.values(data).reduce((sum, value) => sum + Buffer.byteLength(value, 'base64'), 0);
    if (size > limits.dataBytesMax) errors.push(tooLong('data', limits.dataBytesMax));
    if (Object.hasOwn(rules, type)) errors.push(...(rules[type]?.(data, object) ?? []));
    return errors;
  };
  return defineKind({
    kind: 'Secret',
    schema,
    selectableFields: [selectable('type')],
    columns: [nameColumn, column('Type', 'What the data is for.', '.type'), column('Data', 'Number of values.', countAt('.data')), ageColumn],
    strategy: {
      default: mergeStringData,
      validateCreate: validate,
      validateUpdate: validate,
      warnings: (object) => {
        const { type, data = {} } = typed(schema, object);
        const problem = type === tlsType(dialect) ? keyPairProblem(data) : undefined;
        return problem === undefined ? [] : [problem];
      },
    },
  });
};
