import { type FieldError, invalid, notSupported, required } from '../../../../meta/field-error.ts';
import { isQualifiedName } from '../../../../meta/formats.ts';
import type { ObjectFieldSelector, ResourceFieldSelector } from '../container/env.ts';
import { failing } from './field-checks.ts';

/** Pod fields available to environment variables. */
export const environmentFields: readonly string[] = [
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'spec.nodeName',
  'spec.serviceAccountName',
  'status.hostIP',
  'status.hostIPs',
  'status.podIP',
  'status.podIPs',
];

/** Pod fields available to downward API files. */
export const fileFields: readonly string[] = [
  'metadata.name',
  'metadata.namespace',
  'metadata.labels',
  'metadata.annotations',
  'metadata.uid',
];

/** A single label or annotation: `metadata.labels['key']`. */
const subscripted = /^(.*)\['([^']*)'\]$/;

/** Fields that field selectors know as well, but that no reference may name. */
const selectableOnly = ['spec.restartPolicy', 'spec.schedulerName', 'status.phase'];

const knownFields = new Set([...environmentFields, ...fileFields, ...selectableOnly]);

/** Validates a downward API field reference. A path that is not a pod field is an error in any apiVersion. */
export function validateFieldSelector(
  { apiVersion = '', fieldPath = '' }: ObjectFieldSelector,
  path: string,
  supported: readonly string[],
): FieldError[] {
  const at = `${path}.fieldPath`;
  const unreadable = (detail: string): FieldError[] => [
    invalid(at, fieldPath, `error converting fieldPath: ${detail}`),
  ];
  if (fieldPath === '') return [required(at)];
  if (apiVersion !== 'v1') return unreadable(`unsupported pod version: ${apiVersion}`);
  const [, field, key = ''] = subscripted.exec(fieldPath) ?? [];
  switch (field) {
    case undefined:
      if (!knownFields.has(fieldPath)) return unreadable(`field label not supported: ${fieldPath}`);
      return supported.includes(fieldPath) ? [] : [notSupported(at, fieldPath, supported)];
    case 'metadata.annotations':
      return failing(isQualifiedName, path, key.toLowerCase());
    case 'metadata.labels':
      return failing(isQualifiedName, path, key);
    default:
      return unreadable(`field label does not support subscript: ${fieldPath}`);
  }
}

const resources = ['cpu', 'memory', 'ephemeral-storage'];
const resourceFields = ['limits', 'requests'].flatMap((which) => resources.map((name) => `${which}.${name}`));
const byteDivisors = ['1', ...['1k', '1M', '1G', '1T', '1P', '1E'], ...['1Ki', '1Mi', '1Gi', '1Ti', '1Pi', '1Ei']];

/** The units of a resource, and what errors call both. */
function divisorsOf(resource: string): { readonly units: readonly string[]; readonly text: string } {
  const name = resource.slice(resource.indexOf('.') + 1);
  if (name === 'cpu') return { units: ['1m', '1'], text: '1m and 1 are supported with the cpu' };
  const shown = name.startsWith('hugepages-') ? 'hugepages' : name === 'memory' ? name : 'local ephemeral storage';
  return { units: byteDivisors, text: `${byteDivisors.join(', ')} are supported with the ${shown}` };
}

/** `container`: containerName must be `named` (volumes), or is `implied` by the container that has the reference (env). */
export function validateResourceSelector(
  { containerName, resource = '', divisor = '0' }: ResourceFieldSelector,
  path: string,
  container: 'named' | 'implied',
): FieldError[] {
  const errors: FieldError[] = [];
  const hugePages = /^(limits|requests)\.hugepages-/.test(resource);
  const known = hugePages || resourceFields.includes(resource);
  if (container === 'named' && containerName === undefined) errors.push(required(`${path}.containerName`));
  else if (resource === '') errors.push(required(`${path}.resource`));
  else if (!known) errors.push(notSupported(`${path}.resource`, resource, resourceFields));
  if (!known) return errors;
  const { units, text } = divisorsOf(resource);
  // The published error shows the resource, not the divisor.
  if (divisor !== '0' && !units.includes(divisor)) {
    errors.push(invalid(`${path}.divisor`, resource, `only divisor's values ${text} resource`));
  }
  return errors;
}
