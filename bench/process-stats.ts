import { readFileSync } from 'node:fs';

/** Clock ticks of /proc, per second: fixed in the interface of Linux. */
const ticksPerSecond = 100;

/** Seconds of CPU that a process, all of its threads, has used. Steps of 10 ms. */
export function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1]?.split(' ') ?? [];
  // proc_pid_stat(5): utime and stime are fields 14 and 15; the split starts at field 3.
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}

/** Bytes of memory that a process holds now. */
export function residentBytes(pid: number): number {
  const match = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'));
  if (!match) throw new Error(`process ${pid} does not tell its memory`);
  return Number(match[1]) * 1024;
}
