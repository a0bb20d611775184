import { notFound } from '../../meta/status-error.ts';
import type { AdmissionAttributes } from '../../request/admission.ts';
import type { AdmissionPlugin } from '../chain.ts';
import type { NamespacePhase } from './namespace-lifecycle.ts';

interface NamespaceExistsOptions {
  /** If the result is `absent`, it reflects all writes acknowledged before the call. */
  readonly phase: (namespace: string) => Promise<NamespacePhase> | NamespacePhase;
}

/** Refuses every write in a namespace that does not exist: updates and deletes, too. */
export const namespaceExists = ({ phase }: NamespaceExistsOptions): AdmissionPlugin => ({
  name: 'NamespaceExists',
  sideEffects: 'none',
  concerns: ({ operation, info: { group, resource, namespace } }) =>
    operation !== 'connect' && namespace !== '' && !(group === '' && resource === 'namespaces'),
  validate(attributes) {
    const found = phase(attributes.info.namespace);
    return found instanceof Promise
      ? found.then((late) => refuseAbsent(attributes, late))
      : refuseAbsent(attributes, found);
  },
});

function refuseAbsent({ info: { namespace } }: AdmissionAttributes, phase: NamespacePhase): void {
  if (phase === 'absent') throw notFound({ group: '', resource: 'namespaces' }, namespace);
}
