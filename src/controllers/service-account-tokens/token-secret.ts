import type { Dialect } from '../../dialect/dialect.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import type { SecretTokenSigner } from '../controller.ts';

/** Metadata of a service account token Secret, without its data. */
export interface TokenSecret {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** Name of the referenced account. */
  readonly accountName: string;
  /** UID of the referenced account; '' if not given, which matches any account of that name. */
  readonly accountUid: string;
  /** All required data is present. */
  readonly filled: boolean;
}

/** Inputs for the content of every token Secret. */
export interface TokenSecretRules {
  readonly dialect: Dialect;
  /** PEM; '' if there is none. */
  readonly rootAuthority: string;
  readonly signToken: SecretTokenSigner;
}

/** Type of service account token Secrets. */
export const tokenSecretType = ({ domain }: Dialect): string => `${domain}/service-account-token`;

const keys = { token: 'token', namespace: 'namespace', authority: 'ca.crt' } as const;
const nameAnnotation = ({ domain }: Dialect): string => `${domain}/service-account.name`;
const uidAnnotation = ({ domain }: Dialect): string => `${domain}/service-account.uid`;

export function readTokenSecret(object: ApiObject, rules: Omit<TokenSecretRules, 'signToken'>): TokenSecret {
  const { namespace = '', name = '', uid = '', resourceVersion = '', annotations = {} } = object.metadata;
  return {
    namespace,
    name,
    uid,
    resourceVersion,
    accountName: annotations[nameAnnotation(rules.dialect)] ?? '',
    accountUid: annotations[uidAnnotation(rules.dialect)] ?? '',
    filled: Object.keys(missingOf(dataOf(object), rules.rootAuthority)).length === 0,
  };
}

/** The Secret with all required data; existing data is kept, except a different CA. */
export async function fillTokenSecret(
  object: ApiObject,
  account: { readonly name: string; readonly uid: string },
  { dialect, rootAuthority, signToken }: TokenSecretRules,
): Promise<ApiObject> {
  const { metadata } = object;
  const { namespace = '', name: secretName = '' } = metadata;
  const missing = missingOf(dataOf(object), rootAuthority);
  const token = missing.token && (await signToken({ namespace, ...account }, secretName));
  const annotations = { [nameAnnotation(dialect)]: account.name, [uidAnnotation(dialect)]: account.uid };
  return {
    ...object,
    metadata: { ...metadata, annotations: { ...metadata.annotations, ...annotations } },
    data: {
      ...dataOf(object),
      ...(missing.authority && { [keys.authority]: encode(rootAuthority) }),
      ...(missing.namespace && { [keys.namespace]: encode(namespace) }),
      ...(token && { [keys.token]: encode(token) }),
    },
  };
}

type Data = Readonly<Record<string, string>>;

const dataOf = (object: ApiObject): Data => (object['data'] ?? {}) as Data;

function missingOf(data: Data, rootAuthority: string): { readonly [K in keyof typeof keys]?: true } {
  const authority = rootAuthority === '' || data[keys.authority] === encode(rootAuthority);
  return {
    ...(!data[keys.token] && { token: true as const }),
    ...(!data[keys.namespace] && { namespace: true as const }),
    ...(!authority && { authority: true as const }),
  };
}

const encode = (text: string): string => Buffer.from(text, 'utf8').toString('base64');
