import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { badRequest, StatusError } from '../meta/status-error.ts';
import { attributesOf } from './attributes-fixture.ts';
import { type AdmissionPlugin, admissionChain } from './chain.ts';

const log: string[] = [];
const plugin = (name: string, more: Partial<AdmissionPlugin> = {}): AdmissionPlugin => ({
  name,
  sideEffects: 'none',
  concerns: () => true,
  mutate: () => void log.push(`${name} mutates`),
  validate: () => void log.push(`${name} validates`),
  ...more,
});

async function admit(plugins: readonly AdmissionPlugin[], dryRun = false): Promise<StatusError | undefined> {
  log.length = 0;
  const chain = admissionChain(plugins);
  const attributes = attributesOf({ dryRun });
  try {
    await chain.mutate(attributes);
    await chain.validate(attributes);
    return undefined;
  } catch (error) {
    assert.ok(error instanceof StatusError);
    return error;
  }
}

describe('the chain', () => {
  it('has all plugins mutate before any validates, in their order', async () => {
    assert.equal(await admit([plugin('a'), plugin('b')]), undefined);
    assert.deepEqual(log, ['a mutates', 'b mutates', 'a validates', 'b validates']);
  });

  it('skips plugins that do not apply to the write', async () => {
    await admit([plugin('a', { concerns: () => false }), plugin('b')]);
    assert.deepEqual(log, ['b mutates', 'b validates']);
  });

  it('is asynchronous only if a plugin is', async () => {
    const later = (name: string): Partial<AdmissionPlugin> => ({
      mutate: async () => {
        await null;
        log.push(`${name} mutates later`);
      },
      validate: async () => {
        await null;
        log.push(`${name} validates later`);
      },
    });
    assert.equal(await admit([plugin('a'), plugin('b', later('b')), plugin('c')]), undefined);
    assert.deepEqual(log, [
      ...['a mutates', 'b mutates later', 'c mutates'],
      ...['a validates', 'b validates later', 'c validates'],
    ]);
    const chain = admissionChain([plugin('a'), plugin('b')]);
    assert.equal(chain.mutate(attributesOf()), undefined);
    assert.equal(chain.validate(attributesOf()), undefined);
  });

  it('ends with the first refusal', async () => {
    const refuse = () => {
      throw badRequest('no');
    };
    assert.equal((await admit([plugin('a'), plugin('b', { mutate: refuse }), plugin('c')]))?.message, 'no');
    assert.deepEqual(log, ['a mutates']);
    assert.equal((await admit([plugin('a', { validate: refuse }), plugin('b')]))?.message, 'no');
    assert.deepEqual(log, ['a mutates', 'b mutates']);
  });
});

describe('a dry run (spec section 4.6)', () => {
  for (const [sideEffects, concerned, refused] of [
    ['none', true, false],
    ['noneOnDryRun', true, false],
    ['some', true, true],
    ['some', false, false],
  ] as const) {
    it(`side effects: ${sideEffects}, concerned: ${concerned}`, async () => {
      const plugins = [plugin('a', { sideEffects, concerns: () => concerned })];
      assert.equal(await admit(plugins, false), undefined);
      const error = await admit(plugins, true);
      assert.equal(error?.message, refused ? 'admission plugin "a" does not support dry run' : undefined);
      if (refused) assert.deepEqual([error?.code, log], [400, []]);
    });
  }

  it('is rejected too if a plugin applies only after changes by others', async () => {
    let changed = false;
    const plugins = [
      plugin('late', { sideEffects: 'some', concerns: () => changed }),
      plugin('changer', {
        mutate: () => {
          changed = true;
        },
      }),
    ];
    assert.equal((await admit(plugins, true))?.code, 400);
    assert.deepEqual(log, []);
  });
});
