import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container } from '../container/container.ts';
import type { PodSpec } from '../pod-spec.ts';
import { validateContainers, validateEphemeralContainers, validateInitContainers } from './container-validation.ts';

const validators = {
  containers: validateContainers,
  initContainers: validateInitContainers,
  ephemeralContainers: validateEphemeralContainers,
} as const;

const base = { name: 'c', image: 'i' };
const sidecar = { ...base, restartPolicy: 'Always' } as const;
const command = { exec: { command: ['x'] } };
const two = { ...command, tcpSocket: { port: 1 } };

/** A probe is looked at only where there may be one. */
const rows: readonly (readonly [where: keyof typeof validators, container: Container, errors: readonly string[]])[] = [
  ['containers', { ...base, startupProbe: {} }, ['FieldValueRequired c[0].startupProbe']],
  ['containers', { ...base, livenessProbe: two }, ['FieldValueForbidden c[0].livenessProbe.tcpSocket']],
  ['containers', { ...base, lifecycle: { preStop: {} } }, ['FieldValueRequired c[0].lifecycle.preStop']],
  ['containers', { ...base, lifecycle: { preStop: command }, readinessProbe: command }, []],
  ['initContainers', { ...sidecar, startupProbe: {} }, ['FieldValueRequired c[0].startupProbe']],
  ['initContainers', { ...base, startupProbe: {} }, ['FieldValueForbidden c[0].startupProbe']],
  ['initContainers', { ...base, readinessProbe: two }, ['FieldValueForbidden c[0].readinessProbe']],
  ['initContainers', { ...base, lifecycle: { preStop: {} } }, ['FieldValueForbidden c[0].lifecycle']],
  ['ephemeralContainers', { ...base, livenessProbe: {} }, ['FieldValueForbidden c[0].livenessProbe']],
  ['ephemeralContainers', { ...base, lifecycle: { postStart: {} } }, ['FieldValueForbidden c[0].lifecycle']],
];

for (const [where, container, errors] of rows) {
  test(`handlers of ${where}: ${JSON.stringify(container)}`, () => {
    const spec: PodSpec = { containers: [] };
    const scope = { spec, domain: 'orch.io', volumes: new Map(), claims: new Set<string>() };
    const found = validators[where]([container], 'c', scope);
    assert.deepEqual(
      found.map(({ type, field }) => `${type} ${field}`),
      errors,
    );
  });
}
