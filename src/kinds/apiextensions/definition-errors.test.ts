import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { limits } from '../../base/limits.ts';
import { kubernetes } from '../../dialect/kubernetes.ts';
import { orch } from '../../dialect/orch.ts';
import { makeCertificate } from '../../pki/certificate-fixture.ts';
import {
  check,
  definitionOf,
  established,
  label,
  one,
  type Part,
  type Row,
  schemaOf,
  stored,
  updateErrors,
  versionOf,
} from './definition-fixture.ts';

const names = (more: Part): Part => definitionOf({ names: { plural: 'widgets', kind: 'Widget', ...more } });
const webhook = (clientConfig: Part | undefined, more: Part = {}): Part =>
  definitionOf({
    conversion: {
      strategy: 'Webhook',
      webhook: { ...(clientConfig && { clientConfig }), conversionReviewVersions: ['v1'], ...more },
    },
  });
const service = (more: Part): Part => webhook({ service: { namespace: 'default', name: 'converter', ...more } });
const base64 = (text: string): string => Buffer.from(text).toString('base64');
const form = '; desired format: https://host[/path]';

describe('errors of definitions: name, group, scope and names', () => {
  const needed = 'must be spec.names.plural+"."+spec.group';
  check([
    ['nothing is wrong', definitionOf()],
    ['no name, which is an error of any kind', definitionOf({}, { metadata: { name: undefined } })],
    [
      'name',
      definitionOf({}, { metadata: { name: 'other.example.com' } }),
      `metadata.name: Invalid value: "other.example.com": ${needed}`,
    ],
    [
      'no spec',
      definitionOf({}, { spec: {} }),
      `metadata.name: Invalid value: "widgets.example.com": ${needed}`,
      'spec.group: Required value',
      'spec.scope: Required value',
      'spec.versions: Invalid value: []string(nil): must have exactly one version marked as storage version',
      'spec.names.plural: Required value',
      'spec.names.singular: Required value',
      'spec.names.kind: Required value',
      'spec.names.listKind: Required value',
      'status.storedVersions: Invalid value: []string(nil): must have at least one stored version',
    ],
    [
      'group without a dot',
      definitionOf({ group: 'example' }, { metadata: { name: 'widgets.example' } }),
      'spec.group: Invalid value: "example": should be a domain with at least one dot',
    ],
    [
      'group that is no domain',
      definitionOf({ group: 'Example.com' }, { metadata: { name: 'widgets.Example.com' } }),
      "spec.group: Invalid value: \"Example.com\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
    ],
    [
      'scope',
      definitionOf({ scope: 'World' }),
      'spec.scope: Unsupported value: "World": supported values: "Cluster", "Namespaced"',
    ],
    [
      'plural',
      definitionOf({ names: { plural: 'Widgets', kind: 'Widget' } }, { metadata: { name: 'Widgets.example.com' } }),
      `spec.names.plural: Invalid value: "Widgets": ${label}`,
    ],
    ['singular', names({ singular: 'a.b' }), `spec.names.singular: Invalid value: "a.b": ${label}`],
    [
      'kind',
      names({ kind: 'Wid_get' }),
      `spec.names.singular: Invalid value: "wid_get": ${label}`,
      `spec.names.kind: Invalid value: "Wid_get": may have mixed case, but should otherwise match: ${label}`,
      `spec.names.listKind: Invalid value: "Wid_getList": may have mixed case, but should otherwise match: ${label}`,
    ],
    [
      'listKind like kind',
      names({ listKind: 'Widget' }),
      'spec.names.listKind: Invalid value: "Widget": kind and listKind may not be the same',
    ],
    ['short names', names({ shortNames: ['ok', 'Not'] }), `spec.names.shortNames[1]: Invalid value: "Not": ${label}`],
    [
      'too many short names',
      names({ shortNames: Array.from({ length: limits.definitionListMax + 1 }, () => 'w') }),
      `spec.names.shortNames: Too many: ${limits.definitionListMax + 1}: must have at most ${limits.definitionListMax} items`,
    ],
    [
      'too many categories',
      names({ categories: Array.from({ length: limits.definitionListMax + 1 }, () => 'all') }),
      `spec.names.categories: Too many: ${limits.definitionListMax + 1}: must have at most ${limits.definitionListMax} items`,
    ],
    ['categories', names({ categories: ['all', '1'] }), `spec.names.categories[1]: Invalid value: "1": ${label}`],
    [
      'a name that is too long',
      names({ singular: 'a'.repeat(64) }),
      `spec.names.singular: Invalid value: "${'a'.repeat(64)}": must be no more than 63 characters`,
    ],
    [
      'unknown fields to be preserved',
      definitionOf({ preserveUnknownFields: true }),
      'spec.preserveUnknownFields: Invalid value: true: cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead',
    ],
  ]);
});

describe('errors of definitions: conversion', () => {
  const url = 'https://converter.example.com/convert';
  const at = 'spec.conversion.webhookClientConfig';
  check([
    [
      'strategy',
      definitionOf({ conversion: { strategy: 'Magic' } }),
      'spec.conversion.strategy: Unsupported value: "Magic": supported values: "None", "Webhook"',
    ],
    ['no strategy', definitionOf({ conversion: {} }), 'spec.conversion.strategy: Required value'],
    [
      'no webhook',
      definitionOf({ conversion: { strategy: 'Webhook' } }),
      `${at}: Required value: required when strategy is set to Webhook`,
      'spec.conversion.conversionReviewVersions: Required value',
    ],
    [
      'a webhook for nothing',
      definitionOf({
        conversion: { strategy: 'None', webhook: { clientConfig: { url }, conversionReviewVersions: ['v1'] } },
      }),
      `${at}: Forbidden: should not be set when strategy is not set to Webhook`,
      'spec.conversion.conversionReviewVersions: Forbidden: should not be set when strategy is not set to Webhook',
    ],
    ['neither url nor service', webhook({}), `${at}: Required value: exactly one of url or service is required`],
    [
      'url and service',
      webhook({ url, service: { namespace: 'a', name: 'b' } }),
      `${at}: Required value: exactly one of url or service is required`,
    ],
    ['a good url', webhook({ url })],
    [
      'scheme',
      webhook({ url: 'http://example.com' }),
      `${at}.url: Invalid value: "http": 'https' is the only allowed URL scheme${form}`,
    ],
    ['host', webhook({ url: 'https:///path' }), `${at}.url: Invalid value: "": host must be specified${form}`],
    [
      'user',
      webhook({ url: 'https://a:secret@example.com' }),
      `${at}.url: Invalid value: user information is not permitted in the URL`,
    ],
    [
      'fragment',
      webhook({ url: `${url}#part` }),
      `${at}.url: Invalid value: "part": fragments are not permitted in the URL`,
    ],
    [
      'query',
      webhook({ url: `${url}?a=b` }),
      `${at}.url: Invalid value: "a=b": query parameters are not permitted in the URL`,
    ],
    [
      'no url at all',
      webhook({ url: ':\n' }),
      `${at}.url: Required value: url must be a valid URL: parse ":\\n": net/url: invalid control character in URL${form}`,
    ],
    [
      'port of the url',
      webhook({ url: 'https://example.com:x' }),
      `${at}.url: Required value: url must be a valid URL: parse "https://example.com:x": invalid port ":x" after host${form}`,
    ],
    ['a good service', service({})],
    [
      'service: nothing',
      webhook({ service: {} }),
      `${at}.service.name: Required value: service name is required`,
      `${at}.service.namespace: Required value: service namespace is required`,
    ],
    [
      'service: port',
      service({ port: 0 }),
      `${at}.service.port: Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive`,
    ],
    [
      'service: path',
      service({ path: 'convert' }),
      `${at}.service.path: Invalid value: "convert": must start with a '/'`,
    ],
    [
      'service: empty segment',
      service({ path: '/a//b' }),
      `${at}.service.path: Invalid value: "/a//b": segment[1] may not be empty`,
    ],
    [
      'service: empty path',
      service({ path: '//' }),
      `${at}.service.path: Invalid value: "//": segment[0] may not be empty`,
    ],
    [
      'versions of reviews',
      webhook({ url }, { conversionReviewVersions: ['v1', 'v1', 'V2'] }),
      'spec.conversion.conversionReviewVersions[1]: Invalid value: "v1": duplicate version',
      `spec.conversion.conversionReviewVersions[2]: Invalid value: "V2": ${label}`,
    ],
    [
      'no known version of reviews',
      webhook({ url }, { conversionReviewVersions: ['v7'] }),
      'spec.conversion.conversionReviewVersions: Invalid value: []string{"v7"}: must include at least one of v1, v1beta1',
    ],
    ['an invalid caBundle, before establishment', webhook({ url, caBundle: base64('nothing') })],
  ]);
});

for (const dialect of [orch, kubernetes]) {
  const annotation = `api-approved.${dialect.domain}`;
  const sees = 'see https://github.com/kubernetes/enhancements/pull/1111';
  const domain = dialect.protectedDomains[0] ?? '';
  const inGroup = (group: string, approved?: string): Part =>
    definitionOf(
      { group },
      {
        metadata: {
          name: `widgets.${group}`,
          ...(approved !== undefined && { annotations: { [annotation]: approved } }),
        },
      },
    );
  const field = `metadata.annotations[${annotation}]`;
  const invalid = `${field}: Invalid value: "yes": protected groups must have approval annotation "${annotation}" with either a URL or a reason starting with "unapproved", ${sees}`;

  describe(`errors of definitions: groups in the dialect ${dialect.name}`, () => {
    check(
      [
        ...['coordination', 'rbac.authorization', 'apiextensions', 'certificates'].map(
          (group): Row => [
            `built-in: ${group}`,
            inGroup(dialect.group(group), 'unapproved'),
            `spec.group: Invalid value: "${dialect.group(group)}": is the group of built-in resources`,
          ],
        ),
        [
          'built-in without a domain',
          inGroup('apps'),
          'spec.group: Invalid value: "apps": is the group of built-in resources',
        ],
        ...dialect.protectedDomains.map(
          (each): Row => [
            `protected: ${each}`,
            inGroup(`new.${each}`),
            `${field}: Required value: protected groups must have approval annotation "${annotation}", ${sees}`,
          ],
        ),
        ['protected itself', inGroup(domain, 'yes'), invalid],
        ['approved', inGroup(`new.${domain}`, 'https://example.com/1')],
        ['not approved', inGroup(`new.${domain}`, 'unapproved, an experiment')],
        ['not protected', inGroup(`not${domain}`)],
      ],
      dialect,
    );

    it('an approval that stays as it is passes', () => {
      const old = stored(inGroup(`new.${domain}`, 'yes'), dialect);
      assert.deepEqual(updateErrors(old, inGroup(`new.${domain}`, 'no'), dialect), []);
      const approved = stored(inGroup(`new.${domain}`, 'https://example.com/1'), dialect);
      assert.deepEqual(updateErrors(approved, inGroup(`new.${domain}`, 'yes'), dialect), [invalid]);
    });
  });
}

describe('errors of updates of definitions', () => {
  const schema = (properties: Part): Part => one({ schema: schemaOf(properties) });
  const url = 'https://converter.example.com';
  const { cert } = makeCertificate({ name: 'converter', authority: true });
  const caBundle =
    'spec.conversion.webhookClientConfig.caBundle: Invalid value: "<certificates>": unable to load root certificates:';
  type Update = readonly [what: string, old: ReturnType<typeof stored>, sent: Part, ...errors: string[]];
  const rows: readonly Update[] = [
    ['nothing', stored(definitionOf()), definitionOf()],
    [
      'scope and kind before establishment',
      stored(definitionOf()),
      definitionOf({ scope: 'Cluster', names: { plural: 'widgets', kind: 'Gadget' } }),
    ],
    [
      'scope and kind of an established one',
      established(stored(definitionOf())),
      definitionOf({ scope: 'Cluster', names: { plural: 'widgets', kind: 'Gadget' } }),
      'spec.scope: Invalid value: "Cluster": field is immutable',
      'spec.names.kind: Invalid value: "Gadget": field is immutable',
    ],
    [
      'group and plural',
      stored(definitionOf()),
      definitionOf({ group: 'example.org', names: { plural: 'gadgets', kind: 'Widget' } }),
      'spec.group: Invalid value: "example.org": field is immutable',
      'spec.names.plural: Invalid value: "gadgets": field is immutable',
    ],
    [
      'a stored version that goes',
      stored(definitionOf()),
      one({ name: 'v2' }),
      'status.storedVersions[0]: Invalid value: "v1": must appear in spec.versions',
    ],
    ['an unchanged wrong schema', stored(schema({ a: {} })), schema({ a: {} })],
    ['a wrong field of a changed schema', stored(schema({ a: {} })), schema({ a: {}, b: { type: 'string' } })],
    [
      'an unknown type of a changed schema',
      stored(schema({ a: { type: 'file' } })),
      schema({ a: { type: 'file', description: 'x' } }),
    ],
    [
      'another wrong field beside it',
      stored(schema({ a: {} })),
      schema({ a: {}, b: {} }),
      'spec.validation.openAPIV3Schema.properties[b].type: Required value: must not be empty for specified object fields',
    ],
    [
      'a wrong field that is wrong in another way',
      stored(schema({ a: {} })),
      schema({ a: { type: 'array' } }),
      'spec.validation.openAPIV3Schema.properties[a].items: Required value: must be specified',
    ],
    [
      'a wrong schema of another version',
      stored(schema({ a: {} })),
      definitionOf({
        versions: [
          versionOf({ schema: schemaOf({ a: {} }) }),
          versionOf({ name: 'v2', storage: false, schema: schemaOf({ a: {}, b: { type: 'string' } }) }),
        ],
      }),
      'spec.versions[1].schema.openAPIV3Schema.properties[a].type: Required value: must not be empty for specified object fields',
    ],
    [
      'a schema that was missing',
      stored(one({ schema: undefined, served: false })),
      one({ schema: undefined, served: false }),
    ],
    [
      'a schema that is missing where it is served',
      stored(one({ schema: undefined })),
      one({ schema: undefined }),
      'spec.versions[0].schema.openAPIV3Schema: Required value: because otherwise all fields are pruned',
    ],
    [
      'unknown fields that were preserved',
      stored(definitionOf({ preserveUnknownFields: true })),
      definitionOf({ preserveUnknownFields: true }),
    ],
    [
      'an invalid caBundle before establishment',
      stored(webhook({ url, caBundle: base64(cert) })),
      webhook({ url, caBundle: base64('nothing') }),
    ],
    [
      'an invalid caBundle instead of a valid one',
      established(stored(webhook({ url, caBundle: base64(cert) }))),
      webhook({ url, caBundle: base64('nothing') }),
      `${caBundle} unable to parse bytes as PEM block`,
    ],
    [
      'an invalid caBundle instead of none',
      established(stored(webhook({ url }))),
      webhook({ url, caBundle: base64('-----BEGIN X-----\n-----END X-----\n') }),
      `${caBundle} no valid certificate authority data seen`,
    ],
    [
      'an invalid caBundle instead of an invalid one',
      established(stored(webhook({ url, caBundle: base64('other') }))),
      webhook({ url, caBundle: base64('nothing') }),
    ],
    ['a valid caBundle', established(stored(webhook({ url }))), webhook({ url, caBundle: base64(cert) })],
    [
      'unknown versions of reviews that were there',
      stored(webhook({ url }, { conversionReviewVersions: ['v7'] })),
      webhook({ url }, { conversionReviewVersions: ['v8'] }),
    ],
    [
      'unknown versions of reviews that were not',
      stored(webhook({ url })),
      webhook({ url }, { conversionReviewVersions: ['v8'] }),
      'spec.conversion.conversionReviewVersions: Invalid value: []string{"v8"}: must include at least one of v1, v1beta1',
    ],
  ];
  for (const [what, old, sent, ...errors] of rows) it(what, () => assert.deepEqual(updateErrors(old, sent), errors));
});
