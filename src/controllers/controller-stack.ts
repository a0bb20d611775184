import { ClosableStack } from '../base/disposable.ts';

/** All that a running controller holds. Closed last, its signal aborts the requests that are still in progress. */
export class ControllerStack extends ClosableStack {
  readonly #stop = new AbortController();

  constructor() {
    super();
    this.add({ close: () => this.#stop.abort(new Error('the controller was stopped')) });
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
  }
}
