/** Returns a function that counts its calls in progress. */
export function countCalls<Given extends unknown[], Result>(work: (...given: Given) => Promise<Result>) {
  let inProgress = 0;
  return {
    async call(...given: Given): Promise<Result> {
      inProgress += 1;
      try {
        return await work(...given);
      } finally {
        inProgress -= 1;
      }
    },
    inProgress: () => inProgress,
  };
}
