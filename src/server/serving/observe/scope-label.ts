import type { ResourceRequest } from '../../../request/request-info.ts';

/** Values of the label `scope`, by `scopeIndex`. */
export const scopeLabels = ['resource', 'namespace', 'cluster'] as const;

/** The scope of a request as kube-apiserver determines it for its metrics. */
export function scopeIndex({ name, verb, namespace }: ResourceRequest): 0 | 1 | 2 {
  if (name !== '' || verb === 'create') return 0;
  return namespace === '' ? 2 : 1;
}

export const scopeLabel = (info: ResourceRequest): string => scopeLabels[scopeIndex(info)];
