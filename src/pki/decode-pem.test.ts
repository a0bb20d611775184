import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { limits } from '../base/limits.ts';
import { decodePem, PemLimitError } from './decode-pem.ts';

const block = (data: string, label = 'A'): string => `-----BEGIN ${label}-----\n${data}\n-----END ${label}-----\n`;

/** The label of each block, `+` if it has headers, and its bytes in hex. */
const decoded = (text: string): readonly string[] =>
  [...decodePem(text)].map(
    ({ label, hasHeaders, bytes }) => `${label}${hasHeaders ? '+' : ''} ${bytes.toString('hex')}`,
  );

/** What `encoding/pem` of Go answers to the same texts. */
const rows: readonly (readonly [why: string, text: string, blocks: readonly string[]])[] = [
  ['nothing', '', []],
  ['one block', block('QUJD'), ['A 414243']],
  ['two blocks', block('QUJD') + block('RA=='), ['A 414243', 'A 44']],
  ['other labels', block('QUJD', 'X Y') + block('QUJD', ''), ['X Y 414243', ' 414243']],
  ['text around', `text\n${block('QUJD')}text\n${block('QUJD')}text`, ['A 414243', 'A 414243']],
  ['no line break at the end', block('QUJD').trimEnd(), ['A 414243']],
  ['CRLF', block('QUJD\nQUJD').replaceAll('\n', '\r\n'), ['A 414243414243']],
  ['blanks in the data', block('Q U\tJ D\n\n'), ['A 414243']],
  ['blanks after markers', '-----BEGIN A-----  \nQUJD\n-----END A-----\t\n', ['A 414243']],
  ['padding in two lines', block('QQ=\n='), ['A 41']],
  ['bits after the last byte', block('QR=='), ['A 41']],
  ['no data', block(''), ['A ']],
  ['the end follows at once', '-----BEGIN A-----\n-----END A-----', ['A ']],
  ['headers', block('Proc-Type: 4,ENCRYPTED\nDEK-Info: x\n\nQUJD'), ['A+ 414243']],
  ['headers without an empty line', block('a:b\nQUJD'), ['A+ 414243']],
  ['the end follows headers at once', '-----BEGIN A-----\na: b\n-----END A-----\n', []],
  ['headers until the end', '-----BEGIN A-----\na: b\n', []],
  ['begins within a line', ` ${block('QUJD')}`, []],
  ['ends within a line', '-----BEGIN A-----\nQUJD -----END A-----\n', []],
  ['another end', `-----BEGIN A-----\nQUJD\n-----END B-----\n${block('QUJD')}`, ['A 414243']],
  ['no end', `-----BEGIN B-----\nQUJD\n${block('QUJD')}`, ['A 414243']],
  ['text after the end', '-----BEGIN A-----\nQUJD\n-----END A-----x\n', []],
  ['four dashes', '-----BEGIN A----\nQUJD\n-----END A----\n', []],
  ['no base64', block('QU!D') + block('QUJD'), ['A 414243']],
  ['URL-safe base64', block('-_-_') + block('QUJD'), ['A 414243']],
  ['no padding', block('QQ') + block('QUJD'), ['A 414243']],
  ['padding in the middle', block('QQ==QUJD') + block('QUJD'), ['A 414243']],
  ['a header before a beginning', `-----BEGIN A-----\na: b\n${block('QUJD')}`, ['A 414243']],
  ['a beginning as a header', `-----BEGIN A-----\n-----BEGIN a:b-----\nQUJD\n-----END A-----\n`, ['A+ 414243']],
  ['three pads', block('Q===') + block('QUJD'), ['A 414243']],
];

describe('the blocks of a PEM text', () => {
  for (const [why, text, blocks] of rows) it(why, () => assert.deepEqual(decoded(text), blocks));

  // A reader that looks ahead anew from each marker does not end within hours.
  const many = 1_000_000;
  const few = limits.pemLinesSkippedMax - 1;
  for (const [why, text, blocks] of [
    ['a beginning, and one end', `${'-----BEGIN A-----\n'.repeat(few)}-----END A-----\n`, ['A ']],
    [
      'a beginning, and one long line as the end',
      `${'-----BEGIN A-----\n'.repeat(few)}-----END ${' '.repeat(many)}x`,
      [],
    ],
    ['an end', `-----BEGIN A-----\n${'-----END B-----\n'.repeat(many)}`, []],
    ['a blank', `-----BEGIN A${' '.repeat(many)}-----\n`, []],
    ['a line of text', `${'text\n'.repeat(many)}${block('QUJD')}`, ['A 414243']],
  ] as const) {
    it(`takes linear time: many times ${why}`, { timeout: 60_000 }, () => assert.deepEqual(decoded(text), blocks));
  }

  const { pemLinesSkippedMax: most } = limits;
  for (const [why, skipped] of [
    ['beginnings', '-----BEGIN A-----\nQUJD\n-----END B-----\n'.repeat(most)],
    ['headers', `-----BEGIN A-----\n${'a:b\n'.repeat(most - 1)}`],
  ] as const) {
    it(`ends its search for one block: ${why}`, () => {
      assert.deepEqual(decoded(`${skipped}\n${block('QUJD')}`.slice(skipped.indexOf('\n') + 1)), ['A 414243']);
      assert.throws(() => decoded(`-----BEGIN A-----\n${skipped}\n${block('QUJD')}`), PemLimitError);
    });
  }

  it('counts from the last block', () => {
    const text = `${'-----BEGIN A-----\nQUJD\n-----END B-----\n'.repeat(most - 1)}${block('QUJD')}`;
    assert.equal(decoded(text.repeat(3)).length, 3);
  });
});
