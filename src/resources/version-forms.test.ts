import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { limits } from '../base/limits.ts';
import { ManualClock } from '../base/time/clock.ts';
import { TimeSlice } from '../base/time/time-slice.ts';
import { until } from '../base/waits-fixture.ts';
import type { CacheEntry, Collection, WatchSink } from '../cache/cache.ts';
import { encodeObject } from '../codec/json.ts';
import { insertResourceVersion } from '../codec/object-bytes.ts';
import type { ApiObject } from '../meta/api-object.ts';
import { VersionForms } from './version-forms.ts';

const entryOf = (size: number): CacheEntry => {
  const object = { kind: 'Cow', apiVersion: 'a/v1', metadata: { name: 'x' }, text: 'x'.repeat(size) } as ApiObject;
  const bytes = insertResourceVersion(encodeObject(object), 7);
  return { bytes, memory: bytes, start: 0, end: bytes.length } as CacheEntry;
};
const versionOf = (bytes: Buffer): string => JSON.parse(bytes.toString()).apiVersion;

/** Forms of v2, and how often a conversion was made here and elsewhere. */
function formsOfTwo() {
  const made = { here: 0, elsewhere: 0 };
  const inTwo = (bytes: Buffer): Buffer => Buffer.from(bytes.toString().replace('"a/v1"', '"a/v2"'));
  const forms = new VersionForms(
    {
      type: 'now',
      convert: (object) => {
        made.here += 1;
        return { ...object, apiVersion: 'a/v2' };
      },
      heavy: {
        takes: ({ length }) => length > 2 * limits.lightBytesMax,
        convert: async (bytes) => {
          made.elsewhere += 1;
          return inTwo(bytes);
        },
      },
    },
    { group: 'a', version: 'v2', kind: 'Cow' },
  );
  return { forms, made };
}

/** The bytes of an entry, by each way to get them. */
const ways: Readonly<Record<string, (forms: VersionForms, entry: CacheEntry) => Promise<Buffer>>> = {
  'of an entry': async (forms, entry) => forms.bytesOf(entry, {}),
  'of bytes': async (forms, { bytes }) => forms.converted(bytes, {}),
  'of a list': async (forms, entry) => {
    const clock = new ManualClock();
    const { signal } = new AbortController();
    const [shown] = [...(await forms.entries([entry], new TimeSlice(clock), { signal }))];
    return shown?.bytes as Buffer;
  },
  'of an event': async (forms, entry) => {
    let seen: Buffer | undefined;
    const sink: WatchSink = {
      event(event) {
        seen = event.entry.bytes;
        return true;
      },
      closed() {},
    };
    const watch: Collection['watch'] = (_options, inner) => {
      inner.event({ type: 'MODIFIED', entry } as Parameters<WatchSink['event']>[0]);
      return { revision: 7, resume() {}, close() {} };
    };
    const watcher = forms.watch({ watch } as Collection, { after: 0 }, sink);
    await until(() => seen !== undefined);
    watcher.close();
    return seen as Buffer;
  },
};

describe('objects in another version', () => {
  for (const [what, bytesOf] of Object.entries(ways)) {
    it(`${what}: large ones are converted elsewhere, others here`, async () => {
      for (const [size, expected] of [
        [10, { here: 1, elsewhere: 0 }],
        [2 * limits.lightBytesMax - 200, { here: 1, elsewhere: 0 }],
        [2 * limits.lightBytesMax, { here: 0, elsewhere: 1 }],
      ] as const) {
        const { forms, made } = formsOfTwo();
        assert.equal(versionOf(await bytesOf(forms, entryOf(size))), 'a/v2');
        assert.deepEqual(made, expected, `${size} bytes`);
      }
    });
  }

  it('a large one that is there in this version is not converted', async () => {
    const { forms, made } = formsOfTwo();
    const entry = entryOf(10 * limits.lightBytesMax);
    await Promise.all([forms.bytesOf(entry, {}), forms.bytesOf(entry, {})]);
    assert.deepEqual(made, { here: 0, elsewhere: 1 }, 'once, for those who wait for it at the same time');
    const known = forms.bytesOf(entry, {}) as Buffer;
    assert.equal(versionOf(known), 'a/v2', 'nothing is waited for');
    assert.equal(await forms.converted(known, {}), known);
    assert.deepEqual(made, { here: 0, elsewhere: 1 });
  });
});
