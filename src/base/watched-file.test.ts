import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { systemFiles } from './files.ts';
import { ManualClock } from './time/clock.ts';
import { WatchedFile } from './watched-file.ts';

describe('a watched file', () => {
  let directory: string;
  let path: string;
  let clock: ManualClock;
  let seen: string[];
  let errors: string[];
  let refuse: string;
  let watched: WatchedFile;

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'watched-'));
    path = join(directory, 'file');
    writeFileSync(path, 'one');
    clock = new ManualClock();
    seen = [];
    errors = [];
    refuse = '';
    const apply = (content: Buffer): void => {
      if (content.toString() === refuse) throw new Error(`refused ${refuse}`);
      seen.push(content.toString());
    };
    const failed = (error: unknown): void => void errors.push(String(error));
    watched = new WatchedFile(
      { files: systemFiles, path, clock, apply, failed, intervalMs: 1000, rereadMs: 60_000 },
      readFileSync(path),
    );
  });

  afterEach(() => {
    watched.close();
    rmSync(directory, { recursive: true });
    assert.equal(clock.pending, 0);
  });

  it('is not applied again while unchanged', () => {
    clock.advance(180_000);
    assert.deepEqual([seen, errors], [[], []]);
  });

  it('is applied once when it is written, and when it is replaced', () => {
    writeFileSync(path, 'two');
    clock.advance(3000);
    writeFileSync(`${path}.new`, 'three');
    renameSync(`${path}.new`, path);
    clock.advance(3000);
    assert.deepEqual([seen, errors], [['two', 'three'], []]);
  });

  it('is applied when its symlink changes its target', () => {
    for (const name of ['a', 'b']) writeFileSync(join(directory, name), name);
    for (const name of ['a', 'b']) {
      symlinkSync(join(directory, name), `${path}.link`);
      renameSync(`${path}.link`, path);
      clock.advance(1000);
    }
    assert.deepEqual(seen, ['a', 'b']);
  });

  it('reports a rejected content once, and applies the next', () => {
    refuse = 'bad';
    writeFileSync(path, 'bad');
    clock.advance(5000);
    writeFileSync(path, 'good');
    clock.advance(5000);
    assert.deepEqual([seen, errors], [['good'], ['Error: refused bad']]);
  });

  it('reports a missing file once, and goes on when it is back', () => {
    rmSync(path);
    clock.advance(5000);
    assert.equal(errors.length, 1);
    writeFileSync(path, 'back');
    clock.advance(1000);
    assert.deepEqual(seen, ['back']);
  });

  it('reports a content again if another was applied in between', () => {
    refuse = 'bad';
    for (const content of ['bad', 'good', 'bad']) {
      writeFileSync(path, content);
      clock.advance(1000);
    }
    assert.deepEqual([seen, errors.length], [['good'], 2]);
  });
});
