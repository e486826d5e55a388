import { readFileSync } from 'node:fs';

/** Returns whether a process exists and is no zombie. Linux only. */
export function isRunning(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}
