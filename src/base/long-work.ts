/**
 * Thrown where one step of the work on an object would hold a thread longer than it may. Nothing is wrong with the object:
 * whoever has another thread does the work there.
 */
export class LongWork extends Error {
  constructor() {
    super('the work on this object takes too long for one turn of the event loop');
    this.name = 'LongWork';
  }
}
