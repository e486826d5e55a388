/** A service that Baton needs. It runs here or elsewhere. */
export type BackingService = {
  /** The environment variables with which our processes reach it. */
  environment: NodeJS.ProcessEnv;
  /** Its description on the terminal. */
  shown: string;
  stop(): Promise<void>;
};
