import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isMet, markdownTable, type Row, shortNumber, textTable } from './report.ts';

const row: Row = {
  what: 'reads',
  unit: '/s',
  measured: { min: 900, median: 1234.5, max: 2000 },
  ceiling: { min: 1, median: 2000, max: 3 },
  ratio: { min: 0.5, median: 0.62, max: 0.7 },
  reach: { of: 'ratio', atLeast: 0.6 },
  notes: ['a note'],
};

test('a reach is compared with the median of what it is about', () => {
  assert.equal(isMet(row), true);
  assert.equal(isMet({ ...row, reach: { of: 'ratio', atLeast: 0.63 } }), false);
  assert.equal(isMet({ ...row, reach: { of: 'measured', atMost: 1234 } }), false);
  assert.equal(isMet({ ...row, reach: { of: 'measured', atMost: 1235 } }), true);
  const beside = { of: 'the row above', ratio: { min: 0.8, median: 0.9, max: 1 } };
  assert.equal(isMet({ ...row, beside, reach: { of: 'beside', atLeast: 0.9 } }), true);
  assert.equal(isMet({ ...row, beside, reach: { of: 'beside', atLeast: 0.95 } }), false);
  const { reach: _, ...without } = row;
  assert.equal(isMet(without), undefined);
});

test('tables show every column', () => {
  assert.match(textTable([row]), /reads\s+900 \/ 1,235 \/ 2,000 \/s\s+2,000 \/s\s+62%\s+≥ 60%\s+yes\n {4}a note/);
  assert.match(
    markdownTable([row]),
    /\| reads<br><sub>a note<\/sub> \| 900 \/ 1,235 \/ 2,000 \/s \| 2,000 \/s \| 62% \| ≥ 60% \| yes \|/,
  );
});

test('a ratio to something else of the run stands in a note, and what it should reach names that', () => {
  const beside = { of: 'the row above', ratio: { min: 0.8, median: 0.9, max: 1 } };
  const lines = textTable([{ ...row, beside, reach: { of: 'beside', atLeast: 0.9 } }]);
  assert.match(lines, /62%\s+≥ 90% of the row above\s+yes\n {4}80% \/ 90% \/ 100% of the row above\n {4}a note/);
});

test('numbers keep three digits', () => {
  assert.deepEqual([0.01234, 1.5, 99.94, 1234.5].map(shortNumber), ['0.0123', '1.5', '99.9', '1,235']);
});
