/** Test support: a network namespace for each member of an etcd cluster, which can be cut off. Imported by tests only. */
import { spawnSync } from 'node:child_process';
import type { EtcdHost } from './etcd-process-fixture.ts';

const ip = (...args: readonly string[]): string | undefined => {
  const { status, stderr, error } = spawnSync('ip', args, { encoding: 'utf8' });
  return status === 0 ? undefined : `ip ${args.join(' ')}: ${error?.message ?? stderr}`;
};

const must = (...args: readonly string[]): void => {
  const problem = ip(...args);
  if (problem !== undefined) throw new Error(problem);
};

/** A bridge of this machine, and namespaces behind it that it reaches. The addresses are those for tests of devices (RFC 2544). */
export class EtcdNetwork implements Disposable {
  readonly hosts: readonly EtcdHost[];
  readonly #name = `et${process.pid}`;
  readonly #addresses: readonly string[];

  constructor(members = 3) {
    const subnet = `198.18.${process.pid % 256}`;
    this.#addresses = Array.from({ length: members }, (_, index) => `${subnet}.${10 + index}`);
    this.hosts = this.#addresses.map((address, index) => ({
      address,
      within: ['ip', 'netns', 'exec', this.#namespace(index)],
    }));
    try {
      must('link', 'add', this.#name, 'type', 'bridge');
      must('addr', 'add', `${subnet}.1/24`, 'dev', this.#name);
      must('link', 'set', this.#name, 'up');
      for (const [index, address] of this.#addresses.entries()) this.#add(index, address);
    } catch (error) {
      this[Symbol.dispose]();
      throw error;
    }
  }

  #add(index: number, address: string): void {
    const [namespace, link] = [this.#namespace(index), this.#link(index)];
    must('netns', 'add', namespace);
    must('link', 'add', link, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', namespace);
    must('link', 'set', link, 'master', this.#name, 'up');
    must('-n', namespace, 'addr', 'add', `${address}/24`, 'dev', 'eth0');
    must('-n', namespace, 'link', 'set', 'eth0', 'up');
    must('-n', namespace, 'link', 'set', 'lo', 'up');
  }

  /** From the other members; clients reach it still. */
  isolate(index: number): void {
    for (const address of this.#others(index)) must('-n', this.#namespace(index), 'route', 'add', 'blackhole', address);
  }

  join(index: number): void {
    for (const address of this.#others(index)) must('-n', this.#namespace(index), 'route', 'del', 'blackhole', address);
  }

  /** From everybody. Connections stay open, and nothing arrives. */
  cut(index: number): void {
    must('link', 'set', this.#link(index), 'down');
  }

  mend(index: number): void {
    must('link', 'set', this.#link(index), 'up');
  }

  #others(index: number): readonly string[] {
    return this.#addresses.toSpliced(index, 1).map((address) => `${address}/32`);
  }

  #namespace(index: number): string {
    return `${this.#name}-${index}`;
  }

  #link(index: number): string {
    return `${this.#name}v${index}`;
  }

  /** What is not there is passed over. */
  [Symbol.dispose](): void {
    for (const index of this.#addresses.keys()) ip('netns', 'del', this.#namespace(index));
    ip('link', 'del', this.#name);
  }
}

/** Why such a network is impossible here, or false if it is possible. */
export const networksMissing = (): string | false => {
  try {
    new EtcdNetwork(1)[Symbol.dispose]();
    return false;
  } catch (error) {
    return `this system lets nobody make network namespaces: ${error}`;
  }
};
