import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Lead } from './lead.ts';

test('work begins with the lead, once, and never after it was closed', () => {
  const log: string[] = [];
  const work = (name: string) => () => {
    log.push(`${name} begins`);
    return { close: () => void log.push(`${name} ends`) };
  };
  const lead = new Lead(false);
  const first = lead.begin(work('first'));
  lead.begin(work('never')).close();
  assert.deepEqual(log, []);
  lead.take();
  lead.take();
  lead.begin(work('second'));
  assert.deepEqual(log, ['first begins', 'second begins']);
  first.close();
  first.close();
  assert.deepEqual(log, ['first begins', 'second begins', 'first ends']);
  assert.equal(lead.leads, true);
});
