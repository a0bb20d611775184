import type { Closable } from '../../base/disposable.ts';
import type { ControllerContext } from '../controller.ts';
import { keepInNamespaces } from './keep-in-namespaces.ts';

/** Key of the CA bundle, which pods mount beside their token. */
const key = 'ca.crt';

/**
 * Keeps a ConfigMap with the API server's CA in every active namespace, and reverts changes to it. As in
 * kube-controller-manager, it has a description, whichever.
 */
export function startRootCaPublisher(context: ControllerContext): Closable {
  const { dialect, rootAuthority } = context;
  const name = dialect.rootCaConfigMap;
  const data = { [key]: rootAuthority };
  const describedBy = `${dialect.domain}/description`;
  const annotations = {
    [describedBy]:
      'The certificate authority of the API server, for clients that reach it from inside the cluster. It is not promised to be good for anything else.',
  };
  return keepInNamespaces(context, {
    queue: 'root_ca_cert_publisher',
    passed: context.rootCaPublished,
    resource: 'configmaps',
    name,
    object: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, annotations }, data },
    mend(found) {
      const { metadata } = found;
      if (isAsWanted(found['data'], data) && metadata.annotations?.[describedBy]) return undefined;
      return { ...found, data, metadata: { ...metadata, annotations: { ...metadata.annotations, ...annotations } } };
    },
  });
}

const isAsWanted = (found: unknown, wanted: Readonly<Record<string, string>>): boolean =>
  typeof found === 'object' &&
  found !== null &&
  Object.keys(found).length === 1 &&
  (found as Readonly<Record<string, unknown>>)[key] === wanted[key];
