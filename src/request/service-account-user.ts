/** The group of all service accounts (spec section 5.3). */
export const groupAccounts = 'system:serviceaccounts';

/** The user name of a service account (spec section 5.3). */
export const accountUsername = ({ namespace, name }: { readonly namespace: string; readonly name: string }): string =>
  `system:serviceaccount:${namespace}:${name}`;

/** The groups of a service account (spec section 5.3), without those of every authenticated user. */
export const accountGroups = (namespace: string): readonly string[] => [groupAccounts, `${groupAccounts}:${namespace}`];
