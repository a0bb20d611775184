import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { seededRandom } from '../../base/random.ts';
import { ManualClock } from '../../base/time/clock.ts';
import { encodeObject } from '../../codec/json.ts';
import { dialectNames, dialects } from '../../dialect/dialects.ts';
import { RegistryFixture } from '../../registry/registry-fixture.ts';
import { completeObject } from '../../registry/write/complete-object.ts';
import { encodedByForm, loadForms, readForms, writeForms } from '../../registry/write/initial-forms.ts';
import { createInitial } from '../../registry/write/initial-object.ts';
import { defaultFeatures, namesOfEnabled } from '../wiring/features.ts';
import { serverUser } from './bootstrap.ts';
import { formedObjects, makeInitialForms } from './make-initial-forms.ts';

const features = namesOfEnabled(defaultFeatures);
const texts = makeInitialForms();

describe('forms of initial objects', () => {
  for (const name of dialectNames) {
    const dialect = dialects[name];
    const forms = readForms(name, texts[name] ?? '');
    const objects = formedObjects(dialect);
    /** Each maker has its own, so that it draws the same ids. */
    const parts = () => ({ dialect, features, clock: new ManualClock(1_750_000_123_456), random: seededRandom(7) });

    it(`${name}: give the bytes of an object that is made`, () => {
      assert.ok(objects.length > 150, `${objects.length} objects`);
      const [made, formed] = [parts(), parts()];
      for (const initial of objects) {
        const expected = encodeObject(completeObject(made, initial)).toString();
        assert.equal(encodedByForm(forms, formed, initial)?.toString(), expected);
      }
    });

    it(`${name}: are for no other object, writer, gates or dialect`, () => {
      const [initial] = objects;
      assert.ok(initial);
      const { object } = initial;
      const other = { ...object, metadata: { ...object.metadata, labels: { other: 'true' } } };
      assert.equal(encodedByForm(forms, parts(), { ...initial, object: other }), undefined);
      assert.equal(encodedByForm(forms, parts(), { ...initial, manager: 'another' }), undefined);
      assert.equal(encodedByForm(forms, { ...parts(), features: new Set([...features, 'X']) }, initial), undefined);
      const [elsewhere] = dialectNames.filter((each) => each !== name);
      assert.ok(elsewhere);
      assert.equal(encodedByForm(forms, { ...parts(), dialect: dialects[elsewhere] }, initial), undefined);
    });

    it(`${name}: are not in the sources`, async () => assert.equal(await loadForms(dialect), undefined));
  }

  it('are what is written where there are some', async () => {
    await using fixture = await RegistryFixture.open();
    const object = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'formed' } };
    const initial = { served: fixture.served('/api/v1/namespaces'), object, user: serverUser, manager: 'orch' };
    const parts = { dialect: dialects.orch, features, clock: fixture.clock, random: seededRandom(7) };
    const text = writeForms(parts, [initial]).replace('"formed"', '"by-form"');
    assert.ok(await createInitial({ ...parts, store: fixture.store }, initial, readForms('orch', text)));
    await fixture.cache.fresh();
    const stored = fixture.served('/api/v1/namespaces').collection.get('/core/namespaces/formed');
    assert.match(stored?.bytes.toString() ?? '', /"name":"by-form"/);
  });
});
