import assert from 'node:assert/strict';
import { test } from 'node:test';
import { kubernetes } from '../../../../dialect/kubernetes.ts';
import { describeFieldError, type FieldError } from '../../../../meta/field-error.ts';
import { validateAppArmorChange, validatePodAnnotations } from './annotation-validation.ts';

const path = 'metadata.annotations';
const cost = 'controller.kubernetes.io/pod-deletion-cost';
const seccomp = 'seccomp.security.alpha.kubernetes.io/pod';
const appArmor = 'container.apparmor.security.beta.kubernetes.io';
const spec = { containers: [{ name: 'c' }], initContainers: [{ name: 'i' }] };

const told = (error: FieldError): string => `${error.field}: ${describeFieldError(error)}`;

const errors = (annotations: Record<string, string>, old?: Record<string, string>): string[] =>
  validatePodAnnotations(annotations, spec, { path, dialect: kubernetes, ...(old && { old }) }).map(told);

const rows: readonly (readonly [key: string, value: string, ...errors: string[]])[] = [
  [cost, '0'],
  [cost, '-2147483648'],
  [cost, '2147483647'],
  ...['', '+1', '007', '1.5', 'x', '2147483648', '-2147483649'].map(
    (value) => [cost, value, `${path}[${cost}]: Invalid value: "${value}": must be a 32bit integer`] as const,
  ),
  ...['runtime/default', 'docker/default', 'unconfined', 'localhost/a/b'].map((value) => [seccomp, value] as const),
  [seccomp, 'x', `${path}.${seccomp}: Invalid value: "x": must be a valid seccomp profile`],
  [seccomp, 'localhost/../x', `${path}.${seccomp}: Invalid value: "../x": must not contain '..'`],
  [
    `container.${seccomp.replace('/pod', '/c')}`,
    'x',
    `${path}.container.seccomp.security.alpha.kubernetes.io/c: Invalid value: "x": must be a valid seccomp profile`,
  ],
  ...['', 'runtime/default', 'unconfined', 'localhost/x'].map((value) => [`${appArmor}/i`, value] as const),
  [`${appArmor}/c`, 'x', `${path}[${appArmor}/c]: Invalid value: "x": invalid AppArmor profile name: "x"`],
  [`${appArmor}/d`, 'unconfined', `${path}[${appArmor}/d]: Invalid value: "d": container not found`],
];

test('annotations of pods that mean something', () => {
  for (const [key, value, ...expected] of rows) assert.deepEqual(errors({ [key]: value }), expected, `${key}=${value}`);
});

test('a cost that was wrong before may stay wrong', () => {
  assert.deepEqual(errors({ [cost]: 'y' }, { [cost]: 'x' }), []);
  assert.equal(errors({ [cost]: 'y' }, { [cost]: '1' }).length, 1);
  assert.equal(errors({ [cost]: 'y' }, {}).length, 1);
});

test('AppArmor profiles do not change', () => {
  const changed = (now: object, old: object): string[] =>
    validateAppArmorChange({ ...now }, { ...old }, kubernetes).map(told);
  const key = `${appArmor}/c`;
  const field = `${path}[${key}]: Forbidden: may not`;
  assert.deepEqual(changed({ [key]: 'unconfined', a: '1' }, { [key]: 'unconfined' }), []);
  assert.deepEqual(changed({}, { [key]: 'unconfined' }), [`${field} remove or update AppArmor annotations`]);
  assert.deepEqual(changed({ [key]: 'x' }, { [key]: 'unconfined' }), [
    `${field} remove or update AppArmor annotations`,
  ]);
  assert.deepEqual(changed({ [key]: 'x' }, {}), [`${field} add AppArmor annotations`]);
});
