import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { orch } from '../../dialect/orch.ts';
import { applyDefaults } from '../../schema/defaults.ts';
import { read, row } from '../strategy-fixture.ts';
import { mutatingWebhookConfiguration, validatingWebhookConfiguration } from './webhook-configuration.ts';

for (const kind of [validatingWebhookConfiguration(orch), mutatingWebhookConfiguration(orch)]) {
  describe(kind.kind, () => {
    const mutating = kind.kind.startsWith('Mutating') ? { reinvocationPolicy: 'Never' } : {};
    const defaults = {
      failurePolicy: 'Fail',
      matchPolicy: 'Equivalent',
      namespaceSelector: {},
      objectSelector: {},
      timeoutSeconds: 10,
      ...mutating,
    };
    const sent = { name: 'a.example.com', sideEffects: 'None', admissionReviewVersions: ['v1'] };
    const url = { clientConfig: { url: 'https://localhost' } };
    const service = { namespace: 'n', name: 's' };
    const rule = { operations: ['*'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods'] };
    const given = { failurePolicy: 'Ignore', matchPolicy: 'Exact', timeoutSeconds: 0 };
    const selector = { objectSelector: { matchLabels: { a: 'b' } } };
    const rows: readonly (readonly [what: string, webhook: object, stored: object])[] = [
      ['nothing', url, { ...url, ...defaults }],
      ['given values stay', { ...url, ...given, ...selector }, { ...url, ...defaults, ...given, ...selector }],
      ['scope', { ...url, rules: [rule] }, { ...url, ...defaults, rules: [{ ...rule, scope: '*' }] }],
      ['port', { clientConfig: { service } }, { clientConfig: { service: { ...service, port: 443 } }, ...defaults }],
    ];
    for (const [what, webhook, stored] of rows) {
      it(`defaults: ${what}`, () => {
        const object = read(kind, { webhooks: [{ ...sent, ...webhook }] });
        applyDefaults(kind.schema, object);
        assert.deepEqual(JSON.parse(JSON.stringify(object['webhooks'])), [{ ...sent, ...stored }]);
      });
    }

    it('columns', () => {
      const webhooks = ['a', 'b'].map((name) => ({ ...sent, ...url, name }));
      const metadata = { creationTimestamp: '2026-01-05T00:00:00Z' };
      assert.deepEqual(row(kind, { metadata, webhooks }), { Name: 'one', Webhooks: 2, Age: '5d' });
      assert.equal(row(kind, {})['Webhooks'], 0);
    });
  });
}
