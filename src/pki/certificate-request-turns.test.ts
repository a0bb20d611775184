import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readCertificateRequest } from './certificate-request.ts';
import { ids, makeRequest, relativeName, requestToPem } from './certificate-request-fixture.ts';

/** In a process of its own: the first readings wait for the parser, and may not all go on when it is there. */
describe('certificate requests that come together are read in turns of their own', () => {
  for (const what of ['while the parser is loaded', 'once it is there']) {
    it(what, async () => {
      const texts = Array.from({ length: 50 }, (_, index) =>
        requestToPem(makeRequest({ subject: [relativeName(ids.commonName, `${what} ${index}`)] })),
      );
      const perTurn = new CountPerTurn();
      await Promise.all(texts.map((text) => readCertificateRequest(text).then(() => perTurn.add())));
      assert.ok(perTurn.most <= 2, `${perTurn.most} in one turn`);
    });
  }
});

/** How many calls of `add` fell into one turn of the event loop, or into the next before its callbacks. */
class CountPerTurn {
  most = 0;
  #now = 0;

  add(): void {
    if (this.#now === 0) {
      setImmediate(() => {
        this.#now = 0;
      });
    }
    this.#now += 1;
    this.most = Math.max(this.most, this.#now);
  }
}
