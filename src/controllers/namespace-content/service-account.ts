import type { Closable } from '../../base/disposable.ts';
import type { ControllerContext } from '../controller.ts';
import { keepInNamespaces } from './keep-in-namespaces.ts';

/** Service account of pods that specify none. */
const name = 'default';

/** Keeps a default service account in every active namespace. */
export const startServiceAccountController = (context: ControllerContext): Closable =>
  keepInNamespaces(context, {
    queue: 'serviceaccount',
    resource: 'serviceaccounts',
    name,
    object: { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name } },
  });
