import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { build } from 'esbuild';
import { makeInitialForms } from '../src/server/upkeep/make-initial-forms.ts';
import { initialForms } from './initial-forms.ts';

test('the bundle has the forms of initial objects that the sources make', async () => {
  const root = resolve(import.meta.dirname, '..');
  const { outputFiles } = await build({
    ...{ absWorkingDir: root, bundle: true, format: 'esm', write: false, logLevel: 'silent' },
    entryPoints: ['src/registry/write/built-forms.ts'],
    plugins: [initialForms(root)],
  });
  const bundled = await import(`data:text/javascript,${encodeURIComponent(outputFiles[0]?.text ?? '')}`);
  assert.deepEqual(bundled.builtForms, makeInitialForms());
});
