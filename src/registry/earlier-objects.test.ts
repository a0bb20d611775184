import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RegistryFixture } from './registry-fixture.ts';

/** Updates of objects that were stored before there was a rule. */

const path = '/api/v1/namespaces/n/podtemplates';
const template = (name: string, hugePages: string, labels = {}) => {
  const resources = { limits: { memory: '1Gi', 'hugepages-2Mi': hugePages } };
  const spec = { containers: [{ name: 'c', image: 'i', resources }] };
  return { metadata: { name, labels }, template: { metadata: { labels: { a: 'b' } }, spec } };
};

test('an update may leave what became invalid, or make it other; one of a valid object may not make it so', async () => {
  await using fixture = await RegistryFixture.open();
  assert.equal((await fixture.refusal('POST', path, template('new', '3Mi'))).code, 422);
  await fixture.object('POST', path, template('valid', '4Mi'));
  const refused = await fixture.refusal('PUT', `${path}/valid`, template('valid', '3Mi'));
  assert.equal(
    refused.message,
    'PodTemplate "valid" is invalid: template.spec.containers[0].resources.limits[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi',
  );

  await fixture.object('POST', path, template('early', '4Mi'));
  const { store, cache } = fixture;
  const key = fixture.served(path).objectKey('n', 'early');
  const { records } = await store.list(key);
  const [record] = records;
  assert.ok(record);
  const earlier = Buffer.from(record.value.toString().replaceAll('"4Mi"', '"3Mi"'));
  await store.update(key, earlier, record.revision);
  await cache.fresh();
  await fixture.object('PUT', `${path}/early`, template('early', '3Mi', { c: 'd' }));
  await fixture.object('PUT', `${path}/early`, template('early', '5Mi'));
  const other = template('early', '5Mi');
  Object.assign(other.template.spec.containers[0] ?? {}, { image: ' ' });
  const { message } = await fixture.refusal('PUT', `${path}/early`, other);
  assert.match(
    message,
    /^PodTemplate "early" is invalid: template\.spec\.containers\[0\]\.image: /,
    'other rules hold',
  );
});
