import type { Closable } from '../../base/disposable.ts';
import type { ControllerContext } from '../controller.ts';
import { keepInNamespaces } from './keep-in-namespaces.ts';

/** The account of pods that name none. */
const name = 'default';

/** Every active namespace has a default service account; one that is deleted is made again. */
export const startServiceAccountController = (context: ControllerContext): Closable =>
  keepInNamespaces(context, {
    resource: 'serviceaccounts',
    name,
    object: { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name } },
  });
