/** A message to the setup process. `task`: the name of one of its tasks. */
export type SetupRequest = { id: number; task: string; input: unknown };

/** A message from the setup process about a request: a sentence for the terminal, or the end of the task. */
export type SetupReply = { id: number } & (
  | { said: string }
  | { result: unknown }
  | { error: { message: string; code?: string } }
);
