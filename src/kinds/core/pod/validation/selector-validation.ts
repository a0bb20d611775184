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

/** Validates a downward API field reference. A path that is not a pod field is an error in any apiVersion. */
export function validateFieldSelector(
  { apiVersion = '', fieldPath = '' }: ObjectFieldSelector,
  path: string,
  supported: readonly string[],
): FieldError[] {
  if (apiVersion !== 'v1') {
    return [
      invalid(`${path}.fieldPath`, fieldPath, `error converting fieldPath: unsupported pod version: ${apiVersion}`),
    ];
  }
  if (fieldPath === '') return [];
  const [, field, key = ''] = subscripted.exec(fieldPath) ?? [];
  switch (field) {
    case undefined:
      return supported.includes(fieldPath) ? [] : [notSupported(`${path}.fieldPath`, fieldPath, supported)];
    case 'metadata.annotations':
      return failing(isQualifiedName, path, key.toLowerCase());
    case 'metadata.labels':
      return failing(isQualifiedName, path, key);
    default:
      return [invalid(path, field, 'does not support subscript')];
  }
}

const resources = ['cpu', 'memory', 'ephemeral-storage'];
const resourceFields = ['limits', 'requests'].flatMap((which) => resources.map((name) => `${which}.${name}`));
const processorDivisors = ['1m', '1'];
const byteDivisors = [
  '1',
  ...['k', 'M', 'G', 'T', 'P', 'E'].flatMap((unit) => [`1${unit}`, `1${unit === 'k' ? 'K' : unit}i`]),
];

/** `container`: containerName must be `named` (volumes), or is `implied` by the container that has the reference (env). */
export function validateResourceSelector(
  { containerName, resource = '', divisor = '0' }: ResourceFieldSelector,
  path: string,
  container: 'named' | 'implied',
): FieldError[] {
  const errors: FieldError[] = [];
  if (container === 'named' && containerName === undefined) errors.push(required(`${path}.containerName`));
  const hugePages = /^(limits|requests)\.hugepages-/.test(resource);
  if (resource !== '' && !hugePages && !resourceFields.includes(resource)) {
    errors.push(notSupported(`${path}.resource`, resource, resourceFields));
  }
  const divisors = resource.endsWith('.cpu') ? processorDivisors : byteDivisors;
  if (divisor !== '0' && !divisors.includes(divisor)) {
    const name = resource.slice(resource.indexOf('.') + 1);
    errors.push(
      invalid(
        `${path}.divisor`,
        divisor,
        `only divisor's values ${divisors.join(', ')} are supported with the ${name} resource`,
      ),
    );
  }
  return errors;
}
