import type { AdmissionAttributes } from '../../request/admission.ts';
import type { AdmissionPlugin } from '../chain.ts';
import { admissionForbidden } from '../forbidden.ts';
import type { NamespacePhase } from './namespace-lifecycle.ts';

interface NamespaceAutoProvisionOptions {
  /** If the result is `absent`, it reflects all writes acknowledged before the call. */
  readonly phase: (namespace: string) => Promise<NamespacePhase> | NamespacePhase;
  /** Creates a namespace. Returns why it could not; undefined if it exists now, whoever created it. */
  readonly provision: (namespace: string) => Promise<string | undefined>;
}

/** Who creates something in a namespace that does not exist creates the namespace, with whatever rights. */
export const namespaceAutoProvision = (options: NamespaceAutoProvisionOptions): AdmissionPlugin => ({
  name: 'NamespaceAutoProvision',
  sideEffects: 'noneOnDryRun',
  concerns: ({ operation, dryRun, info: { group, resource, namespace } }) =>
    operation === 'create' && !dryRun && namespace !== '' && !(group === '' && resource === 'namespaces'),
  mutate(attributes) {
    const found = options.phase(attributes.info.namespace);
    if (found instanceof Promise) return found.then((late) => provide(attributes, late, options));
    return found === 'absent' ? provide(attributes, found, options) : undefined;
  },
});

async function provide(
  attributes: AdmissionAttributes,
  phase: NamespacePhase,
  { provision }: NamespaceAutoProvisionOptions,
): Promise<void> {
  const problem = phase === 'absent' ? await provision(attributes.info.namespace) : undefined;
  if (problem !== undefined) throw admissionForbidden(attributes, problem);
}
