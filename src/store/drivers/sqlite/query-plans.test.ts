import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openDataFile } from './data-file.ts';
import { prepareStatements } from './log-file.ts';
import { placeFor } from './sqlite-fixture.ts';

/** Words in a query plan that show that a statement scans all rows, or sorts more than it returns. */
const scansOrSorts = /USE TEMP B-TREE|SCAN log|AUTOMATIC/;

test('no statement looks at more rows than it is asked for', (context) => {
  const database = openDataFile(placeFor(context).file);
  try {
    const plans = Object.entries(prepareStatements(database)).map(([name, { sourceSQL }]) => {
      const steps = database.prepare(`EXPLAIN QUERY PLAN ${sourceSQL}`).all();
      return { name, plan: steps.map(({ detail }) => String(detail)) };
    });
    assert.ok(plans.some(({ plan }) => plan.some((step) => step.includes('SEARCH log'))));
    assert.deepEqual(
      plans.filter(({ plan }) => plan.some((step) => scansOrSorts.test(step))),
      [],
    );
  } finally {
    database.close();
  }
});
