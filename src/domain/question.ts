/** What an agent asks a person, while its run is paused for the answer. `step` and `agent` are names; `at` is ISO 8601. */
export type Question = { step: string; agent: string; text: string; at: string };
