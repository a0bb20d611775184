import assert from 'node:assert/strict';
import { test } from 'node:test';
import { overlappingPaths } from './overlapping-paths.ts';

const items = (...paths: readonly string[]) => ({ items: paths.map((path) => ({ key: 'k', path })) });

const rows: readonly (readonly [
  why: string,
  volume: Parameters<typeof overlappingPaths>[0][number],
  found: readonly string[],
])[] = [
  ['different files', { name: 'v', configMap: { name: 'c', ...items('a', 'b/a', 'ab') } }, []],
  [
    'a file twice',
    { name: 'v', configMap: { name: 'c', ...items('a', 'a/') } },
    ['volume "v" (ConfigMap "c"): overlapping paths: "a" with "a"'],
  ],
  [
    'a file below another one',
    { name: 'v', secret: { secretName: 's', ...items('a', 'a/b/c') } },
    ['volume "v" (Secret "s"): overlapping paths: "a/b/c" with "a"'],
  ],
  [
    'a file above others',
    { name: 'v', downwardAPI: { items: [{ path: 'a/b' }, { path: 'a/c' }, { path: 'a' }] } },
    [
      'volume "v" (DownwardAPI): overlapping paths: "a" with "a/b"',
      'volume "v" (DownwardAPI): overlapping paths: "a" with "a/c"',
    ],
  ],
  [
    'files of several sources',
    {
      name: 'v',
      projected: {
        sources: [
          { configMap: { name: 'c', ...items('a') } },
          { secret: { name: 's', ...items('a') } },
          { serviceAccountToken: { path: 'a/t' } },
          { secret: { name: 'all' } },
        ],
      },
    },
    [
      'volume "v" (Projected): overlapping paths: "a" (Secret "s") with "a" (ConfigMap "c")',
      'volume "v" (Projected): overlapping paths: "a/t" (ServiceAccountToken) with "a" (ConfigMap "c")',
      'volume "v" (Projected): overlapping paths: "a/t" (ServiceAccountToken) with "a" (Secret "s")',
    ],
  ],
  [
    'a source of nothing',
    { name: 'v', projected: { sources: [{}] } },
    ['volume "v" (Projected) has no sources provided'],
  ],
];

for (const [why, volume, found] of rows) {
  test(`paths in a volume: ${why}`, () => assert.deepEqual(overlappingPaths([volume]), found));
}

test('paths in a volume: very many warnings are cut off', () => {
  const many = Array.from({ length: 5000 }, () => 'a');
  assert.ok(overlappingPaths([{ name: 'v', configMap: { name: 'c', ...items(...many) } }]).length < 200);
});
