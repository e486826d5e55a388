/**
 * An operation that a client observed: it took effect at one moment between its call and its return. The times are
 * those of one monotonic clock.
 */
export type Operation<Input> = {
  input: Input;
  calledAt: number;
  /** `Infinity` if the client does not know when, for example without a response. */
  returnedAt: number;
  /** Whether it certainly took effect. Otherwise it may have had no effect. */
  isCertain: boolean;
};

/** The model that a history is compared with: one copy of the object, which executes one operation at a time. */
export type Model<State, Input> = {
  initial: State;
  /** Returns the states that an operation may lead to; none if it is impossible in this state. */
  next(state: State, input: Input): readonly State[];
  /** Returns the same text for equal states only. */
  keyOf(state: State): string;
};

/**
 * Searches for an order of the operations that explains what the clients observed. An operation that returned before
 * another one was called comes first, and the model must allow each in turn. The algorithm is from Wing and Gong,
 * "Testing and verifying concurrent objects", 1993. As Lowe proposed, it skips states that were tried before. Equal
 * operations without a known return are only tried in the order of their calls, see {@link predecessors}. Returns null
 * if there is such an order. Otherwise returns the operations up to the first return that cannot be explained, which is
 * the last of them.
 */
export function findUnexplained<State, Input>(
  history: readonly Operation<Input>[],
  model: Model<State, Input>,
): Operation<Input>[] | null {
  const byReturn = history.toSorted((one, other) => one.returnedAt - other.returnedAt);
  if (hasOrder(byReturn, model)) return null;
  // If a history has an order, each of its beginnings has one as well. So the shortest beginning without an order is
  // found by bisection.
  let [explained, unexplained] = [0, byReturn.length];
  while (unexplained - explained > 1) {
    const middle = (explained + unexplained) >> 1;
    if (hasOrder(untilReturn(byReturn, middle), model)) explained = middle;
    else unexplained = middle;
  }
  return byReturn.slice(0, unexplained);
}

/** Returns the history up to this number of returns. The operations in progress at that time may have taken effect. */
function untilReturn<Input>(byReturn: readonly Operation<Input>[], returns: number): Operation<Input>[] {
  const now = byReturn[returns - 1]?.returnedAt ?? 0;
  const inProgress = byReturn.slice(returns).filter(({ calledAt }) => calledAt <= now);
  return [
    ...byReturn.slice(0, returns),
    ...inProgress.map((operation) => ({ ...operation, returnedAt: Infinity, isCertain: false })),
  ];
}

function hasOrder<State, Input>(
  operations: readonly Operation<Input>[],
  model: Model<State, Input>,
): boolean {
  const earlier = predecessors(operations);
  const tried = new Set<string>();
  const waiting: { done: bigint; state: State }[] = [{ done: 0n, state: model.initial }];
  for (let one = waiting.pop(); one !== undefined; one = waiting.pop()) {
    const { done, state } = one;
    const key = `${done.toString(36)} ${model.keyOf(state)}`;
    if (tried.has(key)) continue;
    tried.add(key);
    const open = operations.flatMap((operation, index) => (isDone(done, index) ? [] : { operation, index }));
    if (!open.some(({ operation }) => operation.isCertain)) return true;
    const firstReturn = Math.min(...open.map(({ operation }) => operation.returnedAt));
    // The last one pushed is tried first: the one that returned first, which is most often right.
    for (const { operation, index } of open.toReversed()) {
      const predecessor = earlier[index] ?? null;
      if (operation.calledAt > firstReturn || (predecessor !== null && !isDone(done, predecessor))) continue;
      const next = done | (1n << BigInt(index));
      for (const reached of model.next(state, operation.input)) waiting.push({ done: next, state: reached });
    }
  }
  return false;
}

function isDone(done: bigint, index: number): boolean {
  return ((done >> BigInt(index)) & 1n) === 1n;
}

/**
 * Returns, for each operation without a known return, the index of the equal one that was called before it; null for the
 * first one, and for other operations. If an order contains the later one at some place, the earlier one could take this
 * place as well. So the other orders need not be tried: with 30 requests without a response, these are a billion.
 */
function predecessors<Input>(operations: readonly Operation<Input>[]): (number | null)[] {
  const found: (number | null)[] = operations.map(() => null);
  const last = new Map<string, number>();
  const byCall = [...operations.entries()].toSorted(([, one], [, other]) => one.calledAt - other.calledAt);
  for (const [index, { input, returnedAt, isCertain }] of byCall) {
    if (returnedAt !== Infinity) continue;
    const key = `${isCertain} ${JSON.stringify(input)}`;
    found[index] = last.get(key) ?? null;
    last.set(key, index);
  }
  return found;
}
