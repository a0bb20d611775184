import assert from 'node:assert/strict';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { dialects } from '../../src/dialect/dialects.ts';
import { definitionOf } from '../support/custom-resources.ts';
import { KubectlClient, kubectl, kubectlMissing } from '../support/kubectl.ts';
import { kubectlReleases } from '../support/kubectl-releases.ts';
import { OrchProcess } from '../support/orch-process.ts';

const integer = { type: 'integer' };
const text = { type: 'string', description: 'Says something.' };
const object = (properties: object) => ({ type: 'object', properties });

/** Every release of kubectl defines a kind and does all that it can with its objects. */
for (const name of ['orch', 'kubernetes'] as const) {
  describe(`kubectl and custom resources with --dialect=${name}`, { skip: kubectlMissing ?? false }, () => {
    let server: OrchProcess;
    before(async () => {
      server = await OrchProcess.start({ flags: [`--dialect=${name}`] });
    });
    after(() => server[Symbol.asyncDispose]());

    for (const release of kubectlReleases) {
      it(`kubectl ${release.release}`, async () => {
        const client = new KubectlClient(release, server, ['-n', 'default']);
        const id = `r${release.release.replace('.', '-')}`;
        const group = `${id}.example.com`;
        const definition = definitionOf({
          ...{ group, kind: 'Crowd', dialect: dialects[name] },
          properties: {
            spec: object({ replicas: { ...integer, maximum: 9 }, say: text }),
            status: object({ replicas: integer, phase: text }),
          },
          version: {
            subresources: {
              status: {},
              scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' },
            },
            additionalPrinterColumns: [
              { name: 'Say', type: 'string', jsonPath: '.spec.say' },
              { name: 'Wanted', type: 'integer', jsonPath: '.spec.replicas', priority: 1 },
            ],
          },
        });
        const names = { ...definition.spec.names, shortNames: [id], categories: [`cat${id}`] };
        const manifest = { ...definition, spec: { ...definition.spec, names } };
        const crowd = (spec: object): string =>
          JSON.stringify({ apiVersion: `${group}/v1`, kind: 'Crowd', metadata: { name: 'one' }, spec });
        const kind = `crowds.${group}`;
        const ok = (args: readonly string[], input?: string): Promise<string> =>
          client.prints(args, input === undefined ? {} : { input });
        const fails = async (args: readonly string[], why: RegExp, input?: string): Promise<void> => {
          const { code, err } = await client.run(args, input === undefined ? {} : { input });
          assert.notEqual(code, 0, args.join(' '));
          assert.match(err, why, args.join(' '));
        };
        const fieldAt = (path: string): Promise<string> => ok(['get', kind, 'one', '-o', `jsonpath={${path}}`]);

        await ok(['create', '-f', '-'], JSON.stringify(manifest));
        await ok(['wait', `crd/${kind}`, '--for=condition=Established', '--timeout=20s']);
        await fails(['create', '--validate=strict', '-f', '-'], /unknown field "spec\.bogus"/, crowd({ bogus: 1 }));
        assert.match(await ok(['apply', '-f', '-'], crowd({ replicas: 1, say: 'hello' })), /created/);
        assert.match(await ok(['apply', '-f', '-'], crowd({ replicas: 2, say: 'hello' })), /configured/);
        assert.match(await ok(['apply', '-f', '-'], crowd({ replicas: 2, say: 'hello' })), /unchanged/);
        await ok(['apply', '-f', '-'], crowd({ replicas: 2 }));
        assert.equal(await fieldAt('.spec'), '{"replicas":2}');
        await ok(['apply', '--server-side', '--force-conflicts', '-f', '-'], crowd({ replicas: 2, say: 'hi' }));
        await fails(['patch', kind, 'one', '--type=merge', '-p', '{"spec":{"replicas":10}}'], /spec\.replicas/);
        await fails(
          ['patch', kind, 'one', '-p', '{"spec":{"replicas":3}}'],
          /unknown format|strategic|not supported|unable to find api field/,
        );

        await ok(['scale', `${kind}/one`, '--replicas=5']);
        await fails(
          ['scale', `${kind}/one`, '--replicas=6', '--current-replicas=2'],
          /Expected replicas to be 2, was 5/,
        );
        assert.equal(await fieldAt('.spec.replicas'), '5');
        assert.match(await ok(['get', kind, 'one', '--subresource=scale', '-o', 'yaml']), /kind: Scale/);
        const status = '{"status":{"phase":"Up"},"spec":{"say":"no"}}';
        await ok(['patch', kind, 'one', '--subresource=status', '--type=merge', '-p', status]);
        assert.equal(await fieldAt('.spec.say'), 'hi');
        await ok(['wait', `${kind}/one`, '--for=jsonpath={.status.phase}=Up', '--timeout=20s']);

        assert.match(await ok(['get', id]), /^NAME\s+SAY\none\s+hi\s/);
        assert.match(await ok(['get', `cat${id}`, '-o', 'wide']), /^NAME\s+SAY\s+WANTED\none\s+hi\s+5/);
        assert.match(await ok(['get', kind, '--no-headers', '-o', 'custom-columns=:.spec.say']), /hi/);
        assert.match(await ok(['describe', kind, 'one']), /Say:\s+hi/);
        assert.match(await ok(['explain', `${kind}.spec.say`]), /Says something/);
        assert.match(
          await ok(['api-resources', `--api-group=${group}`, '--no-headers']),
          new RegExp(`^crowds\\s+${id}\\s`),
        );

        const editor = join(server.dataDir, `edit-${id}`);
        writeFileSync(editor, '#!/bin/sh\nsed -i "s/say: hi/say: edited/" "$1"\n');
        chmodSync(editor, 0o755);
        const env = { KUBE_EDITOR: editor, HOME: server.dataDir };
        const edited = await kubectl(server, ['edit', kind, 'one'], { env, program: release.program });
        assert.equal(edited.code, 0, edited.err);
        assert.equal(await fieldAt('.spec.say'), 'edited');
        await ok(['label', kind, 'one', 'a=b']);
        assert.match(await ok(['get', kind, '-l', 'a=b', '-o', 'name']), /crowd\.[^/]+\/one/);
        await ok(['delete', kind, 'one']);
        await ok(['delete', 'crd', kind]);
      });
    }
  });
}
