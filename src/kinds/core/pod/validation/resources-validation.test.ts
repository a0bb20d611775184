import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { describeFieldError } from '../../../../meta/field-error.ts';
import { validateResources } from './resources-validation.ts';

const scope = { domain: 'orch.io', claims: new Set<string>() };

describe('huge pages come as a whole', () => {
  for (const [name, amount, shown] of [
    ['hugepages-2Mi', '4Mi'],
    ['hugepages-2Mi', '0'],
    ['hugepages-1Gi', '2048Mi'],
    ['hugepages-2Mi', '3Mi', '3Mi'],
    ['hugepages-2Mi', '1', '1'],
    ['hugepages-2Mi', '1.5', '1500m'],
    ['hugepages-foo', '2Mi', '2Mi'],
    ['hugepages-0', '2Mi', '2Mi'],
    ['hugepages-500m', '2Mi', '2Mi'],
    ['hugepages--1', '2Mi', '2Mi'],
  ] as const) {
    it(`${amount} of ${name}`, () => {
      for (const resources of [
        { limits: { memory: '1Gi', [name]: amount } },
        { requests: { memory: '1Gi', [name]: amount } },
      ]) {
        const [list = ''] = Object.keys(resources);
        const found = validateResources(resources, 'r', scope).filter(({ field }) => field === `r.${list}[${name}]`);
        const text = `Invalid value: "${shown}": ${shown} is not positive integer multiple of ${name}`;
        assert.deepEqual(found.map(describeFieldError), shown === undefined ? [] : [text]);
      }
    });
  }
});
