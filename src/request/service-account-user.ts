/** The group of all service accounts (spec section 5.3). */
export const groupAccounts = 'system:serviceaccounts';

/** What the user names of all service accounts begin with. Namespace and name follow, with a colon between them. */
export const serviceAccountPrefix = 'system:serviceaccount:';

/** The user name of a service account (spec section 5.3). */
export const accountUsername = ({ namespace, name }: { readonly namespace: string; readonly name: string }): string =>
  `${serviceAccountPrefix}${namespace}:${name}`;

/** The groups of a service account (spec section 5.3), without those of every authenticated user. */
export const accountGroups = (namespace: string): readonly string[] => [groupAccounts, `${groupAccounts}:${namespace}`];
