/** The clock, the timers and the random numbers of Node, before a world replaces them. */
export const real = {
  Date: globalThis.Date,
  setImmediate: globalThis.setImmediate,
  random: Math.random,
  now: performance.now.bind(performance),
};
