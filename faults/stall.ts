/** Notices when work stops ending. */
export type Stall = {
  /** Reports how much work is left. The time runs from the first report on. */
  report(left: number): void;
  /** Whether the least reported number is older than the limit. */
  isOver(): boolean;
};

/** `clock`: milliseconds of a monotonic clock. */
export function createStall(limitMs: number, clock: () => number = () => performance.now()): Stall {
  let least: number | null = null;
  let reportedAt = 0;
  return {
    report(left) {
      if (least !== null && left >= least) return;
      least = left;
      reportedAt = clock();
    },
    isOver: () => least !== null && clock() - reportedAt > limitMs,
  };
}
