/** A command line that cannot be carried out: one line for the person who typed it, without a stack. Ends with exit 1. */
export class UsageError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'UsageError';
  }
}
