import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Metrics } from '../base/metrics.ts';
import { ManualClock } from '../base/time/clock.ts';
import type { AdmissionAttributes, AdmissionOperation } from '../request/admission.ts';
import { admissionMetrics } from './admission-metrics.ts';
import { type AdmissionPlugin, admissionChain, type Mutator, noMutators } from './chain.ts';

const attributesOf = (operation: AdmissionOperation): AdmissionAttributes =>
  ({ operation, dryRun: false, signal: new AbortController().signal, replacements: 0 }) as AdmissionAttributes;

describe('admission is measured', () => {
  for (const when of ['at once', 'later'] as const) {
    for (const rejected of [false, true]) {
      it(`by plugin and step, ${when}, ${rejected ? 'rejected' : 'admitted'}`, async () => {
        const [metrics, clock] = [new Metrics(), new ManualClock()];
        const measured = admissionMetrics(metrics, clock);
        const work = async (): Promise<void> => {
          clock.advance(30);
          if (rejected) throw new Error('no');
        };
        const plugin: AdmissionPlugin = {
          name: 'P',
          sideEffects: 'none',
          concerns: ({ operation }) => operation !== 'delete',
          mutate: work,
          validate:
            when === 'later'
              ? work
              : () => {
                  clock.advance(30);
                  if (rejected) throw new Error('no');
                },
        };
        const chain = measured.chain(admissionChain([measured.plugin(plugin)]));
        for (const operation of ['create', 'delete'] as const) {
          for (const step of ['mutate', 'validate'] as const) {
            await Promise.try(() => chain[step](attributesOf(operation))).catch((error) => {
              assert.ok(rejected, String(error));
            });
          }
        }
        const sums = (name: string) =>
          (metrics.render().match(RegExp(`^apiserver_admission_${name}_admission_duration_seconds_sum.*$`, 'gm')) ?? [])
            .map((line) => line.slice(line.indexOf('{')))
            .sort();
        assert.deepEqual(sums('controller'), [
          `{name="P",type="admit",operation="CREATE",rejected="${rejected}"} 0.03`,
          `{name="P",type="validate",operation="CREATE",rejected="${rejected}"} 0.03`,
        ]);
        assert.deepEqual(sums('step'), [
          `{type="admit",operation="CREATE",rejected="${rejected}"} 0.03`,
          '{type="admit",operation="DELETE",rejected="false"} 0',
          `{type="validate",operation="CREATE",rejected="${rejected}"} 0.03`,
          '{type="validate",operation="DELETE",rejected="false"} 0',
        ]);
      });
    }
  }

  for (const { what, rejects, changes, series } of [
    { what: 'nothing concerns the write', series: ['rejected="false"} 1 0'] },
    { what: 'one runs', rejects: false, series: ['rejected="false"} 1 0.03'] },
    { what: 'one rejects', rejects: true, series: ['rejected="true"} 1 0.03'] },
    {
      what: 'one changes the object: in both rounds',
      rejects: false,
      changes: true,
      series: ['rejected="false"} 2 0.06'],
    },
  ]) {
    it(`with the mutators of a plugin: ${what}`, async () => {
      const [metrics, clock] = [new Metrics(), new ManualClock()];
      const attributes: { replacements: number } & AdmissionAttributes = attributesOf('create');
      const mutator: Mutator = {
        ...{ id: 'm', title: 'm', sideEffects: 'none', reinvocationPolicy: 'ifNeeded' },
        concerns: () => true,
        async mutate() {
          clock.advance(30);
          if (rejects) throw new Error('no');
          if (changes) attributes.replacements++;
        },
      };
      const other: Mutator = { ...mutator, id: 'n', mutate: () => void (changes && attributes.replacements++) };
      const plugin: AdmissionPlugin = {
        ...{ name: 'P', sideEffects: 'none', concerns: () => true },
        mutators: () => (rejects === undefined ? noMutators : { mutators: [mutator, other] }),
      };
      const chain = admissionChain([admissionMetrics(metrics, clock).plugin(plugin)]);
      await Promise.try(() => chain.mutate(attributes)).catch(() => assert.ok(rejects));
      const value = (part: string) =>
        (
          metrics
            .render()
            .match(RegExp(`(?<=^apiserver_admission_controller_admission_duration_seconds_${part}).*$`, 'gm')) ?? []
        ).map((line) => line.replace('{name="P",type="admit",operation="CREATE",', ''));
      const sums = value('sum').map((line) => line.split(' ')[1]);
      assert.deepEqual(
        value('count').map((line, at) => `${line} ${sums[at]}`),
        series,
      );
    });
  }

  it('each operation, step and outcome on its own', async () => {
    const [metrics, clock] = [new Metrics(), new ManualClock()];
    let rejects = false;
    const work = (): void => {
      clock.advance(1_000);
      if (rejects) throw new Error('no');
    };
    const chain = admissionMetrics(metrics, clock).chain({ mutate: work, validate: work });
    const expected: string[] = [];
    for (const operation of ['create', 'update', 'delete', 'connect'] as const) {
      for (const step of ['mutate', 'validate'] as const) {
        for (rejects of [false, true]) {
          await Promise.try(() => chain[step](attributesOf(operation))).catch(() => assert.ok(rejects));
          const type = step === 'mutate' ? 'admit' : 'validate';
          expected.push(`{type="${type}",operation="${operation.toUpperCase()}",rejected="${rejects}"} 1`);
        }
      }
    }
    const sums = metrics.render().match(/(?<=_step_admission_duration_seconds_sum).*$/gm) ?? [];
    assert.deepEqual([...sums].sort(), expected.sort());
  });
});
