import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { dialects } from '../../dialect/dialects.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { DefaultClasses, type DefaultedKind } from '../default-classes.ts';
import { defaultIngressClass } from './default-ingress-class.ts';
import { defaultStorageClass } from './default-storage-class.ts';
import { classesOf, outcomeOf, type Write } from './outcome-fixture.ts';
import { persistentVolumeClaimResize } from './persistent-volume-claim-resize.ts';
import { storageObjectInUseProtection } from './storage-object-in-use-protection.ts';

const specOf = (made: unknown): unknown => (made as { readonly spec?: unknown }).spec;
const claims = 'persistentvolumeclaims';
const usual = { metadata: { name: 'usual' } };

for (const dialect of Object.values(dialects)) {
  const { domain } = dialect;
  for (const later of [false, true]) {
    const asking = later ? ', asking the store' : '';
    for (const { name, make, group, resource, field, former } of [
      {
        ...{ name: 'DefaultStorageClass', make: defaultStorageClass, group: '', resource: claims },
        ...{ field: 'storageClassName', former: `volume.beta.${domain}/storage-class` },
      },
      {
        ...{ name: 'DefaultIngressClass', make: defaultIngressClass, group: dialect.group('networking') },
        ...{ resource: 'ingresses', field: 'ingressClassName', former: `${domain}/ingress.class` },
      },
    ]) {
      describe(`${name}, ${dialect.name}${asking}`, () => {
        const given = { [field]: 'usual' };
        const own = { [field]: 'own' };
        const none = { [field]: '' };
        const annotated = { metadata: { annotations: { [former]: '' } }, spec: {} };
        const rows: readonly (readonly [string, object | undefined, Write, object | undefined])[] = [
          ['no class', usual, { object: { spec: {} } }, given],
          ['no spec', usual, { object: {} }, given],
          ['no default', undefined, { object: { spec: {} } }, {}],
          ['a class', usual, { object: { spec: own } }, own],
          ['none on purpose', usual, { object: { spec: none } }, none],
          ['by annotation', usual, { object: annotated }, {}],
          ['an update', usual, { operation: 'update', object: { spec: {} }, old: { spec: {} } }, {}],
          ['a subresource', usual, { resource: `${resource}/status`, object: { spec: {} } }, {}],
          ['another group', usual, { group: 'example.com', object: { spec: {} } }, {}],
        ];
        for (const [title, first, write, spec] of rows) {
          it(title, async () => {
            const plugin = make({ dialect, classes: classesOf([], { later, first }) });
            assert.deepEqual(specOf(await outcomeOf(plugin, { group, resource, ...write })), spec);
          });
        }
      });
    }

    describe(`PersistentVolumeClaimResize, ${dialect.name}${asking}`, () => {
      const sized = (
        storage: string | undefined,
        { phase = 'Bound', name = 'grows' as string | undefined, metadata = {} } = {},
      ) => ({
        metadata: { name: 'x', ...metadata },
        spec: {
          ...(name !== undefined && { storageClassName: name }),
          resources: storage ? { requests: { storage } } : {},
        },
        status: { phase },
      });
      const annotated = (name: string) => ({
        metadata: { annotations: { [`volume.beta.${domain}/storage-class`]: name } },
      });
      const classes = classesOf(
        [
          { metadata: { name: 'grows' }, allowVolumeExpansion: true },
          { metadata: { name: 'fixed' }, allowVolumeExpansion: false },
          { metadata: { name: 'silent' } },
        ],
        { later },
      );
      const unbound = 'Only bound persistent volume claims can be expanded';
      const fixed =
        'only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize';
      const rows: readonly (readonly [title: string, before: object, after: object, refusal?: string])[] = [
        ['growth', sized('1Gi'), sized('2Gi')],
        ['the same', sized('1Gi', { name: 'fixed' }), sized('1024Mi', { name: 'fixed' })],
        ['less, which validation judges', sized('2Gi', { name: 'fixed' }), sized('1Gi', { name: 'fixed' })],
        ['no size', sized(undefined, { name: 'fixed' }), sized(undefined, { name: 'fixed' })],
        ['a claim that waits', sized('1Gi', { phase: 'Pending' }), sized('2Gi', { phase: 'Bound' }), unbound],
        ['a lost claim', sized('1Gi', { phase: 'Lost' }), sized('2Gi'), unbound],
        ['a class that does not allow it', sized('1Gi', { name: 'fixed' }), sized('2Gi', { name: 'fixed' }), fixed],
        ['a class that says nothing', sized('1Gi', { name: 'silent' }), sized('2Gi', { name: 'silent' }), fixed],
        ['an unknown class', sized('1Gi', { name: 'gone' }), sized('2Gi', { name: 'gone' }), fixed],
        ['no class', sized('1Gi', { name: '' }), sized('2Gi', { name: '' }), fixed],
        ['a new class', sized('1Gi', { name: '' }), sized('2Gi'), fixed],
        ['another class', sized('1Gi', { name: 'fixed' }), sized('2Gi'), fixed],
        [
          'the annotation counts first',
          sized('1Gi', { name: 'fixed', ...annotated('grows') }),
          sized('2Gi', { name: 'fixed', ...annotated('grows') }),
        ],
        ['also where it does not allow it', sized('1Gi', annotated('fixed')), sized('2Gi', annotated('fixed')), fixed],
      ];
      const plugin = persistentVolumeClaimResize({ dialect, classes });
      for (const [title, old, object, refusal] of rows) {
        it(title, async () => {
          const made = await outcomeOf(plugin, { operation: 'update', resource: claims, old, object });
          const refused = refusal && `Forbidden: persistentvolumeclaims "x" is forbidden: ${refusal}`;
          assert.equal(typeof made === 'string' ? made : undefined, refused);
        });
      }
      for (const [title, write] of [
        ['creation', { operation: 'create', resource: claims, object: sized('1Gi', { phase: 'Pending' }) }],
        [
          'the status',
          {
            operation: 'update',
            resource: `${claims}/status`,
            old: sized('1Gi', { phase: 'Pending' }),
            object: sized('2Gi'),
          },
        ],
      ] as const) {
        it(`leaves ${title} alone`, async () => assert.notEqual(typeof (await outcomeOf(plugin, write)), 'string'));
      }
    });
  }

  describe(`StorageObjectInUseProtection, ${dialect.name}`, () => {
    const own = { [claims]: `${domain}/pvc-protection`, persistentvolumes: `${domain}/pv-protection` };
    for (const [resource, finalizer] of Object.entries(own)) {
      const rows: readonly (readonly [title: string, write: Write, finalizers: readonly string[] | undefined])[] = [
        ['a new object', {}, [finalizer]],
        ['others stay', { object: { metadata: { finalizers: ['a/b'] } } }, ['a/b', finalizer]],
        ['once', { object: { metadata: { finalizers: [finalizer, 'a/b'] } } }, [finalizer, 'a/b']],
        ['an update', { operation: 'update', old: {} }, undefined],
        ['a subresource', { resource: `${resource}/status` }, undefined],
        ['another group', { group: 'example.com' }, undefined],
      ];
      for (const [title, write, finalizers] of rows) {
        it(`${resource}: ${title}`, async () => {
          const made = await outcomeOf(storageObjectInUseProtection(dialect), { resource, ...write });
          assert.deepEqual((made as ApiObject).metadata.finalizers, finalizers);
        });
      }
    }
    it('other kinds', async () => {
      const made = await outcomeOf(storageObjectInUseProtection(dialect), { resource: 'configmaps' });
      assert.equal((made as ApiObject).metadata.finalizers, undefined);
    });
  });

  describe(`the default class, ${dialect.name}`, () => {
    const marked = (kind: 'storage' | 'storage.beta' | 'ingress', name: string, created: number, value = 'true') => {
      const [group, stage] = kind.split('.');
      const annotation = `${group}class.${stage ? `${stage}.` : ''}${domain}/is-default-class`;
      const creationTimestamp = `2026-01-01T00:00:0${created}Z`;
      return { metadata: { name, creationTimestamp, annotations: { [annotation]: value } } };
    };
    const valued = (name: string, value: number, globalDefault = true) => ({
      metadata: { name },
      value,
      globalDefault,
    });
    const rows: readonly (readonly [
      title: string,
      kind: DefaultedKind,
      objects: readonly object[],
      name: string | undefined,
    ])[] = [
      ['none', 'storageclasses', [{ metadata: { name: 'a' } }, marked('ingress', 'b', 1)], undefined],
      [
        'the annotation is true',
        'storageclasses',
        [marked('storage', 'a', 1, 'True'), marked('storage', 'b', 1, '')],
        undefined,
      ],
      ['one', 'storageclasses', [marked('storage', 'a', 1)], 'a'],
      ['one by the former annotation', 'storageclasses', [marked('storage.beta', 'a', 1)], 'a'],
      [
        'the newest',
        'storageclasses',
        [marked('storage', 'a', 1), marked('storage', 'c', 3), marked('storage.beta', 'b', 2)],
        'c',
      ],
      ['the first by name of those', 'storageclasses', [marked('storage', 'b', 1), marked('storage', 'a', 1)], 'a'],
      ['the newest', 'ingressclasses', [marked('ingress', 'b', 2), marked('ingress', 'a', 1)], 'b'],
      ['the first by name of those', 'ingressclasses', [marked('ingress', 'b', 1), marked('ingress', 'a', 1)], 'a'],
      ['none', 'ingressclasses', [marked('storage', 'a', 1)], undefined],
      ['the lowest', 'priorityclasses', [valued('a', 5), valued('b', -5), valued('c', -9, false)], 'b'],
      ['the first by name of those', 'priorityclasses', [valued('b', 5), valued('a', 5)], 'a'],
      ['none', 'priorityclasses', [valued('a', 5, false)], undefined],
    ];
    for (const [title, kind, objects, name] of rows) {
      it(`${kind}: ${title}`, () => {
        const classes = new DefaultClasses(dialect);
        for (const object of objects as readonly ApiObject[]) {
          classes.put(kind, object);
          classes.find(kind);
        }
        assert.equal(classes.find(kind)?.metadata.name, name);
      });
    }
    it('one that is no default any more, or gone, does not count', () => {
      const classes = new DefaultClasses(dialect);
      const found = () => classes.find('storageclasses')?.metadata.name;
      for (const [name, created] of [
        ['a', 1],
        ['b', 2],
        ['c', 3],
      ] as const)
        classes.put('storageclasses', marked('storage', name, created) as ApiObject);
      assert.equal(found(), 'c');
      classes.put('storageclasses', marked('storage', 'c', 3, 'false') as ApiObject);
      assert.equal(found(), 'b');
      classes.remove('storageclasses', 'b');
      assert.equal(found(), 'a');
      classes.remove('storageclasses', 'a');
      assert.equal(found(), undefined);
    });
  });
}
