import assert from 'node:assert/strict';
import { after, before, beforeEach } from 'node:test';
import { resourcePath } from '../../src/client/resource-path.ts';
import type { ApiObject } from '../../src/meta/api-object.ts';
import { type ConversionQuestion, ConversionWebhook } from './conversion-webhook.ts';
import { definitionOf, versionOf } from './custom-resources.ts';

/**
 * Addresses: widgets of a group, in two versions between which a webhook converts. In v1 an address is host and port, in v2
 * one text.
 */

export interface Address extends ApiObject {
  readonly host?: string;
  readonly port?: string;
  readonly hostPort?: string;
}

type Fields = Readonly<Record<string, unknown>>;
type Version = 'v1' | 'v2';

const text = { type: 'string' };
const schemas = { v1: { host: text, port: text }, v2: { hostPort: text } };

/** The versions of a definition, with further fields of each. */
export const addressVersions = (storage: Version, more: Partial<Record<Version, Fields>> = {}): readonly Fields[] =>
  (['v1', 'v2'] as const).map((name) =>
    versionOf({ ...schemas[name], ...more[name] }, { name, storage: name === storage }),
  );

function convertAddress(object: Fields, apiVersion: string): unknown {
  const { host, port, hostPort, ...rest } = object as unknown as Address;
  if (apiVersion.endsWith('/v2')) return { ...rest, hostPort: `${host}:${port}` };
  const [first, second] = String(hostPort).split(':');
  return { ...rest, host: first, port: second };
}

/** The path of addresses, or of one. */
export const addressPath = (group: string, version: string, name?: string): string =>
  resourcePath({ apiVersion: `${group}/${version}`, resource: 'widgets', namespace: 'default', name });

/** An address as it is sent in v1. */
export const address = (group: string, name: string, more: Fields = {}) => ({
  ...{ apiVersion: `${group}/v1`, kind: 'Widget', metadata: { name }, host: 'a', port: '1' },
  ...more,
});

/** The same in v2. */
export const addressInTwo = (group: string, name: string, more: Fields = {}) => ({
  ...{ apiVersion: `${group}/v2`, kind: 'Widget', metadata: { name }, hostPort: 'b:2' },
  ...more,
});

/** The definition of the addresses of a group. Default: stored in v1. */
export function addressDefinition(
  group: string,
  conversion: Fields,
  versions: readonly Fields[] = addressVersions('v1'),
): ReturnType<typeof definitionOf> {
  const definition = definitionOf({ group, versions });
  return { ...definition, spec: { ...definition.spec, conversion } as typeof definition.spec };
}

/** A webhook that converts addresses. */
interface AddressWebhook {
  readonly webhook: ConversionWebhook;
  /** The questions about objects of a group. */
  asked(group: string): readonly ConversionQuestion[];
}

/** The webhook of the calling suite, which answers as usual when a test begins. Default: it converts addresses. */
export function webhookForSuite(convert: ConversionWebhook['convert'] = convertAddress): AddressWebhook {
  let running: ConversionWebhook | undefined;
  const started = (): ConversionWebhook => running ?? assert.fail('the webhook has not started');
  before(async () => {
    running = await ConversionWebhook.start(convert);
  });
  after(() => running?.[Symbol.asyncDispose]());
  beforeEach(() => started().reset());
  return {
    get webhook() {
      return started();
    },
    asked: (group) => started().questions.filter(({ desiredAPIVersion }) => desiredAPIVersion.startsWith(`${group}/`)),
  };
}
