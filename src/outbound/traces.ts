import type { AttemptRecord } from './attempt-record.ts';

/** What is known of an attempt before it is made. */
export type AttemptToTrace = {
  of: 'webhook' | 'callback';
  /** Only its host goes into a trace: paths and queries may hold secrets. */
  url: string;
  /** Ids and kinds. */
  attributes: Readonly<Record<string, string>>;
};

/** Makes outgoing attempts part of traces. */
export type Traces = {
  /** Runs the work in the trace of a `traceparent`, where there is one. */
  within<T>(traceparent: string | null, work: () => Promise<T>): Promise<T>;
  /** `headers` belong to the request; `end` is told what became of it, null where nothing did. */
  begin(attempt: AttemptToTrace): {
    headers: Record<string, string>;
    end(record: AttemptRecord | null): void;
  };
};

const NOTHING = { headers: {}, end: () => {} };

/** Where no traces are kept: nothing is added to a request. */
export const UNTRACED: Traces = {
  within: (_traceparent, work) => work(),
  begin: () => NOTHING,
};
