import { defaultPolicy } from '../../authz/rbac/bootstrap-policy/default-policy.ts';
import { joinPolicy } from '../../authz/rbac/bootstrap-policy/join-policy.ts';
import { serviceCidrPolicy } from '../../authz/rbac/bootstrap-policy/service-cidr-policy.ts';
import { simulatedNodesPolicy } from '../../authz/rbac/bootstrap-policy/simulated-nodes-policy.ts';
import { trustBundlePolicy } from '../../authz/rbac/bootstrap-policy/trust-bundle-policy.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import { dialectNames, dialects } from '../../dialect/dialects.ts';
import { kinds } from '../../kinds/kinds.ts';
import { apiVersionOf } from '../../kinds/stored-as.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import type { NewInitialObject } from '../../registry/write/complete-object.ts';
import { writeForms } from '../../registry/write/initial-forms.ts';
import { defaultFeatures, namesOfEnabled } from '../wiring/features.ts';
import { initialNamespaces, serverUser } from './bootstrap.ts';

/** Forms of the objects that a server may make at its first start, by dialect, for default feature gates. */
export const makeInitialForms = (): Readonly<Record<string, string>> =>
  Object.fromEntries(
    dialectNames.map((name) => {
      const dialect = dialects[name];
      return [name, writeForms({ dialect, features: namesOfEnabled(defaultFeatures) }, formedObjects(dialect))];
    }),
  );

/** Of the initial objects, those that depend on nothing but the dialect. */
export function formedObjects(dialect: Dialect): readonly NewInitialObject[] {
  const all = kinds(dialect);
  const namespaces = initialNamespaces(dialect).map(
    (name): ApiObject => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } }),
  );
  const policy = [defaultPolicy, joinPolicy, simulatedNodesPolicy, serviceCidrPolicy, trustBundlePolicy];
  const objects = [
    ...namespaces,
    ...policy.flatMap((make) => make(dialect)),
    ...all.flatMap(({ initialObjects = [] }) => initialObjects),
  ];
  return objects.flatMap((object) => {
    const kind = all.find((each) => each.kind === object.kind && apiVersionOf(each) === object.apiVersion);
    const served = kind && { kind, apiVersion: object.apiVersion };
    return served ? [{ served, object, user: serverUser, manager: dialect.apiServer }] : [];
  });
}
