import type { Dialect } from './dialect.ts';

/** Every API version that kube-apiserver 1.32 knows, those that it no longer serves included, by short name of the group. */
const published: Readonly<Record<string, string>> = {
  '': 'v1',
  admissionregistration: 'v1 v1beta1 v1alpha1',
  apiextensions: 'v1 v1beta1',
  apiregistration: 'v1 v1beta1',
  apps: 'v1 v1beta2 v1beta1',
  authentication: 'v1 v1beta1 v1alpha1',
  authorization: 'v1 v1beta1',
  autoscaling: 'v2 v1 v2beta2 v2beta1',
  batch: 'v1 v1beta1',
  certificates: 'v1 v1beta1 v1alpha1',
  coordination: 'v1 v1beta1 v1alpha2',
  discovery: 'v1 v1beta1',
  events: 'v1 v1beta1',
  extensions: 'v1beta1',
  'flowcontrol.apiserver': 'v1 v1beta3 v1beta2 v1beta1',
  imagepolicy: 'v1alpha1',
  'internal.apiserver': 'v1alpha1',
  networking: 'v1 v1beta1 v1alpha1',
  node: 'v1 v1beta1 v1alpha1',
  policy: 'v1 v1beta1',
  'rbac.authorization': 'v1 v1beta1 v1alpha1',
  resource: 'v1beta1 v1alpha3',
  scheduling: 'v1 v1beta1 v1alpha1',
  storage: 'v1 v1beta1 v1alpha1',
  storagemigration: 'v1alpha1',
};

/** Versions of published groups, by full name. */
export const publishedApiVersions = (dialect: Dialect): ReadonlyMap<string, readonly string[]> =>
  new Map(Object.entries(published).map(([group, versions]) => [dialect.group(group), versions.split(' ')]));
