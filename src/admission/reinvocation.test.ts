import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { StatusError } from '../meta/status-error.ts';
import type { AdmissionAttributes } from '../request/admission.ts';
import { attributesOf } from './attributes-fixture.ts';
import { type AdmissionPlugin, admissionChain, type Mutator, type SideEffects } from './chain.ts';

/**
 * A script describes a chain: `name` is a built-in plugin, `[...]` one with mutators. Suffixes of a name: `?`
 * reinvocation if needed, `!` changes the object each time, `1` only the first time, `-` does not apply to the initial
 * object.
 */
interface Script {
  readonly what: string;
  readonly chain: readonly (string | readonly string[])[];
  readonly runs: readonly string[];
}

const scripts: readonly Script[] = [
  { what: 'nothing changes: each once', chain: ['p', ['a?', 'b?'], 'q'], runs: ['p', 'a', 'b', 'q'] },
  {
    what: 'a plugin of the server that changes the object makes nobody run again',
    chain: ['p!', ['a?'], 'q!'],
    runs: ['p', 'a', 'q'],
  },
  {
    what: 'a mutator that changes the object makes all plugins of the server run again, and itself not',
    chain: ['p', ['a?!'], 'q'],
    runs: ['p', 'a', 'q', 'p', 'q'],
  },
  {
    what: 'a mutator that ran before the change runs again, one that never does and one that ran after do not',
    chain: [['a?', 'b', 'c!', 'd?']],
    runs: ['a', 'b', 'c', 'd', 'a'],
  },
  {
    what: 'what changes the object again makes those after it run again',
    chain: [['a?!', 'b?!']],
    runs: ['a', 'b', 'a', 'b'],
  },
  {
    what: 'there is no third time',
    chain: ['p', ['a?!', 'b?!', 'c?!']],
    runs: ['p', 'a', 'b', 'c', 'p', 'a', 'b', 'c'],
  },
  {
    what: 'a change by a plugin of the server between the rounds makes those run again that ran',
    chain: ['p!', ['a1', 'b?', 'c']],
    runs: ['p', 'a', 'b', 'c', 'p', 'b'],
  },
  {
    what: 'the mutators of two plugins know of each other by the object',
    chain: [['a?'], ['b!', 'c?']],
    runs: ['a', 'b', 'c', 'a'],
  },
  {
    what: 'a mutator that the object did not concern in the first round does not run in the second',
    chain: [['a?-', 'b!']],
    runs: ['b'],
  },
];

function chainOf(script: Script, log: string[], sideEffects: SideEffects = 'none') {
  const runs = new Map<string, number>();
  const run = (text: string, attributes: AdmissionAttributes, change: (value: object) => void): void => {
    const name = text.slice(0, 1);
    const count = (runs.get(name) ?? 0) + 1;
    runs.set(name, count);
    log.push(name);
    if (text.includes('!') || (text.includes('1') && count === 1)) change({ data: `${name}${count}` });
    assert.ok(attributes.object);
  };
  const plugin = (part: string | readonly string[]): AdmissionPlugin => {
    if (typeof part === 'string') {
      return {
        name: part,
        sideEffects: 'none',
        concerns: () => true,
        mutate: (attributes) => run(part, attributes, (value) => Object.assign(attributes.object ?? {}, value)),
      };
    }
    const mutators = part.map(
      (text): Mutator => ({
        id: text,
        title: `admission webhook "${text.slice(0, 1)}"`,
        sideEffects,
        reinvocationPolicy: text.includes('?') ? 'ifNeeded' : 'never',
        concerns: ({ object }) => !text.includes('-') || object?.['data'] !== undefined,
        mutate: async (attributes) => run(text, attributes, (value) => attributes.replace(value)),
      }),
    );
    return { name: part.join(), sideEffects: 'none', concerns: () => true, mutators: () => ({ mutators }) };
  };
  return admissionChain(script.chain.map(plugin));
}

describe('order and number of calls (reinvocationPolicy)', () => {
  for (const script of scripts) {
    it(script.what, async () => {
      const log: string[] = [];
      await chainOf(script, log).mutate(attributesOf());
      assert.deepEqual(log, script.runs);
    });
  }
});

describe('mutators in a dry run (spec section 4.6)', () => {
  const script: Script = { what: '', chain: [['a']], runs: [] };
  for (const [sideEffects, dryRun, runs] of [
    ['none', true, ['a']],
    ['noneOnDryRun', true, ['a']],
    ['some', true, []],
    ['some', false, ['a']],
  ] as const) {
    it(`side effects: ${sideEffects}, dry run: ${dryRun}`, async () => {
      const log: string[] = [];
      const mutating = chainOf(script, log, sideEffects).mutate(attributesOf({ dryRun })) as Promise<void>;
      const error = await mutating.then(
        () => undefined,
        (refused: StatusError) => refused,
      );
      const message = runs.length > 0 ? undefined : 'admission webhook "a" does not support dry run';
      assert.deepEqual([log, error?.message], [runs, message]);
    });
  }
});

describe('a request that ends', () => {
  const hangs = () => new Promise<void>(() => {});
  const base = { name: 'p', sideEffects: 'none', concerns: () => true } as const;
  const mutator: Mutator = {
    ...{ id: 'm', title: 'm', sideEffects: 'none', reinvocationPolicy: 'never' },
    concerns: () => true,
    mutate: hangs,
  };
  const rows: Readonly<Record<string, AdmissionPlugin>> = {
    'a plugin that mutates': { ...base, mutate: hangs },
    'a plugin that validates': { ...base, validate: hangs },
    'a mutator': { ...base, mutators: () => ({ mutators: [mutator] }) },
  };
  for (const [what, plugin] of Object.entries(rows)) {
    it(`does not wait for ${what}`, async () => {
      const abort = new AbortController();
      const after: string[] = [];
      const next: AdmissionPlugin = {
        ...base,
        mutate: () => void after.push('mutates'),
        validate: () => void after.push('validates'),
      };
      const chain = admissionChain([plugin, ...(plugin.validate ? [] : [next])]);
      const attributes = attributesOf({ signal: abort.signal });
      const admitted = (async () => {
        await chain.mutate(attributes);
        await chain.validate(attributes);
      })();
      abort.abort(new Error('the deadline has passed'));
      await assert.rejects(admitted, /the deadline has passed/);
      assert.deepEqual(after, []);
    });
  }
});
