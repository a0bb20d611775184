import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type GoForm, goText } from './go-text.ts';
import {
  always,
  bool,
  int32,
  intOrString,
  list,
  map,
  microTime,
  opt,
  ptr,
  quantity,
  req,
  type Schema,
  string,
  struct,
  time,
} from './schema.ts';

const part = struct('api.core.v1.Part', '', {
  apiVersion: always(1, string(), ''),
  hostIP: opt(2, string(), ''),
  uid: opt(3, string(), ''),
  fsType: opt(4, string(), ''),
  on: ptr(5, bool(), ''),
});
const whole = struct('apimachinery.pkg.apis.meta.v1.Whole', '', {
  parts: opt(1, list(part), ''),
  part: ptr(2, part, ''),
  name: req(3, string(), ''),
  items: opt(4, map(string()), ''),
});
const none = 'core.Part{APIVersion:"", HostIP:"", UID:"", FSType:"", On:(*bool)(nil)}';
const cpu = 'resource.Quantity{i:resource.int64Amount{value:';
const rest = 'd:resource.infDecAmount{Dec:(*inf.Dec)(nil)}';

const rows: readonly (readonly [schema: Schema, value: unknown, text: string])[] = [
  [string(), 'a"b', '"a\\"b"'],
  [string(), undefined, '""'],
  [int32(), undefined, '0'],
  [int32(), -3, '-3'],
  [bool(), true, 'true'],
  [intOrString(), 5, 'intstr.IntOrString{Type:0, IntVal:5, StrVal:""}'],
  [intOrString(), '5%', 'intstr.IntOrString{Type:1, IntVal:0, StrVal:"5%"}'],
  [list(string()), ['a', 'b'], '[]string{"a", "b"}'],
  [list(string()), undefined, '[]string(nil)'],
  [map(string()), { b: 'c', a: 'd' }, 'map[string]string{"a":"d", "b":"c"}'],
  [map(int32()), undefined, 'map[string]int32(nil)'],
  [
    map(quantity()),
    { cpu: '500m' },
    `core.ResourceList{"cpu":${cpu}500, scale:-3}, ${rest}, s:"500m", Format:"DecimalSI"}}`,
  ],
  [quantity(), '2Gi', `${cpu}2147483648, scale:0}, ${rest}, s:"2Gi", Format:"BinarySI"}`],
  [quantity(), '64Mi', `${cpu}67108864, scale:0}, ${rest}, s:"", Format:"BinarySI"}`],
  [quantity(), '8000', `${cpu}8000, scale:0}, ${rest}, s:"", Format:"DecimalSI"}`],
  [quantity(), '-1e6', `${cpu}-1, scale:6}, ${rest}, s:"-1e6", Format:"DecimalExponent"}`],
  [time(), '2024-02-03T04:05:06Z', 'time.Date(2024, time.February, 3, 4, 5, 6, 0, time.Local)'],
  [microTime(), undefined, 'time.Date(1, time.January, 1, 0, 0, 0, 0, time.UTC)'],
  [part, undefined, none],
  [
    struct('api.core.v1.At', '', { at: ptr(1, time(), ''), until: ptr(2, time(), '') }),
    { until: '2024-02-03T04:05:06Z' },
    'core.At{At:<nil>, Until:time.Date(2024, time.February, 3, 4, 5, 6, 0, time.Local)}',
  ],
  [
    whole,
    { parts: [{ on: false }], part: {}, name: 'n' },
    `v1.Whole{Parts:[]core.Part{${none.replace('nil', '0xc000000000')}}, Part:(*core.Part)(0xc000000000), Name:"n", Items:map[string]string(nil)}`,
  ],
];

for (const [schema, value, text] of rows) test(text, () => assert.equal(goText(schema, value), text));

const sources = { rest: opt(2, string(), ''), cephfs: ptr(3, string(), ''), mode: ptr(4, string(), '') };
const outer = { name: opt(1, string(), ''), ...sources };
const unversioned: readonly (readonly [what: string, form: GoForm, text: string])[] = [
  ['no form', {}, 'core.Unit{Name:"a", Rest:"b", Cephfs:(*string)(nil), Mode:(*string)(nil)}'],
  ['another order', { order: ['mode', 'name'] }, 'core.Unit{Mode:(*string)(nil), Name:"a"}'],
  [
    'names and types of its own',
    { order: ['cephfs', 'mode'], names: { cephfs: 'CephFS' }, types: { mode: 'core.Mode' } },
    'core.Unit{CephFS:(*string)(nil), Mode:(*core.Mode)(nil)}',
  ],
  [
    'a value in the place of a pointer',
    { order: ['name', 'cephfs'], values: ['cephfs'] },
    'core.Unit{Name:"a", Cephfs:""}',
  ],
  [
    'an embedded struct at the end',
    { order: ['name', 'rest'], embedded: { type: 'UnitSource', beside: 'first' } },
    'core.Unit{Name:"a", UnitSource:core.UnitSource{Rest:"b"}}',
  ],
  [
    'an embedded struct at the beginning',
    { order: ['rest', 'name'], embedded: { type: 'UnitSource', beside: 'last' } },
    'core.Unit{UnitSource:core.UnitSource{Rest:"b"}, Name:"a"}',
  ],
];

for (const [what, form, text] of unversioned) {
  test(`a Go struct with ${what}`, () => {
    const unit = struct('api.core.v1.Unit', '', outer);
    assert.equal(goText(list(unit), [{ name: 'a', rest: 'b' }], { 'api.core.v1.Unit': form }), `[]core.Unit{${text}}`);
  });
}
