import { systemClock } from '../../base/time/clock.ts';
import { conformance } from '../conformance/conformance.ts';
import { openMemoryStore } from '../drivers/memory/memory-store.ts';
import { transformedStore } from '../transformed-store.ts';
import { configuration, EncryptionFixture, keyed, plugin } from './encryption-fixture.ts';

/** A store with encryption in front of it is a store. Of most keys of the suite the resource has no name. */

const everything = ['*.*'];

for (const [name, provider] of Object.entries({ aesgcm: keyed('aesgcm', 'key1'), kms: plugin('plugin') })) {
  conformance({
    name: `memory encrypted by ${name}`,
    capabilities: { durable: false },
    async open() {
      const { transformer } = await new EncryptionFixture().open(configuration([everything, provider]), {
        clock: systemClock,
      });
      // The suite's keys belong to no resource.
      const store = transformedStore(
        openMemoryStore(),
        {
          toStored: (bytes, key) => transformer.toStored(bytes, `/core/secrets${key}`),
          fromStored: (bytes, key) => transformer.fromStored(bytes, `/core/secrets${key}`),
        },
        systemClock,
      );
      return { store, dispose: () => store.close() };
    },
  });
}
