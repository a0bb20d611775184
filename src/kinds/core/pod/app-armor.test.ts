import assert from 'node:assert/strict';
import { test } from 'node:test';
import { created } from './pod-fixture.ts';

type Profile = Readonly<Record<string, string>>;

const key = 'container.apparmor.security.beta.orch.io';
const local = { type: 'Localhost', localhostProfile: 'p' };

interface Row {
  readonly why: string;
  readonly annotation?: string;
  readonly ofPod?: Profile;
  readonly ofContainer?: Profile;
  readonly os?: string;
  /** The annotation and the profile of the container that are stored. */
  readonly stored: readonly [annotation: string | undefined, profile: Profile | undefined];
  /** Whoever sent it is told that it is a former form. */
  readonly warned?: true;
}

const rows: readonly Row[] = [
  { why: 'nothing', stored: [undefined, undefined] },
  { why: 'a profile of the container', ofContainer: local, stored: ['localhost/p', local] },
  { why: 'none for the pod', ofPod: { type: 'Unconfined' }, stored: ['unconfined', undefined] },
  {
    why: 'both',
    ofPod: { type: 'Unconfined' },
    ofContainer: { type: 'RuntimeDefault' },
    stored: ['runtime/default', { type: 'RuntimeDefault' }],
  },
  { why: 'an annotation', annotation: 'localhost/p', stored: ['localhost/p', local], warned: true },
  { why: 'an annotation that is no profile', annotation: 'x', stored: ['x', undefined], warned: true },
  { why: 'an annotation without a profile', annotation: 'localhost/', stored: ['localhost/', undefined], warned: true },
  {
    why: 'an annotation with the profile of the pod',
    annotation: 'unconfined',
    ofPod: { type: 'Unconfined' },
    stored: ['unconfined', undefined],
  },
  {
    why: 'another annotation than the profile of the container',
    annotation: 'unconfined',
    ofContainer: local,
    stored: ['unconfined', local],
  },
  { why: 'another system', os: 'windows', annotation: 'unconfined', stored: ['unconfined', undefined] },
];

for (const { why, annotation, ofPod, ofContainer, os, stored, warned } of rows) {
  test(`AppArmor: ${why}`, () => {
    const { pod, warnings } = created({
      ...(annotation !== undefined && { metadata: { annotations: { [`${key}/c`]: annotation } } }),
      spec: {
        containers: [
          { name: 'c', image: 'i', ...(ofContainer && { securityContext: { appArmorProfile: ofContainer } }) },
        ],
        ...(ofPod && { securityContext: { appArmorProfile: ofPod } }),
        ...(os !== undefined && { os: { name: os } }),
      },
    });
    const profile = pod.spec?.containers?.[0]?.securityContext?.appArmorProfile;
    assert.deepEqual([pod.metadata?.annotations?.[`${key}/c`], profile && { ...profile }], stored);
    const text = `metadata.annotations[${key}/c]: deprecated since v1.30; use the "appArmorProfile" field instead`;
    assert.deepEqual(
      warnings?.filter((each) => each.includes('annotations')),
      warned ? [text] : [],
    );
  });
}
