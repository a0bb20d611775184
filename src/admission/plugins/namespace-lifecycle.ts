import { notFound, StatusError } from '../../meta/status-error.ts';
import type { AdmissionAttributes } from '../../request/admission.ts';
import type { AdmissionPlugin } from '../chain.ts';

export interface NamespaceLifecycleOptions {
  /** Not older than any write acknowledged before the call. */
  readonly phase: (
    namespace: string,
  ) => Promise<'Active' | 'Terminating' | 'absent'> | 'Active' | 'Terminating' | 'absent';
  /** Namespaces that may not be deleted. */
  readonly immortal: ReadonlySet<string>;
}

/**
 * Objects are created only in namespaces that are there and stay there; the namespaces that the server itself needs are
 * not deleted.
 */
export function namespaceLifecycle(options: NamespaceLifecycleOptions): AdmissionPlugin {
  return {
    name: 'NamespaceLifecycle',
    validate(attributes) {
      const { info, operation } = attributes;
      const isNamespace = info.group === '' && info.resource === 'namespaces';
      if (isNamespace && operation === 'delete') return refuseImmortal(attributes, options.immortal);
      if (!isNamespace && operation === 'create' && info.namespace !== '') return requireActive(attributes, options);
      return undefined;
    },
  };
}

function refuseImmortal({ name }: AdmissionAttributes, immortal: ReadonlySet<string>): void {
  if (!immortal.has(name)) return;
  throw new StatusError(
    'Forbidden',
    `namespaces ${JSON.stringify(name)} is forbidden: this namespace may not be deleted`,
    {
      details: { name, kind: 'namespaces' },
    },
  );
}

async function requireActive({ info, name }: AdmissionAttributes, options: NamespaceLifecycleOptions): Promise<void> {
  const phase = await options.phase(info.namespace);
  if (phase === 'absent') throw notFound({ group: '', resource: 'namespaces' }, info.namespace);
  if (phase === 'Active') return;
  const what = info.group === '' ? info.resource : `${info.resource}.${info.group}`;
  const why = `namespace ${info.namespace} is being terminated`;
  throw new StatusError(
    'Forbidden',
    `${what} ${JSON.stringify(name)} is forbidden: unable to create new content in namespace ${info.namespace} because it is being terminated`,
    {
      details: {
        name,
        ...(info.group !== '' && { group: info.group }),
        kind: info.resource,
        causes: [{ reason: 'NamespaceTerminating', message: why, field: 'metadata.namespace' }],
      },
    },
  );
}
