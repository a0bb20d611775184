import type { Dialect } from '../../dialect/dialect.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { bool, type Infer, list, mergeList, opt, ptr } from '../../schema/schema.ts';
import { ageColumn, column, countAt, nameColumn } from '../columns.ts';
import { defineKind } from '../define-kind.ts';
import type { Kind } from '../kind.ts';
import { kindSchema } from '../meta/kind-schema.ts';
import { typed } from '../typed.ts';
import { localObjectReference, objectReference } from './references.ts';
import { serviceAccountToken } from './service-account-token.ts';

const schema = kindSchema('api.core.v1.ServiceAccount', 'An identity for programs, and the secrets that go with it.', {
  secrets: opt(2, mergeList('name', objectReference, { duplicatesAllowed: true }), 'Secrets in the same namespace that pods with this account may use.'),
  imagePullSecrets: opt(3, list(localObjectReference), 'Secrets in the same namespace that pods with this account pull images with.'),
  automountServiceAccountToken: ptr(4, bool(), 'Whether pods with this account get a token mounted; a pod may say otherwise.'),
});

export type ServiceAccount = Infer<typeof schema>;

/** Casts a decoded ServiceAccount to its static type. */
export const asServiceAccount = (object: ApiObject): ServiceAccount => typed(schema, object);

/** Secret references are in the same namespace, so only the name is kept. */
function keepNames(object: ApiObject): void {
  const account = typed(schema, object);
  if (account.secrets === undefined) return;
  account.secrets = account.secrets.map(({ name }) => (name === undefined ? {} : { name }));
}

/** ServiceAccount (spec section 2.2). Unlike in kube-apiserver, PUT creates it (spec section 4.2). */
export const serviceAccount = (dialect: Dialect): Kind => {
  const deprecated = `${dialect.domain}/enforce-mountable-secrets`;
  const carries = (object: ApiObject | undefined): boolean => object?.metadata.annotations?.[deprecated] !== undefined;
  return defineKind({
    kind: 'ServiceAccount',
    shortNames: ['sa'],
    schema,
    columns: [nameColumn, column('Secrets', 'Number of secrets.', countAt('.secrets')), ageColumn],
    strategy: {
      prepareForCreate: keepNames,
      prepareForUpdate: keepNames,
      warnings: (object, old) =>
        carries(object) && !carries(old) ? [`metadata.annotations[${deprecated}]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets`] : [],
    },
    subresources: [serviceAccountToken(dialect)],
    createOnUpdate: true,
    deleteReturnsObject: true,
  });
};
