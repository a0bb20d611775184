import { notFound } from '../../meta/status-error.ts';
import type { AdmissionAttributes } from '../../request/admission.ts';
import type { AdmissionPlugin } from '../chain.ts';
import { admissionForbidden } from '../forbidden.ts';

export type NamespacePhase = 'Active' | 'Terminating' | 'absent';

interface NamespaceLifecycleOptions {
  /** If the result is `absent`, it reflects all writes acknowledged before the call. */
  readonly phase: (namespace: string) => Promise<NamespacePhase> | NamespacePhase;
  /** Namespaces that cannot be deleted. */
  readonly immortal: ReadonlySet<string>;
  /**
   * `resource.group` of resources that may be created in any namespace, so that the response does not reveal which
   * namespaces exist.
   */
  readonly exempt: ReadonlySet<string>;
}

/**
 * Allows creates only in existing, active namespaces, and forbids deletion of system namespaces. Updates and deletes
 * are allowed in a terminating namespace, which must be emptied.
 */
export function namespaceLifecycle(options: NamespaceLifecycleOptions): AdmissionPlugin {
  const requireNamespace = (attributes: AdmissionAttributes): Promise<void> | void => {
    if (attributes.operation === 'create') return requireActive(attributes, options);
  };
  return {
    name: 'NamespaceLifecycle',
    sideEffects: 'none',
    concerns: (attributes) => deletesNamespace(attributes) || createsInNamespace(attributes, options),
    mutate: (attributes) =>
      deletesNamespace(attributes) ? refuseImmortal(attributes, options) : requireNamespace(attributes),
    // Checked again just before the write, since other plugins may have waited.
    validate: requireNamespace,
  };
}

const isNamespace = ({ info }: AdmissionAttributes): boolean => info.group === '' && info.resource === 'namespaces';

const deletesNamespace = (attributes: AdmissionAttributes): boolean =>
  isNamespace(attributes) && attributes.operation === 'delete';

function createsInNamespace(attributes: AdmissionAttributes, { exempt }: NamespaceLifecycleOptions): boolean {
  const { info, operation } = attributes;
  if (operation !== 'create' || info.namespace === '' || isNamespace(attributes)) return false;
  return !exempt.has(`${info.resource}.${info.group}`);
}

function refuseImmortal(attributes: AdmissionAttributes, { immortal }: NamespaceLifecycleOptions): void {
  if (immortal.has(attributes.name)) throw admissionForbidden(attributes, 'this namespace may not be deleted');
}

function requireActive(attributes: AdmissionAttributes, { phase }: NamespaceLifecycleOptions): Promise<void> | void {
  const found = phase(attributes.info.namespace);
  // Stay synchronous if the phase is known: after an await other writes could come in between.
  return found instanceof Promise
    ? found.then((late) => refuseInactive(attributes, late))
    : refuseInactive(attributes, found);
}

function refuseInactive(attributes: AdmissionAttributes, phase: NamespacePhase): void {
  const { namespace } = attributes.info;
  if (phase === 'absent') throw notFound({ group: '', resource: 'namespaces' }, namespace);
  if (phase === 'Active') return;
  const why = `unable to create new content in namespace ${namespace} because it is being terminated`;
  throw admissionForbidden(attributes, why, [
    {
      reason: 'NamespaceTerminating',
      message: `namespace ${namespace} is being terminated`,
      field: 'metadata.namespace',
    },
  ]);
}
