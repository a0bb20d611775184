import type { Dialect } from '../../dialect/dialect.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import type { SecretTokenSigner } from '../controller.ts';

/** What is kept in memory of a Secret that is to hold a token of a service account: none of what it holds. */
export interface TokenSecret {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** The account that it names. */
  readonly accountName: string;
  /** '' where it does not say which of that name; any will do then. */
  readonly accountUid: string;
  /** It has all that it should. */
  readonly filled: boolean;
}

/** What goes into every token Secret. */
export interface TokenSecretRules {
  readonly dialect: Dialect;
  /** PEM; '' where there is none to put in. */
  readonly rootAuthority: string;
  readonly signToken: SecretTokenSigner;
}

/** The type of such Secrets. */
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

/** The Secret with all that it should have; what it has already stays, but for an authority that is another one. */
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
