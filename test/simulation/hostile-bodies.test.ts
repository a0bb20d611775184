import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { encodeCbor } from '../../src/codec/cbor/encode.ts';
import { parseStored, stringifyJson } from '../../src/codec/json.ts';
import { cbor } from '../../src/content/formats/cbor.ts';
import type { Format, Shown } from '../../src/content/formats/format.ts';
import { enabledFormats } from '../../src/content/formats/formats.ts';
import { dialects } from '../../src/dialect/dialects.ts';
import { kinds } from '../../src/kinds/kinds.ts';
import { apiVersionOf } from '../../src/kinds/stored-as.ts';
import { StatusError } from '../../src/meta/status-error.ts';
import { decode } from '../../src/schema/decode.ts';
import type { StructSchema } from '../../src/schema/schema.ts';
import { presentValuesOf } from '../../src/schema/values-fixture.ts';
import { Dice } from './dice.ts';

/**
 * Bodies with something wrong, in every format: each is decoded or refused with a 400, and leaves no memory behind. `ORCH_BODIES=1000000 ORCH_BODIES_SEED=1` for a long run, which takes some minutes; the seed and
 * the longest CPU time that one took are in the output.
 */
const bodies = Number(process.env['ORCH_BODIES'] ?? 6_000);
const seed = Number(process.env['ORCH_BODIES_SEED'] ?? 20_261_122);

const formats = enabledFormats(new Set(['CBORServingAndStorage']));

interface Sample {
  readonly format: Format;
  readonly kind: string;
  readonly schema: StructSchema;
  readonly bytes: Buffer;
}

const samplesPerKind = 8;
const sampleBytesMax = 8 * 1024;

/** Valid bodies, from which the others are made. */
function samplesOf(format: Format): readonly Sample[] {
  return kinds(dialects.orch).flatMap((served) => {
    const { kind, schema } = served;
    const values = fc.sample(presentValuesOf(schema, 4), { numRuns: samplesPerKind, seed });
    return values.flatMap((value) => {
      const sent = parseStored(
        Buffer.from(stringifyJson({ ...(value as object), kind, apiVersion: apiVersionOf(served) })),
      );
      const bytes = format.encode(decode(schema, sent).value as Shown, { pretty: false, schemaOf: () => schema });
      return bytes.length <= sampleBytesMax ? [{ format, kind, schema, bytes }] : [];
    });
  });
}

type Change = (bytes: Buffer, dice: Dice, other: Buffer) => Buffer;

/** Bytes with a meaning in one of the formats: lengths, tags, breaks, brackets. */
const meaningful: Buffer[] = [
  ...[
    '00',
    '7f',
    '80',
    'ff',
    'fe',
    '1b',
    '3b',
    '5f',
    '7f',
    '9f',
    'bf',
    '5b',
    '9b',
    'bb',
    'c2',
    'd6',
    'f7',
    'f97e00',
    'd9d9f7',
  ],
  ...[
    '1bffffffffffffffff',
    '5bffffffffffffffff',
    '9b7fffffffffffffff',
    'bb00ffffffffffff',
    'ffffffffffffffffff7f',
    '0a00',
    '0affffffff0f',
  ],
  ...['22', '5c', '7b', '7d', '5b', '5d', '3a', '2c', '65393939', '5c7564383030'],
].map((text) => Buffer.from(text, 'hex'));
const yamlMarks = [
  '- ',
  ': ',
  '? ',
  '&a ',
  '*a',
  '!!binary ',
  '<<: ',
  '|2-\n',
  '>+\n',
  '\n',
  '\n  ',
  '\t',
  '#',
  '---\n',
  '...\n',
];
meaningful.push(
  ...[...yamlMarks, '%YAML 1.1\n', "'", '"', '.inf', '0o7', '~', '\u2028'].map((text) => Buffer.from(text)),
);

const at = (bytes: Buffer, dice: Dice): number => dice.below(bytes.length + 1);
const replaced = (bytes: Buffer, start: number, end: number, by: Uint8Array): Buffer =>
  Buffer.concat([bytes.subarray(0, start), by, bytes.subarray(end)]);

const changes: readonly Change[] = [
  (bytes, dice) => bytes.subarray(0, at(bytes, dice)),
  (bytes, dice) => bytes.subarray(at(bytes, dice)),
  (bytes, dice) => {
    const flipped = Buffer.from(bytes);
    for (let count = 1 + dice.below(4); count > 0 && bytes.length > 0; count--) {
      const index = dice.below(bytes.length);
      flipped[index] = (bytes[index] as number) ^ (1 << dice.below(8));
    }
    return flipped;
  },
  (bytes, dice) => {
    const start = at(bytes, dice);
    return replaced(bytes, start, start, dice.pick(meaningful));
  },
  (bytes, dice) => {
    const start = at(bytes, dice);
    const by = dice.pick(meaningful);
    return replaced(bytes, start, Math.min(start + by.length, bytes.length), by);
  },
  (bytes, dice) => {
    const start = at(bytes, dice);
    return replaced(bytes, start, start, bytes.subarray(start, Math.min(start + dice.below(64), bytes.length)));
  },
  (bytes, dice, other) => {
    const start = at(bytes, dice);
    const from = at(other, dice);
    return replaced(bytes, start, at(bytes, dice), other.subarray(from, from + dice.below(200)));
  },
  (_, dice) => Buffer.from(Array.from({ length: dice.below(200) }, () => dice.below(256))),
  (_, dice) => Buffer.concat(Array.from({ length: dice.below(60) }, () => dice.pick(meaningful))),
  (bytes, dice) => {
    const part = dice.pick(meaningful);
    const start = at(bytes, dice);
    return replaced(bytes, start, start, Buffer.alloc(dice.below(sampleBytesMax), part));
  },
];

interface Figures {
  decoded: number;
  refused: number;
  longestMs: number;
}

const cpuMs = (since: NodeJS.CpuUsage): number => {
  const { user, system } = process.threadCpuUsage(since);
  return (user + system) / 1_000;
};

/** Decodes a body as a server does. What was accepted is the same after it was written and read once more. */
function tryBody({ format, kind, schema }: Sample, body: Buffer, figures: Figures): void {
  const started = process.threadCpuUsage();
  try {
    const { value } = format.decode(body, { kind, schema });
    const decoded = decode(schema, value);
    figures.longestMs = Math.max(figures.longestMs, cpuMs(started));
    if (format === cbor)
      assert.deepEqual(encodeCbor(cbor.decode(encodeCbor(value), { kind, schema }).value), encodeCbor(value));
    assert.ok(decoded);
    figures.decoded++;
  } catch (error) {
    figures.longestMs = Math.max(figures.longestMs, cpuMs(started));
    if (!(error instanceof StatusError) || error.code !== 400)
      throw new Error(`${format.name} ${kind} ${body.toString('hex')}`, { cause: error });
    assert.ok(error.message.length < 2_000, `${error.message.length} characters of an error`);
    figures.refused++;
  }
}

setFlagsFromString('--expose-gc');
const collect: () => void = runInNewContext('gc');

function heapUsed(): number {
  collect();
  return process.memoryUsage().heapUsed;
}

const heapGrowthMax = 16 * 1024 * 1024;

for (const format of formats) {
  test(`${bodies} changed bodies in ${format.name}, seed ${seed}`, { timeout: 60 * 60_000 }, (t) => {
    const samples = samplesOf(format);
    const dice = new Dice(seed);
    const figures: Figures = { decoded: 0, refused: 0, longestMs: 0 };
    let before = 0;
    for (let done = 0; done < bodies; done++) {
      if (done === Math.floor(bodies / 10)) before = heapUsed();
      const sample = dice.pick(samples);
      let body = sample.bytes;
      for (let count = dice.pick([1, 1, 2, 4]); count > 0; count--)
        body = dice.pick(changes)(body, dice, dice.pick(samples).bytes);
      tryBody(sample, body, figures);
    }
    t.diagnostic(JSON.stringify(figures));
    assert.ok(heapUsed() - before < heapGrowthMax, 'memory grew');
    for (const outcome of ['decoded', 'refused'] as const) {
      assert.ok(figures[outcome] > bodies / 100, `hardly any ${outcome}`);
    }
  });
}
