/** A service that ours stands on, run here or somewhere else. */
export type Backing = {
  /** What our processes need in their environment to reach it. */
  environment: NodeJS.ProcessEnv;
  /** For the person at the terminal. */
  shown: string;
  stop(): Promise<void>;
};
