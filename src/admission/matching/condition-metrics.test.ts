import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Metrics } from '../../base/metrics.ts';
import { conditionMetrics } from './condition-metrics.ts';

describe('the type of a webhook or policy in the metrics of its conditions', () => {
  for (const [kind, type, excluded] of [
    ['webhook', 'admit', 'admit'],
    ['webhook', 'validating', 'validate'],
    ['policy', 'admit', 'admit'],
    ['policy', 'validate', 'validate'],
  ] as const) {
    it(`${kind}, ${type}`, () => {
      const metrics = new Metrics();
      conditionMetrics(metrics)({
        ...{ name: 'n', kind, type, operation: 'CREATE', seconds: 0, errors: 1, excluded: true },
      });
      const text = metrics.render();
      for (const [name, shown] of [
        ['evaluation_seconds_count', type],
        ['evaluation_errors_total', type],
        ['exclusions_total', excluded],
      ] as const) {
        const series = `apiserver_admission_match_condition_${name}{name="n",kind="${kind}",type="${shown}",operation="CREATE"} 1`;
        assert.ok(text.includes(series), text);
      }
    });
  }
});
