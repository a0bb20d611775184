import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { watchCollections } from './process-usage.ts';
import { until } from './waits-fixture.ts';

test('garbage collections are reported by kind until the watch is closed', async () => {
  setFlagsFromString('--expose-gc');
  const collect: (options: object) => void = runInNewContext('gc');
  const reported: [kind: string, seconds: number][] = [];
  const watch = watchCollections((kind, seconds) => void reported.push([kind, seconds]));
  collect({ type: 'minor' });
  collect({ type: 'major' });
  await until(() => reported.some(([kind]) => kind === 'minor') && reported.some(([kind]) => kind === 'major'));
  for (const [kind, seconds] of reported) assert.ok(seconds >= 0 && seconds < 60, `${kind}: ${seconds}`);
  watch.close();
  const closed = reported.length;
  const other: string[] = [];
  const after = watchCollections((kind) => void other.push(kind));
  collect({ type: 'major' });
  await until(() => other.includes('major'));
  after.close();
  assert.equal(reported.length, closed);
});
