/** A log that others read, in lines. Writes never hold the event loop. */
export interface LogOutput {
  /**
   * Appends lines, each given in parts and with its line end. Resolves when the operating system has them all. Rejects
   * if a line may be missing; none is written in part.
   */
  write(lines: readonly LogLine[]): Promise<void>;
  /** Resolves when all that was to be written is, and the log is closed. Never rejects. */
  close(): Promise<void>;
}

export type LogLine = readonly (string | Uint8Array)[];
